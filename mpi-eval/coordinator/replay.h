/* replay.h - the engine of a campaign from its journals, recorded decisions derived again and compared, bit
 * for bit. Layer: mpi-eval.  `atoll replay` does so from the first event, a resume from the last snapshot. */
#ifndef ATOLL_MPI_EVAL_COORDINATOR_REPLAY_H
#define ATOLL_MPI_EVAL_COORDINATOR_REPLAY_H

#include "archive-h5/campaign/campaign.h"
#include "evolution/engine/engine.h"
#include "mpi-eval/coordinator/commit.h"
#include "mpi-eval/operator/prompt_replay.h"

/* An event and what the engine decided on it: decisions first .. first + count - 1. */
struct atoll_undecided {
    uint64_t event;
    size_t first, count;
};

struct atoll_replayed {
    struct atoll_engine *engine; /* owned */
    struct atoll_replay_report report;
    int64_t campaign_ns;    /* of the last event, 0 without one */
    size_t undecided_count; /* events at the end whose decisions a killed attempt did not write: its last
                               round */
    struct atoll_undecided *undecided; /* owned */
    struct atoll_decision *decisions;  /* owned; of the undecided events */
    uint64_t stepped_count;            /* events that the engine was given: later than a snapshot */
    struct atoll_snapshot_age age;     /* since the last snapshot record */
};

/* From the first event, with every snapshot compared, and dialogues where a prompt replay is given (else NULL).  Errors: ATOLL_E_MISMATCH names the attempt, the event
 * and the first decision that differs, or the snapshot; ATOLL_E_SCHEMA when another engine version wrote a
 * journal; those of atoll_campaign_replay. */
int atoll_replay_campaign(const struct atoll_campaign *campaign, struct atoll_prompt_replay *replay,
                          struct atoll_replayed *ret_replayed, struct atoll_err *err);
/* The same state from the last snapshot and the events after it.  A snapshot that does not load, or does not
 * lead to the decisions that are recorded behind it, counts for nothing: then from the first event, without
 * looking at snapshots. */
int atoll_replay_latest(const struct atoll_campaign *campaign, struct atoll_replayed *ret_replayed,
                        struct atoll_err *err);
void atoll_replayed_fini(struct atoll_replayed *replayed);

/* `atoll replay DIR`, with its dialogues.  recording, record: as in prompt_replay.h. */
int atoll_replay(const char *dir, const char *recording, const char *record,
                 struct atoll_replay_report *ret_report, struct atoll_prompt_replay_report *ret_prompts,
                 struct atoll_id *ret_digest, struct atoll_err *err);

#endif
