/* prompt_context.h - what prompts may say of candidates and devices: results as they were journaled,
 * without their samples; and of what was asked before.
 * Layer: mpi-eval.  Lifetime: create/destroy.  Single owner.  What it says of a candidate never changes: its first result
 * on a device model that was neither a failure of infrastructure nor unstable counts, so that a resumed run writes its prompts
 * as before; a baseline whose times were unstable is measured again before anything is asked. */
#ifndef ATOLL_MPI_EVAL_OPERATOR_PROMPT_CONTEXT_H
#define ATOLL_MPI_EVAL_OPERATOR_PROMPT_CONTEXT_H

#include "archive-h5/campaign/campaign.h"
#include "core/event.h"
#include "core/message.h"
#include "mpi-eval/operator/ask_history.h"

#define ATOLL_PROMPT_CONTEXT_LIMIT_BYTES ((size_t)1 << 30)

struct atoll_prompt_context;

/* limit_bytes: of the results it keeps; 0 = ATOLL_PROMPT_CONTEXT_LIMIT_BYTES. */
struct atoll_prompt_context *atoll_prompt_context_create(size_t limit_bytes, struct atoll_err *err);
void atoll_prompt_context_destroy(struct atoll_prompt_context *context);

/* A device that joined; known ones are ignored, the first of a model stands for it. */
int atoll_prompt_context_add_device(struct atoll_prompt_context *context,
                                    const struct atoll_device_info *device, struct atoll_err *err);
/* Keeps what an EVALUATED event says, up to the first for which there is no room, and what its history keeps of asks; other
 * events are ignored.  Errors: MEMORY, LIMIT. */
int atoll_prompt_context_add_event(struct atoll_prompt_context *context, const struct atoll_event *event,
                                   struct atoll_err *err);
/* Called for each event that was kept. */
typedef int atoll_prompt_context_seen(void *seen_context, const struct atoll_event *event,
                                      struct atoll_err *err);
/* Everything the journals of a campaign hold.  seen: NULL = nobody looks at it beside. */
int atoll_prompt_context_add_campaign(struct atoll_prompt_context *context,
                                      const struct atoll_campaign *campaign, atoll_prompt_context_seen *seen,
                                      void *seen_context, struct atoll_err *err);

/* An ask that was decided. */
int atoll_prompt_context_add_ask(struct atoll_prompt_context *context, const struct atoll_ask *ask,
                                 struct atoll_err *err);
const struct atoll_ask_history *atoll_prompt_context_asks(const struct atoll_prompt_context *context);

/* 1 and a result of the candidate on devices of this model (NULL or a model without one: on any), to be fini'ed;
 * 0: none; -1: MEMORY. */
int atoll_prompt_context_find(const struct atoll_prompt_context *context, const struct atoll_id *candidate,
                              const char *model, struct atoll_evaluation *ret_evaluation,
                              struct atoll_err *err);
/* The first device of a model; where the model is NULL or unknown the first of all; NULL: there is none.  Borrowed until
 * the next is added. */
const struct atoll_device_info *atoll_prompt_context_device(const struct atoll_prompt_context *context,
                                                            const char *model);

#endif
