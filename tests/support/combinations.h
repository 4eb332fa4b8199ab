/* combinations.h - how many combinations the params of a plan have, for tests that try all of them. */
#ifndef ATOLL_TESTS_SUPPORT_COMBINATIONS_H
#define ATOLL_TESTS_SUPPORT_COMBINATIONS_H

#include "core/plan/plan.h"

/* Before `require`; saturates at UINT64_MAX. */
static inline uint64_t combination_count(const struct atoll_plan *plan)
{
    uint64_t count = 1;
    for (size_t i = 0; i < plan->param_count; i++) {
        if (count > UINT64_MAX / plan->params[i].value_count)
            return UINT64_MAX;
        count *= plan->params[i].value_count;
    }
    return count;
}

#endif
