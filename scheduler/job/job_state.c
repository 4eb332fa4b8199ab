/* job_state.c - names of states, and which of them are ends. */
#include "scheduler/launcher/launcher.h"

static const char *const names[ATOLL_JOB_STATE_COUNT] = {
    [ATOLL_JOB_UNKNOWN] = "unknown",
    [ATOLL_JOB_PENDING] = "pending",
    [ATOLL_JOB_HELD] = "held",
    [ATOLL_JOB_REQUEUED] = "requeued",
    [ATOLL_JOB_RUNNING] = "running",
    [ATOLL_JOB_SUSPENDED] = "suspended",
    [ATOLL_JOB_COMPLETING] = "completing",
    [ATOLL_JOB_COMPLETED] = "completed",
    [ATOLL_JOB_FAILED] = "failed",
    [ATOLL_JOB_CANCELLED] = "cancelled",
    [ATOLL_JOB_TIMEOUT] = "timeout",
    [ATOLL_JOB_NODE_FAIL] = "node-fail",
    [ATOLL_JOB_PREEMPTED] = "preempted",
    [ATOLL_JOB_OUT_OF_MEMORY] = "out-of-memory",
};

const char *atoll_job_state_name(enum atoll_job_state state)
{
    return (unsigned)state < ATOLL_JOB_STATE_COUNT ? names[state] : names[ATOLL_JOB_UNKNOWN];
}

int atoll_job_has_ended(enum atoll_job_state state)
{
    return state >= ATOLL_JOB_COMPLETED && state < ATOLL_JOB_STATE_COUNT;
}
