/* null_control.h - null controls: now and then an elite is challenged by a copy of itself under another identity, through the
 * whole pipeline; the share of them that wins is the run's false-promotion rate (MEASUREMENT.md 5).
 * Layer: evolution.
 * A mutant is evaluated like every candidate and then challenges its original, faster or not, at the level that a
 * challenge would have; it enters no cell, breeds nothing, teaches no tuner or strategy, and is never the best. */
#ifndef ATOLL_EVOLUTION_POPULATION_NULL_CONTROL_H
#define ATOLL_EVOLUTION_POPULATION_NULL_CONTROL_H

#include "evolution/engine/state.h"

static inline int atoll_null_control_is(const struct atoll_individual *individual)
{
    return individual->op == ATOLL_OPERATOR_NULL_CONTROL;
}

/* Queues the mutant of an individual that was promoted, unless it had one before. */
int atoll_null_control_inject(struct atoll_engine *e, struct atoll_task_state *t, uint32_t original,
                              struct atoll_err *err);
/* A mutant was evaluated. */
int atoll_null_control_evaluated(struct atoll_engine *e, struct atoll_task_state *t, uint32_t mutant,
                                 struct atoll_err *err);
#endif
