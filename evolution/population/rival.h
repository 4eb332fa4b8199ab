/* rival.h - the rivals of a task in the search: when each is measured, and what is known of them (core/rival.h).
 * Layer: evolution.
 * Eager is measured before the baseline, so that a slow baseline need not be timed with care; the others beside the search, one
 * at a time on a device model, when each task had its first evaluations; those that are left before the finals.  Where no
 * baseline is correct they are measured one by one until one is: then its time is the task's yardstick. */
#ifndef ATOLL_EVOLUTION_POPULATION_RIVAL_H
#define ATOLL_EVOLUTION_POPULATION_RIVAL_H

#include "evolution/engine/state.h"

/* Whether the task's device model has an evaluator that can measure rivals. */
int atoll_rival_has_torch(const struct atoll_engine *e, const struct atoll_task_state *t);
/* The next one that can be measured now; ATOLL_NONE. */
uint32_t atoll_rival_next(const struct atoll_engine *e, const struct atoll_task_state *t);
/* The one that goes before the task's baseline, or that is to take its place; ATOLL_NONE: the baseline goes. */
uint32_t atoll_rival_before_baseline(const struct atoll_engine *e, const struct atoll_task_state *t);
/* Whether it is the turn of one beside the search: none is under way on the device model, and there is time for it. */
int atoll_rival_is_due(const struct atoll_engine *e, const struct atoll_task_state *t);
/* Whether a rival is, or may yet become, the yardstick of a task without a baseline. */
int atoll_rival_may_serve(const struct atoll_engine *e, const struct atoll_task_state *t);
/* Orders the measurement. */
int atoll_rival_measure(struct atoll_engine *e, struct atoll_task_state *t, uint32_t number,
                        struct atoll_err *err);
/* It was answered; p is no longer under way. */
void atoll_rival_settle(struct atoll_engine *e, const struct atoll_proposal *p,
                        const struct atoll_rival *rival);
/* It was given up before it was answered: it may be measured another time. */
void atoll_rival_drop(struct atoll_engine *e, const struct atoll_proposal *p);
/* Of a task whose baseline is out: opens it where a rival is its yardstick, ends it where none will be. */
void atoll_rival_open(struct atoll_engine *e, struct atoll_task_state *t);
/* Gives up what is ordered on models that have evaluators, and none of them torch. */
void atoll_rival_forget_torch(struct atoll_engine *e);

/* The duel of an individual with the fastest rival of each bench variant. */
int atoll_rival_duel(struct atoll_engine *e, struct atoll_task_state *t, uint32_t individual,
                     struct atoll_err *err);

#endif
