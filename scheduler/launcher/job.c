/* job.c - a job in a queue: names of states, which of them are ends, growing lists. */
#include <stdlib.h>
#include <string.h>

#include "scheduler/launcher/launcher_ops.h"

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

struct atoll_job *atoll_job_append(struct atoll_job **jobs, size_t *count)
{
    size_t capacity = 0;

    /* Grows at powers of two, so no capacity needs to be carried along. */
    if ((*count & (*count - 1)) == 0)
        capacity = *count ? 2 * *count : 1;
    if (*count >= ATOLL_JOB_LIMIT)
        return NULL;
    if (capacity) {
        struct atoll_job *more = realloc(*jobs, capacity * sizeof(**jobs));

        if (!more)
            return NULL;
        *jobs = more;
    }
    memset(&(*jobs)[*count], 0, sizeof(**jobs));
    return &(*jobs)[(*count)++];
}
