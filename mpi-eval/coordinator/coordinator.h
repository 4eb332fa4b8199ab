/* coordinator.h - rank 0: collects results, journals them, steps the search, sends orders.
 * Layer: mpi-eval.  One thread, no blocking call but the journal's sync; every peer is judged by its silence.
 */
#ifndef ATOLL_MPI_EVAL_COORDINATOR_COORDINATOR_H
#define ATOLL_MPI_EVAL_COORDINATOR_COORDINATOR_H

#include <signal.h>

#include "archive-h5/campaign/campaign.h"
#include "core/message.h"
#include "mpi-eval/coordinator/handover.h"
#include "mpi-eval/node/peers.h"
#include "mpi-eval/operator/llm_queue.h"
#include "mpi-eval/coordinator/lease_renewer.h"

struct atoll_coordinator_settings {
    struct atoll_peers peers;
    struct atoll_campaign *campaign;           /* claimed or locked; borrowed */
    struct atoll_lease_renewer *lease_renewer; /* of the campaign's lease; NULL = without one; borrowed */
    const struct atoll_setup *setup;
    const char *job;             /* "local" or a scheduler's id */
    const char *ack_log;         /* file that gets one line per durable result; NULL = none */
    int progress_fd;             /* -1 = none */
    double heartbeat_timeout_ns; /* a peer that is silent for longer is lost; --heartbeat-timeout */
    double wall_ns;              /* of this attempt, then an orderly end is asked for; 0 = never */
    int is_to_finish;            /* it is asked for at once */
    const struct atoll_extension
        *extension;                        /* more budget, also for a campaign that has ended; NULL = none */
    double (*now_ns)(void *peers_context); /* monotonic clock; NULL = that of the system */
    uint64_t snapshot_events;              /* between snapshots of the engine; 0 = ATOLL_SNAPSHOT_EVENTS */
    const volatile sig_atomic_t *interrupts; /* not 0: an orderly end is asked for; NULL = never */
    int drains_on_interrupt;                 /* then the run is drained instead: the search is not finished */
    const char *const *drain_files;          /* when one of them is there the run is drained, too */
    size_t drain_file_count;
    double until_ns; /* the same, so that it is over by then, on the clock of now_ns; 0 = never */
    struct atoll_llm_queue_settings llm; /* all zero: no language model is asked */
    /* Called at ENDING, once, where the search is about to stop; and, unless the run is drained, at STOPPED, and at RELEASED, when
     * the evaluators were told to stop, before the files are made: who waits for them does so there.  NULL = nobody. */
    void (*on_stage)(void *context, enum atoll_handover_stage stage);
    /* Called while the last files are made, at their beginning and then now and then: evaluators were told to stop, and whoever
     * carries their frames waits.  NULL = nobody. */
    void (*on_life)(void *context);
    /* Whether evaluators may open their devices: they are sent nothing before.  NULL = at once. */
    int (*has_devices)(void *context);
    void *stage_context;
};

struct atoll_coordinator_result {
    int is_finished;  /* the search stopped by itself or was asked to, and the journal is closed */
    int was_finished; /* it had before: nothing was done */
    int is_drained;   /* the time was over: the journal is closed, a resume goes on */
    uint64_t evaluated, duelled, ignored, bad_messages, peers_lost;
    double cpu_ns; /* of this process, from the first order to the end */
    double elapsed_ns;
};

/* Runs the campaign to its end.  Errors: those of a resume and of the journal; BUSY when the lease was lost; ATOLL_E_CHILD when no
 * evaluator is left, or the evaluators' own reason when all of them failed. */
int atoll_coordinator_run(const struct atoll_coordinator_settings *settings,
                          struct atoll_coordinator_result *ret_result, struct atoll_err *err);

#endif
