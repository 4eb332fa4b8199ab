/* prompt_replay.h - the dialogues of a campaign with its language model, derived again while its journals are replayed: every
 * prompt is written anew and compared with the one that was sent, every answer is read anew and compared with what the
 * engine got; with a recording, every answer is compared with the recorded one too.
 * Layer: mpi-eval.  Lifetime: create/destroy. */
#ifndef ATOLL_MPI_EVAL_OPERATOR_PROMPT_REPLAY_H
#define ATOLL_MPI_EVAL_OPERATOR_PROMPT_REPLAY_H

#include "archive-h5/campaign/campaign.h"
#include "core/decision.h"
#include "core/event.h"
#include "core/message.h"
#include "evolution/engine/engine.h"

struct atoll_prompt_replay_report {
    uint64_t prompts;  /* written again, equal */
    uint64_t other;    /* written by another version of the prompts: not compared */
    uint64_t answers;  /* read again, equal */
    uint64_t recorded; /* of those, found in the recording, equal */
    uint64_t kept;     /* exchanges written into a new recording */
};

/* Campaign option: version of its prompts (evolution/prompt/prompt.h). */
#define ATOLL_PROMPT_REPLAY_OPTION "prompt-version"

struct atoll_prompt_replay;
/* recording: path of a store (llm-gateway/budget/exchange_store.h) to compare with; record: of one that is made, or added to, with what
 * the journals hold; NULL none. */
struct atoll_prompt_replay *atoll_prompt_replay_create(const struct atoll_campaign *campaign,
                                                       const char *recording, const char *record,
                                                       struct atoll_err *err);
void atoll_prompt_replay_destroy(struct atoll_prompt_replay *replay);

int atoll_prompt_replay_device(struct atoll_prompt_replay *replay, const struct atoll_device_info *device,
                               struct atoll_err *err);
/* The engine has just stepped on the event and decided that.  Errors: MISMATCH names the ask. */
int atoll_prompt_replay_step(struct atoll_prompt_replay *replay, const struct atoll_engine *engine,
                             const struct atoll_event *event, const struct atoll_decision *decisions,
                             size_t count, struct atoll_err *err);
/* After the last step: the new recording is durable. */
int atoll_prompt_replay_finish(struct atoll_prompt_replay *replay, struct atoll_err *err);
void atoll_prompt_replay_report(const struct atoll_prompt_replay *replay,
                                struct atoll_prompt_replay_report *ret_report);

#endif
