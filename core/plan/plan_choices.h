/* plan_choices.h - which combinations of a template are tried before anybody trusts it: `atoll task check` runs every parameter's
 * extremes, `atoll knowledge check` compiles every value of every parameter.
 * Layer: core.  The same plan and task give the same choices. */
#ifndef ATOLL_CORE_PLAN_PLAN_CHOICES_H
#define ATOLL_CORE_PLAN_PLAN_CHOICES_H

#include "core/plan/plan.h"

#define ATOLL_PLAN_CHOICES_LIMIT 128

struct atoll_plan_choices {
    size_t count;
    struct atoll_choice choices[ATOLL_PLAN_CHOICES_LIMIT]; /* legal, each another one */
};

/* The first choice, every parameter's least and largest value with the others as they are or else at random, and so many more
 * at random. */
void atoll_plan_choices_extremes(const struct atoll_task *task, const struct atoll_plan *plan, unsigned more,
                                 struct atoll_plan_choices *ret_choices);
/* The first choice, and few more in which every value of every parameter is, where a legal one with it was found: each has as
 * many values that no earlier one has as could be. */
void atoll_plan_choices_cover(const struct atoll_task *task, const struct atoll_plan *plan,
                              struct atoll_plan_choices *ret_choices);

#endif
