#include "scheduler/launcher/slurm/state.h"

#include <string.h>
#include <sys/wait.h>

static const struct {
    const char *word;
    enum atoll_job_state state;
} words[] = {
    {"PENDING", ATOLL_JOB_PENDING},        {"RUNNING", ATOLL_JOB_RUNNING},
    {"SUSPENDED", ATOLL_JOB_SUSPENDED},    {"COMPLETED", ATOLL_JOB_COMPLETED},
    {"CANCELLED", ATOLL_JOB_CANCELLED},    {"FAILED", ATOLL_JOB_FAILED},
    {"TIMEOUT", ATOLL_JOB_TIMEOUT},        {"NODE_FAIL", ATOLL_JOB_NODE_FAIL},
    {"PREEMPTED", ATOLL_JOB_PREEMPTED},    {"BOOT_FAIL", ATOLL_JOB_NODE_FAIL},
    {"DEADLINE", ATOLL_JOB_TIMEOUT},       {"OUT_OF_MEMORY", ATOLL_JOB_OUT_OF_MEMORY},
    {"COMPLETING", ATOLL_JOB_COMPLETING},  {"STAGE_OUT", ATOLL_JOB_COMPLETING},
    {"CONFIGURING", ATOLL_JOB_RUNNING},    {"POWER_UP_NODE", ATOLL_JOB_RUNNING},
    {"RESIZING", ATOLL_JOB_RUNNING},       {"SIGNALING", ATOLL_JOB_RUNNING},
    {"EXPEDITING", ATOLL_JOB_REQUEUED},    {"REQUEUED", ATOLL_JOB_REQUEUED},
    {"REQUEUE_FED", ATOLL_JOB_REQUEUED},   {"REQUEUE_HOLD", ATOLL_JOB_HELD},
    {"SPECIAL_EXIT", ATOLL_JOB_HELD},      {"RESV_DEL_HOLD", ATOLL_JOB_HELD},
    {"STOPPED", ATOLL_JOB_SUSPENDED},      {"REVOKED", ATOLL_JOB_CANCELLED},
    {"LAUNCH_FAILED", ATOLL_JOB_REQUEUED}, {"RECONFIG_FAIL", ATOLL_JOB_REQUEUED},
};

enum atoll_job_state atoll_slurm_state(const char *word, const char *reason, unsigned restart_count)
{
    enum atoll_job_state state = ATOLL_JOB_UNKNOWN;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(word, words[i].word) == 0)
            state = words[i].state;
    /* "JobHeldUser", "JobHeldAdmin", "JobHoldMaxRequeue", "launch failed requeued held" */
    if (state == ATOLL_JOB_PENDING &&
        (strncmp(reason, "JobHeld", 7) == 0 || strncmp(reason, "JobHold", 7) == 0 ||
         strstr(reason, "requeued_held") || strstr(reason, "requeued held"))) {
        return ATOLL_JOB_HELD;
    }
    return state == ATOLL_JOB_PENDING && restart_count ? ATOLL_JOB_REQUEUED : state;
}

int atoll_slurm_exit_status(unsigned wait_status)
{
    int status = (int)wait_status;

    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
