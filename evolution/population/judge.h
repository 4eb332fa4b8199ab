/* judge.h - a model compares a candidate with the reference and says how likely it cheats; above search.judge_limit the candidate is
 * discarded (papers/001 3.2.2).
 * Layer: evolution.
 *
 * With `finals` finalists are asked about before they are compared, with `all` also what won its place in a cell before it becomes the
 * elite there.  A source is asked about once, whatever its params: all its instances are what it is.  Sources of the task itself
 * and null controls are not asked about.  Without an answer (nobody outside, no budget, a failure) a candidate stays.  A discarded
 * source has no instance any more that is correct: none becomes elite, best, parent, migrant or finalist. */
#ifndef ATOLL_EVOLUTION_POPULATION_JUDGE_H
#define ATOLL_EVOLUTION_POPULATION_JUDGE_H

#include "evolution/engine/state.h"

/* A correct candidate may be elite of its cell on that island; defeated: whom it beat there, ATOLL_NONE.  1 yes; 0 it waits for an
 * answer, after which it enters again; -1. */
int atoll_judge_allows_elite(struct atoll_engine *e, struct atoll_task_state *t, uint32_t island,
                             uint32_t individual, uint32_t defeated, struct atoll_err *err);
/* The same of a finalist, which is chosen anew until there is an answer. */
int atoll_judge_allows_final(struct atoll_engine *e, struct atoll_task_state *t, uint32_t individual,
                             struct atoll_err *err);
/* A candidate of a discarded source was measured: it goes like the others. */
int atoll_judge_take_instance(struct atoll_engine *e, struct atoll_task_state *t, uint32_t individual);

void atoll_judging_fini(struct atoll_judging *judging);
int atoll_judging_codec(const struct atoll_engine *e, struct atoll_task_state *t, struct atoll_codec *c,
                        struct atoll_err *err);

#endif
