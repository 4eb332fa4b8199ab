/* briefer.h - what an ask is told beside what it names: results that stand near its parent, rewrites that paid elsewhere, hints,
 * knowledge.
 * It is chosen once, live; a BRIEFING event carries the choice, and the prompt follows from that (docs/adr/0036).
 * Layer: mpi-eval.  Lifetime: create/destroy.  Single owner. */
#ifndef ATOLL_MPI_EVAL_OPERATOR_BRIEFER_H
#define ATOLL_MPI_EVAL_OPERATOR_BRIEFER_H

#include "core/briefing.h"
#include "core/experience/hint.h"
#include "evolution/engine/engine.h"
#include "mpi-eval/operator/prompt_context.h"

struct atoll_briefer;
/* search, backend, context: borrowed until destroy. */
struct atoll_briefer *atoll_briefer_create(const struct atoll_search *search, const char *backend,
                                           const struct atoll_prompt_context *context, struct atoll_err *err);
void atoll_briefer_destroy(struct atoll_briefer *briefer);

/* What is told of a campaign's knowledge, where its settings say so; borrowed until destroy. */
struct atoll_knowledge_briefs;
void atoll_briefer_set_knowledge(struct atoll_briefer *briefer, struct atoll_knowledge_briefs *knowledge);
/* Advice that a campaign begins with. */
int atoll_briefer_add_hint(struct atoll_briefer *briefer, const struct atoll_experience_hint *hint,
                           struct atoll_err *err);
/* Every event that the context has kept, in order, live and on resume alike: what hints led to, and what models have learnt.
 * engine: knows its candidates. */
int atoll_briefer_add_event(struct atoll_briefer *briefer, const struct atoll_engine *engine,
                            const struct atoll_event *event, struct atoll_err *err);
/* Whether it is a first draft, which is shown kernels of other tasks: a whole kernel is wanted, and models have not written
 * ATOLL_BRIEFER_FIRST correct ones of the task in its language on its device model.  Of repeated samples every one without a parent is. */
#define ATOLL_BRIEFER_FIRST 4u
int atoll_briefer_wants_kernels(const struct atoll_briefer *briefer, const struct atoll_engine *engine,
                                const struct atoll_ask *ask);
/* Texts are borrowed until the next event is added.  Errors: MEMORY. */
int atoll_briefer_make(struct atoll_briefer *briefer, const struct atoll_engine *engine,
                       const struct atoll_ask *ask, struct atoll_briefing *ret_briefing,
                       struct atoll_err *err);

#endif
