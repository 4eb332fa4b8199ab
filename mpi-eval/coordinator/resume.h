/* resume.h - from a campaign directory to a running ledger: starting and resuming are the same code.
 * Layer: mpi-eval. */
#ifndef ATOLL_MPI_EVAL_COORDINATOR_RESUME_H
#define ATOLL_MPI_EVAL_COORDINATOR_RESUME_H

#include "archive-h5/campaign/campaign.h"
#include "mpi-eval/coordinator/commit.h"

struct atoll_resumed {
    struct atoll_commit *ledger; /* owned; NULL when the campaign is finished */
    int is_finished;             /* the search had stopped before: there is nothing to do but the archive */
    int64_t campaign_ns;         /* where campaign time goes on */
    uint64_t lost_bytes;         /* torn tail that was never acknowledged */
    uint64_t event_count,
        stepped_count;       /* events there were; of them given to the engine: after a snapshot */
    const char *attempt_dir; /* borrowed from the campaign */
    struct atoll_quarantined quarantined[ATOLL_QUARANTINED_LIMIT]; /* of attempts that had lost their lease */
    size_t quarantined_count;
};

/* Replays what there is, starts the next attempt (job: "local" or a scheduler's id), and brings the engine to
 * where orders can be sent: START and TASK events of a new campaign, RESUME of an old one.  campaign: claimed or locked.
 * snapshot_events: between snapshots, 0 = ATOLL_SNAPSHOT_EVENTS. */
int atoll_resume(struct atoll_campaign *campaign, const char *job, int64_t now_unix_ns,
                 uint64_t snapshot_events, const struct atoll_commit_hooks *hooks,
                 struct atoll_resumed *ret_resumed, struct atoll_err *err);

#endif
