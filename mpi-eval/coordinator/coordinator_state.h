/* coordinator_state.h - what the sources of the coordinator share: its state, and the functions of peer table.c
 * (peers), intake.c (frames), rank map.c (the rank map) and closing.c (the end). Layer: mpi-eval, private to the
 * coordinator. */
#ifndef ATOLL_MPI_EVAL_COORDINATOR_COORDINATOR_STATE_H
#define ATOLL_MPI_EVAL_COORDINATOR_COORDINATOR_STATE_H

#include "core/place.h"
#include "mpi-eval/coordinator/coordinator.h"
#include "mpi-eval/coordinator/dispatch.h"
#include "mpi-eval/coordinator/drain.h"
#include "mpi-eval/coordinator/commit.h"
#include "mpi-eval/coordinator/progress_file.h"
#include "mpi-eval/operator/llm_queue.h"

#define COORDINATOR_BAD_LIMIT     16u /* messages of one peer that do not decode */
#define COORDINATOR_MESSAGE_BYTES ((size_t)ATOLL_FRAME_PAYLOAD_LIMIT)

enum peer_state {
    PEER_ABSENT,
    PEER_GREETED,
    PEER_READY,
    PEER_SURPLUS,
    PEER_SILENT,
    PEER_FAILED,
    PEER_GONE,
    PEER_STATE_COUNT
};

struct peer {
    enum peer_state state;
    uint32_t wanted; /* orders it wants in hand */
    int said_hello;
    char model[96], uuid[64];     /* of its device */
    struct atoll_place place;     /* node "": not told yet */
    double heard_ns, answered_ns; /* answered: its last result, or when it had nothing to answer */
    unsigned bad_count;
    struct atoll_pulse pulse, counted; /* counted: what the last progress line saw */
};

/* When the rank map is said and written (rank map.c). */
struct ranks {
    double first_ns, looked_ns; /* first: somebody told its place; 0 nobody did */
    int is_said;
    uint32_t digest; /* of the map as it was written last */
};

struct coordinator {
    const struct atoll_coordinator_settings *settings;
    struct atoll_coordinator_result result;
    struct atoll_commit *ledger;
    struct atoll_engine *engine; /* the ledger's */
    struct atoll_dispatch *dispatch;
    struct peer *peers;
    struct atoll_buffer payload, frame, acks, line;
    struct atoll_err failure;         /* what the last FAILED said */
    struct atoll_event capacity_said; /* the last CAPACITY */
    int ack_fd, finish_said;
    int has_more;                   /* frames were left for the next round */
    double started_ns, attended_ns; /* attended: when some peer was last ready */
    double tick_ns, progress_ns;
    int64_t campaign_base_ns;
    uint64_t evaluated_counted;
    struct {
        unsigned peer;
        uint64_t evaluation;
    } answers[ATOLL_COMMIT_ROUND_LIMIT]; /* of this round, to be acknowledged when durable */
    size_t answer_count;
    struct atoll_llm_queue *questions;
    char name[352]; /* atoll_peer_table_name's */
    struct atoll_drain drain;
    int is_draining;       /* no order is sent any more */
    double drain_files_ns; /* when they were looked for last */
    const char *message;   /* for the next progress line; NULL = none */
    double no_space_said_ns;
    const char *attempt_dir; /* borrowed from the campaign */
    struct atoll_progress_file progress_file;
    struct ranks ranks;
};

double atoll_coordinator_now_ns(const struct coordinator *c); /* monotonic */
/* Campaign time now. */
int64_t atoll_coordinator_campaign_ns(const struct coordinator *c);
/* An event of now. */
void atoll_coordinator_event_init(const struct coordinator *c, struct atoll_event *event,
                                  enum atoll_event_type type);

/* ---- peer table.c: the peers ---- */

/* Sends what is in c->payload, and empties it. */
int atoll_peer_table_say(struct coordinator *c, unsigned peer, uint16_t type, struct atoll_err *err);
unsigned atoll_peer_table_ready_count(const struct coordinator *c);
/* Slots and models of the peers that are ready, into a CAPACITY event: models in the engine's order, then new ones. */
void atoll_peer_table_capacity(const struct coordinator *c, struct atoll_event *event);
/* From now on nothing is expected from the peer: its orders go to others. */
void atoll_peer_table_lose(struct coordinator *c, unsigned peer, enum peer_state state);
/* The same for a peer that should also be ended and started again. */
void atoll_peer_table_drop(struct coordinator *c, unsigned peer, const char *why);
/* Tells a new peer what it needs: SETUP and all tasks. */
int atoll_peer_table_greet(struct coordinator *c, unsigned peer, struct atoll_err *err);
/* Sends waiting orders to whoever has room.  -1 only for trouble of our own. */
int atoll_peer_table_send_orders(struct coordinator *c, struct atoll_err *err);
void atoll_peer_table_check_silence(struct coordinator *c);
/* Who it is, for people: "evaluator 3 (rank 4 on n7, NVIDIA H200 GPU-...)"; in memory of the coordinator, until the next call. */
const char *atoll_peer_table_name(struct coordinator *c, unsigned peer);

/* ---- rank map.c: the rank map ---- */

/* Says the map once all have told their place, or 10 s after the first, and keeps ranks.json of the attempt up to date;
 * looks at most twice a second unless it is_last. */
void atoll_rank_map_keep_step(struct coordinator *c, int is_last);

/* ---- closing.c: the end of a run whose search is not finished ---- */

int atoll_shutdown_is_interrupted(const struct coordinator *c);
double atoll_shutdown_left_ns(const struct coordinator *c); /* until the run has to be over */
/* From a signal on, or when what is left holds no other order, nothing is sent. */
void atoll_shutdown_consider(struct coordinator *c);
int atoll_shutdown_is_over(const struct coordinator *c);

/* ---- intake.c: the frames ---- */

/* Takes the frames that are there, as many as a round has room for; c->has_more when some are left. */
void atoll_receive_collect(struct coordinator *c);
/* Adds a result to the round.  peer: to be told when it is durable; beyond the last for an answer of our own.
 */
int atoll_receive_add_result(struct coordinator *c, unsigned peer, struct atoll_event *event,
                             uint64_t evaluation, struct atoll_err *err);

#endif
