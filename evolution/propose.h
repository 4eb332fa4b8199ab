/* propose.h - what a task tries next: its baseline, then every seed once, then the tuner on templates of
 * selected parents. Layer: evolution. */
#ifndef ATOLL_EVOLUTION_PROPOSE_H
#define ATOLL_EVOLUTION_PROPOSE_H

#include "evolution/state.h"

/* A new source of a task: queued for island, ATOLL_NONE = the next in turn.  as_baseline: it is the task's
 * baseline.  A source that is known already is not queued again. */
int atoll_propose_source(struct atoll_engine *e, struct atoll_engine_task *t, const char *language,
                         const char *text, enum atoll_operator op, uint32_t island, int as_baseline,
                         struct atoll_err *err);
/* Whether the task has something to propose now. */
int atoll_propose_ready(const struct atoll_engine_task *t);
/* Of what kind its next proposal is; the lower goes first. */
enum atoll_turn { ATOLL_TURN_BASELINE, ATOLL_TURN_SEED, ATOLL_TURN_OPEN };
enum atoll_turn atoll_propose_turn(const struct atoll_engine *e, const struct atoll_engine_task *t);
/* Nothing to propose, now or later, unless a new source comes. */
int atoll_propose_exhausted(const struct atoll_engine_task *t);
/* Sends one candidate for evaluation, or finds that a queue or a template of a ready task is used up. */
int atoll_propose(struct atoll_engine *e, struct atoll_engine_task *t, struct atoll_err *err);

#endif
