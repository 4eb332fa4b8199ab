/* embedded_staged.h - what the built-in operator knows of staged optimisation (ALGORITHMS.md 9): issues without reading
 * a source, the order that needs no planner, and candidates of a stage from the templates that are there.
 * Layer: evolution, pure. */
#ifndef ATOLL_EVOLUTION_STRATEGY_EMBEDDED_STAGED_H
#define ATOLL_EVOLUTION_STRATEGY_EMBEDDED_STAGED_H

#include "evolution/engine/state.h"

/* Issues of a correct kernel (core/issue.h, atoll_issues_of). */
uint64_t atoll_embedded_issues(const struct atoll_engine *e, const struct atoll_engine_task *t,
                               uint32_t kernel);
/* 1 when the kernel is of a template that has combinations left to try. */
int atoll_embedded_is_tunable(const struct atoll_engine *e, uint32_t kernel);
/* Answers ANALYSE or ORDER; a parent is needed for the former, else there are no issues. */
void atoll_embedded_judge(const struct atoll_engine *e, const struct atoll_engine_task *t,
                          const struct atoll_asked *asked, struct atoll_reply *ret_reply);
/* Answers WRITE of a stage: instances that the tuner chooses.  Tuning: around the kernel, of its own template.  Other
 * stages: of the fastest template whose best instance is above the kernel in the stage's dimension.  Its best instance
 * itself was measured already, so its neighbours are tried.  ret_accepted: queued. */
int atoll_embedded_write_stage(struct atoll_engine *e, struct atoll_engine_task *t,
                               const struct atoll_asked *asked, uint32_t *ret_accepted,
                               struct atoll_err *err);

#endif
