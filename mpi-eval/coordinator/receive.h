/* receive.h - frames of the peers become events of a round, and results that are durable are acknowledged.
 * Layer: mpi-eval, part of the coordinator.  Plain data.  Every payload is hostile: what does not decode or does not fit is
 * dropped and counted. */
#ifndef ATOLL_MPI_EVAL_COORDINATOR_RECEIVE_H
#define ATOLL_MPI_EVAL_COORDINATOR_RECEIVE_H

#include "mpi-eval/coordinator/commit.h"
#include "mpi-eval/coordinator/peer_table.h"
#include "mpi-eval/coordinator/shutdown.h"
#include "mpi-eval/operator/llm_queue.h"

struct atoll_receive {
    /* Set by the caller; borrowed. */
    const struct atoll_peers *carrier;
    const struct atoll_campaign_clock *clock;
    struct atoll_peer_table *peers;
    struct atoll_commit *commit;
    struct atoll_dispatch *dispatch;
    struct atoll_llm_queue *llm_queue; /* gets the devices */
    struct atoll_shutdown *shutdown;   /* gets how long orders took */
    /* Its own; zero at first. */
    uint64_t evaluated, duelled;
    uint64_t ignored;      /* results that nobody waits for: answered before, by this or another peer */
    uint64_t bad_messages; /* dropped */
    struct {
        unsigned peer;
        uint64_t evaluation;
    } results[ATOLL_COMMIT_ROUND_LIMIT]; /* of this round, to be acknowledged when durable */
    size_t result_count;
};

/* Takes the frames that are there, as many as a round has room for.  1: some are left. */
int atoll_receive_frames(struct atoll_receive *receive);
/* Adds a result that no peer has sent to the round. */
int atoll_receive_own_result(struct atoll_receive *receive, struct atoll_event *event, uint64_t evaluation,
                             struct atoll_err *err);
/* The round is durable: the peers learn that their results are. */
void atoll_receive_acknowledge(struct atoll_receive *receive);

#endif
