/* template_phase.h - the end of a task's search where models write: its best kernel is made a template by template_rounds asks,
 * each of template_count candidates, and the tuner goes through what they brought (papers/000 3.4, E.2).
 * Layer: evolution.  State in struct atoll_task_state.
 *
 * It begins when the search has nothing left to do, or would be given up as stagnating, or has used the most part of a
 * budget, so that something is left for it; then the strategy rests.  A round begins when all of the last one have their
 * verdicts, with what is the best then.  When the tuner finds nothing better for as long as a task may stagnate, or its
 * templates are used up, the strategy goes on with what it has left. */
#ifndef ATOLL_EVOLUTION_STRATEGY_TEMPLATE_PHASE_H
#define ATOLL_EVOLUTION_STRATEGY_TEMPLATE_PHASE_H

#include "evolution/strategy/strategy.h"

/* As strategies are called (strategy.h), beside the one of the run. */
extern const struct atoll_strategy atoll_strategy_template_phase;

/* Whether the task could have one and had none. */
int atoll_template_phase_is_left(const struct atoll_engine *e, const struct atoll_task_state *t);
void atoll_template_phase_begin(struct atoll_task_state *t);
/* It goes on, and the task does not stagnate. */
int atoll_template_phase_is_active(const struct atoll_engine *e, const struct atoll_task_state *t);
/* A round is under way: the strategy rests. */
static inline int atoll_template_phase_is_asking(const struct atoll_task_state *t)
{
    return t->phase.state == ATOLL_PHASE_ASK || t->phase.state == ATOLL_PHASE_ASKED ||
           t->phase.state == ATOLL_PHASE_TRYING;
}

void atoll_template_phase_codec(const struct atoll_engine *e, struct atoll_template_phase *phase,
                                struct atoll_codec *c);

#endif
