/* verdict.h - how a candidate ended (MEASUREMENT.md 1).  Layer: core. */
#ifndef ATOLL_CORE_VERDICT_H
#define ATOLL_CORE_VERDICT_H

enum atoll_verdict {
    ATOLL_V_CORRECT = 0,
    ATOLL_V_BAD_PLAN,
    ATOLL_V_FORBIDDEN,
    ATOLL_V_COMPILE_ERROR,
    ATOLL_V_LAUNCH_ERROR,
    ATOLL_V_CRASH,
    ATOLL_V_TIMEOUT,
    ATOLL_V_WRONG,
    ATOLL_V_UNSTABLE,
    ATOLL_V_IMPOSSIBLE,
    ATOLL_V_INFRASTRUCTURE, /* not the candidate's fault; never charged, tried again */
    ATOLL_VERDICT_COUNT
};

const char *atoll_verdict_name(enum atoll_verdict v); /* "correct", "bad_plan" ... */

#endif
