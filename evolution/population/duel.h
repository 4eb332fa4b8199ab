/* duel.h - duels of the search: sending them, and reading their results (MEASUREMENT.md 5).
 * Layer: evolution. */
#ifndef ATOLL_EVOLUTION_POPULATION_DUEL_H
#define ATOLL_EVOLUTION_POPULATION_DUEL_H

#include "evolution/engine/state.h"

/* The next challenge of the run, with its share of the error. */
int atoll_duel_challenge(struct atoll_engine *e, struct atoll_task_state *t, uint32_t island,
                         uint32_t individual, uint32_t elite, struct atoll_err *err);
/* The challenge, if p is one, was answered, or given up (duel NULL). */
void atoll_duel_close(struct atoll_engine *e, const struct atoll_proposal *p, const struct atoll_duel *duel);
/* A null control against its original. */
int atoll_duel_null_control(struct atoll_engine *e, struct atoll_task_state *t, uint32_t mutant,
                            struct atoll_err *err);
/* Level of each final duel of a task, against its baseline or its rival. */
double atoll_duel_final_alpha(const struct atoll_engine *e, const struct atoll_task_state *t);
/* Against the baseline. */
int atoll_duel_final(struct atoll_engine *e, struct atoll_task_state *t, uint32_t individual,
                     struct atoll_err *err);

/* Confirmed to be better; duel may be NULL. */
int atoll_duel_is_won(const struct atoll_engine *e, const struct atoll_proposal *p,
                      const struct atoll_duel *duel);
/* The verdicts that say something about the candidate itself. */
int atoll_duel_proves_wrong(const struct atoll_duel *duel);
#endif
