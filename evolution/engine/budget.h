/* budget.h - what a run may spend of devices, time and evaluations, and when it must end; money is llm-gateway/budget/.
 * Layer: evolution, pure.
 * Of the device and wall budgets so much is kept for the final duels as they will probably take, from the duels
 * so far, and for rivals that are not measured: at least finals_share, at most about a third.  The evaluation budget counts
 * evaluations that were answered or are under way (abandoned ones are not charged; duels are no evaluations).
 */
#ifndef ATOLL_EVOLUTION_ENGINE_BUDGET_H
#define ATOLL_EVOLUTION_ENGINE_BUDGET_H

#include "evolution/engine/state.h"

/* Why nobody outside may be asked any more; ATOLL_REASON_NONE while there are tokens and money. */
enum atoll_reason atoll_budget_asks_reason(const struct atoll_engine *e);
/* Why no more proposals may be made; ATOLL_REASON_NONE while the search goes on.  Spent tokens or money end a run
 * that nothing else limits; any other goes on with the tuner. */
enum atoll_reason atoll_budget_reason(const struct atoll_engine *e);
/* Whether one more evaluation may be sent now: what is under way is charged as it will probably cost. */
int atoll_budget_allows(const struct atoll_engine *e);
/* The part of what a task's search may use that is used, of whatever is nearest to its end; 0 where nothing limits it. */
double atoll_budget_used(const struct atoll_engine *e, const struct atoll_task_state *t);
/* Wall time is over: stop, whatever is under way. */
int atoll_budget_over(const struct atoll_engine *e);
/* Whether a final duel may still be sent. */
int atoll_budget_allows_final(const struct atoll_engine *e);
/* Whether who decides can keep up with the evaluators if every candidate is proposed by the tuner's model. */
int atoll_budget_affords_model(const struct atoll_engine *e);
/* Whether there is time to measure a rival, the finals that follow counted. */
int atoll_budget_allows_rival(const struct atoll_engine *e, const struct atoll_task_state *t,
                              uint32_t number);
/* Campaign time until the finals; HUGE_VAL without a wall budget. */
double atoll_budget_wall_left_ns(const struct atoll_engine *e);
/* A rival was answered: charges it, apart from what candidates cost. */
void atoll_budget_charge_rival(struct atoll_engine *e, struct atoll_task_state *t, uint32_t number,
                               double occupied_ns);
/* A duel was carried out: what a final of these two would take of their device.  pair_limit: the duel's. */
void atoll_budget_learn_final(struct atoll_engine *e, struct atoll_task_state *t,
                              const struct atoll_duel *duel, uint32_t pair_limit);
/* The task has its yardstick: it is open, and what it cost so far is no measure of what follows. */
void atoll_budget_open(struct atoll_engine *e, struct atoll_task_state *t);
/* What the candidates and duels of a task that are under way will probably cost. */
double atoll_budget_under_way_ns(const struct atoll_engine *e, const struct atoll_task_state *t);
/* Device time of all rivals so far. */
double atoll_budget_rivals_ns(const struct atoll_engine *e);
/* What one more answer of a task will probably cost its device, from its own past, else from all tasks'. */
double atoll_budget_expected_ns(const struct atoll_engine *e, const struct atoll_task_state *t);
/* Raises what was given to what is spent and that much more. */
void atoll_budget_extend(struct atoll_engine *e, const struct atoll_extension *by);

#endif
