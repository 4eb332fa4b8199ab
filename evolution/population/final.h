/* final.h - the final duels of a task: its best, and where that does not hold what it promised, the next ones,
 * against the baseline; then who is the best of them against the fastest rival.  Layer: evolution. */
#ifndef ATOLL_EVOLUTION_POPULATION_FINAL_H
#define ATOLL_EVOLUTION_POPULATION_FINAL_H

#include "evolution/engine/state.h"

/* What the finals of this end of the search may spend together. */
double atoll_final_alpha(const struct atoll_engine *e, const struct atoll_task_state *t);
/* The next step of a done task that has nothing under way: a final duel, or the end. */
int atoll_final_next(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_err *err);
/* A final duel was answered, or given up (duel NULL). */
int atoll_final_settle(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_proposal *p,
                       const struct atoll_duel *duel, struct atoll_err *err);
/* The same of the duel with the rival.  It says what the task's best is worth, not which one is the best. */
int atoll_final_settle_rival(struct atoll_engine *e, struct atoll_task_state *t,
                             const struct atoll_proposal *p, const struct atoll_duel *duel,
                             struct atoll_err *err);
/* No more final duels: decides what the task's best is and what it is worth. */
void atoll_final_conclude(struct atoll_engine *e, struct atoll_task_state *t);

#endif
