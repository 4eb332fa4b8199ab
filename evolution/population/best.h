/* best.h - the best candidate of a task: the baseline at first, then whoever beat the best in a duel, or is so
 * much faster that no duel is needed. Layer: evolution.
 * One duel over the best is under way at a time, and they are at most a share of the task's evaluations; the
 * fastest that comes meanwhile waits.  A task that is done leaves the rest to its finals. */
#ifndef ATOLL_EVOLUTION_POPULATION_BEST_H
#define ATOLL_EVOLUTION_POPULATION_BEST_H

#include "evolution/engine/state.h"

/* Makes it the best, and hands the decision out. */
void atoll_best_announce(struct atoll_engine *e, struct atoll_task_state *t, uint32_t individual);
/* A new elite.  defeated: whom it beat in a duel, ATOLL_NONE. */
int atoll_best_consider(struct atoll_engine *e, struct atoll_task_state *t, uint32_t individual,
                        uint32_t defeated, struct atoll_err *err);
/* Sends the one that waits when it is time. */
int atoll_best_continue(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_err *err);
/* The duel over the best was answered, or given up (duel NULL). */
int atoll_best_settle(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_proposal *p,
                      const struct atoll_duel *duel, struct atoll_err *err);

/* It is correct no more, but of this state (of enum atoll_individual's): it leaves every cell, its tuner and its template. */
void atoll_best_strike(struct atoll_engine *e, struct atoll_task_state *t, uint32_t individual,
                       uint8_t state);
/* Somebody who was struck: where it was the best, the baseline is again, and the fastest elite its challenger. */
int atoll_best_withdraw(struct atoll_engine *e, struct atoll_task_state *t, uint32_t individual,
                        struct atoll_err *err);

/* Counts a won challenge; now and then the winner gets a null control. */
int atoll_challenger_won(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_proposal *p,
                         struct atoll_err *err);
/* A duel that was not won: a candidate that proved wrong leaves every cell and is not the best any more; another's
 * lucky time is corrected. */
int atoll_challenger_lost(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_proposal *p,
                          const struct atoll_duel *duel, struct atoll_err *err);

#endif
