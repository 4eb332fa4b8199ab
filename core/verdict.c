#include "core/verdict.h"

static const char *const names[ATOLL_VERDICT_COUNT] = {
    [ATOLL_V_CORRECT] = "correct",
    [ATOLL_V_BAD_PLAN] = "bad_plan",
    [ATOLL_V_FORBIDDEN] = "forbidden",
    [ATOLL_V_COMPILE_ERROR] = "compile_error",
    [ATOLL_V_LAUNCH_ERROR] = "launch_error",
    [ATOLL_V_CRASH] = "crash",
    [ATOLL_V_TIMEOUT] = "timeout",
    [ATOLL_V_WRONG] = "wrong",
    [ATOLL_V_UNSTABLE] = "unstable",
    [ATOLL_V_IMPOSSIBLE] = "impossible",
    [ATOLL_V_INFRASTRUCTURE] = "infrastructure",
};

const char *atoll_verdict_name(enum atoll_verdict v)
{
    return (unsigned)v < ATOLL_VERDICT_COUNT ? names[v] : "unknown";
}
