/* baseline.h - the first baseline of a task, its yardstick: taken when it is correct, tried again later where its times were
 * unstable, given up at last.
 * Layer: evolution.  A machine that others use calms down: a round of tries is followed by another one 15 s later, then
 * 30 s, 60 s ..., search.baseline_rounds of them; what they take is charged as every evaluation.  Meanwhile the task waits
 * and others go on.  A task with a rival waits for nobody: the rival takes the baseline's place. */
#ifndef ATOLL_EVOLUTION_POPULATION_BASELINE_H
#define ATOLL_EVOLUTION_POPULATION_BASELINE_H

#include "evolution/engine/state.h"

/* The baseline has its verdict, for good. */
void atoll_baseline_settle(struct atoll_engine *e, struct atoll_task_state *t, uint32_t individual);
/* There is none: a rival takes its place, or the task is done. */
void atoll_baseline_lose(struct atoll_engine *e, struct atoll_task_state *t);
/* After this many tries under other numbers an unstable one is tried again at once. */
int atoll_baseline_tries_again(const struct atoll_task_state *t, uint32_t retries);
/* 1: what was unstable will be tried again later, its proposal is taken out; 0: it is unstable for good. */
int atoll_baseline_postpone(struct atoll_engine *e, struct atoll_task_state *t, uint32_t individual);
int atoll_baseline_is_due(const struct atoll_engine *e, const struct atoll_task_state *t);
/* The individual that is tried now. */
uint32_t atoll_baseline_begin_round(struct atoll_engine *e, struct atoll_task_state *t);
/* The search is extended: one that stayed unstable has all its rounds again. */
void atoll_baseline_reopen(const struct atoll_engine *e, struct atoll_task_state *t);
void atoll_baseline_codec(const struct atoll_engine *e, struct atoll_task_state *t,
                          struct atoll_codec *codec);

#endif
