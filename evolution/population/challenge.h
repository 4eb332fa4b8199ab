/* challenge.h - how a candidate becomes an elite: directly where the cell is empty, else by a duel
 * (MEASUREMENT.md 5). Layer: evolution. */
#ifndef ATOLL_EVOLUTION_POPULATION_CHALLENGE_H
#define ATOLL_EVOLUTION_POPULATION_CHALLENGE_H

#include "evolution/engine/state.h"

/* A correct candidate arrives on an island (its own, or as a migrant).  challenges: whether it may challenge
 * where the cell is occupied (a template's instance that is not its template's best may not). */
int atoll_challenge_enter(struct atoll_engine *e, struct atoll_task_state *t, uint32_t island,
                          uint32_t individual, int challenges, struct atoll_err *err);
/* What waited for a judge's answer becomes the elite: at once where whom it beat is still there, or nobody, else by another duel. */
int atoll_challenge_judged(struct atoll_engine *e, struct atoll_task_state *t, uint32_t island,
                           uint32_t individual, uint32_t defeated, struct atoll_err *err);
/* A duel was answered, or given up (duel NULL); p is no longer under way. */
int atoll_challenge_result(struct atoll_engine *e, const struct atoll_proposal *p,
                           const struct atoll_duel *duel, struct atoll_err *err);

#endif
