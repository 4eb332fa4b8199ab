/* resume.h - from a campaign directory to an engine with its journal: starting and resuming are the same code.
 * Layer: mpi-eval. */
#ifndef ATOLL_MPI_EVAL_COORDINATOR_RESUME_H
#define ATOLL_MPI_EVAL_COORDINATOR_RESUME_H

#include "archive-h5/campaign/campaign.h"
#include "mpi-eval/coordinator/campaign_clock.h"
#include "mpi-eval/coordinator/commit.h"
#include "mpi-eval/coordinator/decisions.h"
#include "mpi-eval/coordinator/shutdown.h"

/* Option of a campaign: names of tasks, "a,b", that begin with their baselines alone. */
#define ATOLL_RESUME_SEEDLESS_OPTION "seedless"

struct atoll_resumed {
    struct atoll_commit *commit; /* owned by the receiver; NULL when the campaign is finished */
    struct atoll_decisions
        decisions;          /* owned by the receiver: orders and asks that the events of this resume led to */
    int is_finished;        /* the search had stopped before: there is nothing to do but the archive */
    int64_t campaign_ns;    /* where campaign time goes on */
    uint64_t lost_bytes;    /* torn tail that was never acknowledged */
    uint64_t event_count;   /* events there were */
    uint64_t stepped_count; /* of them given to the engine: those after a snapshot */
    const char *attempt_dir;                                       /* borrowed from the campaign */
    struct atoll_quarantined quarantined[ATOLL_QUARANTINED_LIMIT]; /* of attempts that had lost their lease */
    size_t quarantined_count;
};

struct atoll_resume_settings {
    struct atoll_campaign *campaign; /* claimed or locked; borrowed */
    const char *job;                 /* "local" or a scheduler's id */
    int64_t now_unix_ns;
    const struct atoll_extension *extension;   /* NULL: none; a campaign that is finished goes on with one */
    uint64_t snapshot_events;                  /* between snapshots, 0 = ATOLL_SNAPSHOT_EVENTS */
    struct atoll_lease_renewer *lease_renewer; /* borrowed; NULL = without a lease */
    struct atoll_shutdown *shutdown;           /* how long to wait for space on a full disk; NULL = not */
    const struct atoll_campaign_clock *clock;  /* of shutdown; NULL where that is */
};

/* Replays what there is, starts the next attempt, and brings the engine to where orders can be sent: START and TASK events of a
 * new campaign,  RESUME of an old one, EXTEND where more budget is given. */
int atoll_resume(const struct atoll_resume_settings *settings, struct atoll_resumed *ret_resumed,
                 struct atoll_err *err);

/* Writes the extension into the journals of a campaign on which nobody works, and leaves the rest to the next resume.  Errors:
 * those of atoll_campaign_claim (BUSY: somebody works on it) and of atoll_resume. */
int atoll_resume_extend(const char *dir, const char *job, const struct atoll_extension *extension,
                        struct atoll_err *err);

/* How long writing segment and archive took last, in ns, from the times of the files that it left; 0 when there are none. */
double atoll_resume_last_archive_ns(const struct atoll_campaign *campaign);

#endif
