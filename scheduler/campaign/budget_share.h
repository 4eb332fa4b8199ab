/* budget_share.h - what a part gets of the limits of a whole campaign.  Layer: scheduler, pure. */
#ifndef ATOLL_SCHEDULER_CAMPAIGN_BUDGET_SHARE_H
#define ATOLL_SCHEDULER_CAMPAIGN_BUDGET_SHARE_H

#include <stddef.h>

#include "base/err.h"
#include "core/search.h"

/* Part `number` of `parts` has tasks first..first+count-1 of `tasks`; `jobs` work at once. */
struct atoll_budget_share {
    size_t number, parts;
    size_t first, count, tasks;
    size_t jobs;
};

/* Limits that are counted (evaluations, tokens) must give each part at least one: 0 would be no limit.  Errors: USAGE with the
 * limit's option and the remedy. */
int atoll_budget_share_check(const struct atoll_search *whole, size_t parts, struct atoll_err *err);
/* The part's search: of what is counted and of money and device time its tasks' share, so that all parts together have what
 * the whole has, to the last evaluation; of the clock its share of the jobs' time; a seed of its own. */
struct atoll_search atoll_budget_share_of(const struct atoll_search *whole,
                                          const struct atoll_budget_share *share);

#endif
