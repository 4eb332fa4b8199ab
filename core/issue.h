/* issue.h - what can be wrong with a kernel that is correct, and which stage of staged optimisation works on it
 * (ALGORITHMS.md 9; papers/002 IV).
 * Layer: core, pure tables.  The order of both enums is the order in journals: new ones go before COUNT. */
#ifndef ATOLL_CORE_ISSUE_H
#define ATOLL_CORE_ISSUE_H

#include <stdint.h>

enum atoll_issue_stage {
    ATOLL_ISSUE_STAGE_ALGORITHM,
    ATOLL_ISSUE_STAGE_DISCOVERY,
    ATOLL_ISSUE_STAGE_DTYPE,
    ATOLL_ISSUE_STAGE_FUSION,
    ATOLL_ISSUE_STAGE_MEMORY,
    ATOLL_ISSUE_STAGE_ADDRESSING, /* block-level: block pointers, bulk copies */
    ATOLL_ISSUE_STAGE_PERSISTENT,
    ATOLL_ISSUE_STAGE_DEVICE,
    ATOLL_ISSUE_STAGE_TUNING,
    ATOLL_ISSUE_STAGE_COUNT
};

#endif
