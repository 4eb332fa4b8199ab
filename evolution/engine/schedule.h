/* schedule.h - which task goes next, and when the run is over.
 * Layer: evolution.
 * Baselines go first, then seeds, of the task that had least tries; then each task has some evaluations; then the task that
 * promises most per device time (share.h), or, with search.sharing equal and every few proposals, whose device time, spent and expected of what is
 * under way, is least (the lowest number of equals).  So a short run looks at every seed of every task before it tunes
 * any.  A task without a new elite for stagnation_limit evaluations is done while others are not; the last one goes on.
 * A task that reached search.floor_goal is done. */
#ifndef ATOLL_EVOLUTION_ENGINE_SCHEDULE_H
#define ATOLL_EVOLUTION_ENGINE_SCHEDULE_H

#include "evolution/engine/state.h"

/* Ends a task that stagnates. Called when it has one more evaluation. */
void atoll_schedule_stagnation(struct atoll_engine *e, struct atoll_task_state *t);
/* Ends the search: all tasks are done, finals follow. */
void atoll_schedule_finish(struct atoll_engine *e, enum atoll_reason reason);
/* Reopens the search, stopped or not, with more budget.  Every task may go on; one that cannot is done again by the next settle.
 * What was under way at a stop still is: a RESUME follows and sends it again. */
void atoll_schedule_extend(struct atoll_engine *e, const struct atoll_extension *by);
/* After every event: budgets, proposals up to the queue depth, exhausted tasks, finals, the stop. */
int atoll_schedule_settle(struct atoll_engine *e, struct atoll_err *err);

#endif
