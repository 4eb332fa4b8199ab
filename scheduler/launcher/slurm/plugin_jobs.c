/* plugin_jobs.c - Slurm's records of jobs as ours; one record of waiting array elements becomes one job for each. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/launcher/slurm/plugin_call.h"
#include "scheduler/launcher/slurm/version.h"

#define UNLIMITED_MIN (364u * 24u * 60u) /* Slurm keeps "no limit" of a running job as a year */

static const char *const base_words[] = {
    [JOB_PENDING] = "PENDING",     [JOB_RUNNING] = "RUNNING",     [JOB_SUSPENDED] = "SUSPENDED",
    [JOB_COMPLETE] = "COMPLETED",  [JOB_CANCELLED] = "CANCELLED", [JOB_FAILED] = "FAILED",
    [JOB_TIMEOUT] = "TIMEOUT",     [JOB_NODE_FAIL] = "NODE_FAIL", [JOB_PREEMPTED] = "PREEMPTED",
    [JOB_BOOT_FAIL] = "BOOT_FAIL", [JOB_DEADLINE] = "DEADLINE",   [JOB_OOM] = "OUT_OF_MEMORY",
};

/* A flag says more than what lies below it; the first one that is set speaks. */
static const struct {
    uint32_t flag;
    const char *word;
} flag_words[] = {
    {JOB_COMPLETING, "COMPLETING"},
    {JOB_STAGE_OUT, "STAGE_OUT"},
    {JOB_CONFIGURING, "CONFIGURING"},
    {JOB_RESIZING, "RESIZING"},
    {JOB_REQUEUE, "REQUEUED"},
    {JOB_REQUEUE_FED, "REQUEUE_FED"},
    {JOB_REQUEUE_HOLD, "REQUEUE_HOLD"},
    {JOB_SPECIAL_EXIT, "SPECIAL_EXIT"},
    {JOB_STOPPED, "STOPPED"},
    {JOB_REVOKED, "REVOKED"},
    {JOB_RESV_DEL_HOLD, "RESV_DEL_HOLD"},
    {JOB_SIGNALING, "SIGNALING"},
};

static const char *word_of(uint32_t state)
{
    uint32_t base = state & JOB_STATE_BASE;

    for (size_t i = 0; i < sizeof(flag_words) / sizeof(flag_words[0]); i++) {
        if (state & flag_words[i].flag) {
            return flag_words[i].word;
        }
    }
    return base < sizeof(base_words) / sizeof(base_words[0]) && base_words[base] ? base_words[base] : "";
}

static void put_reason(const slurm_job_info_t *info, char *to, size_t bytes)
{
    if (info->state_desc && *info->state_desc) {
        atoll_slurm_text_copy(to, bytes, info->state_desc);
    } else if (info->state_reason == WAIT_HELD || info->state_reason == WAIT_HELD_USER) {
        atoll_slurm_text_copy(to, bytes, info->state_reason == WAIT_HELD ? "JobHeldAdmin" : "JobHeldUser");
    } else if (ATOLL_SLURM_REASON && info->state_reason) {
        atoll_slurm_text_copy(to, bytes, ATOLL_SLURM_REASON((enum job_state_reason)info->state_reason));
    }
}

static int64_t unix_s_of(time_t moment)
{
    return moment > 0 && (uint64_t)moment < (uint64_t)INFINITE - 1 ? (int64_t)moment : 0;
}

static void put_times(const slurm_job_info_t *info, struct atoll_job *job)
{
    uint32_t base = info->job_state & JOB_STATE_BASE;
    int is_over = base != JOB_PENDING && base != JOB_RUNNING && base != JOB_SUSPENDED;
    int has_limit = info->time_limit != INFINITE && info->time_limit < UNLIMITED_MIN;

    job->submit_unix_s = unix_s_of(info->submit_time);
    job->start_unix_s = unix_s_of(info->start_time);
    job->end_unix_s = is_over || (base != JOB_PENDING && has_limit) ? unix_s_of(info->end_time) : 0;
}

static void translate(const slurm_job_info_t *info, struct atoll_slurm_job *out)
{
    struct atoll_job *job = &out->job;

    memset(out, 0, sizeof(*out));
    atoll_slurm_text_copy(job->name, sizeof(job->name), info->name);
    atoll_slurm_text_copy(job->partition, sizeof(job->partition), info->partition);
    atoll_slurm_text_copy(job->nodes, sizeof(job->nodes), info->nodes);
    atoll_slurm_text_copy(out->word, sizeof(out->word), word_of(info->job_state));
    put_reason(info, job->reason, sizeof(job->reason));
    put_times(info, job);
    job->node_count = info->num_nodes;
    job->restart_count = info->restart_cnt;
    job->exit_status = (int)info->exit_code; /* as wait() gave it */
}

/* "5-9,12%4" and "0-98:2": one job for each number. */
static int give_elements(const slurm_job_info_t *info, struct atoll_slurm_job *job,
                         atoll_slurm_job_sink *sink, void *context)
{
    const char *at = info->array_task_str;

    while (at && *at >= '0' && *at <= '9') {
        char *end;
        unsigned long first = strtoul(at, &end, 10), last = first, step = 1;

        if (*end == '-') {
            last = strtoul(end + 1, &end, 10);
        }
        if (*end == ':') {
            step = strtoul(end + 1, &end, 10);
        }
        for (unsigned long i = first; step && i <= last; i += step) {
            snprintf(job->job.id, sizeof(job->job.id), "%u_%lu", info->array_job_id, i);
            if (sink(context, job) != 0) {
                return -1;
            }
        }
        at = *end == ',' ? end + 1 : NULL;
    }
    return 0;
}

static int give(const slurm_job_info_t *info, atoll_slurm_job_sink *sink, void *context)
{
    struct atoll_slurm_job job;

    translate(info, &job);
    if (info->array_task_str && *info->array_task_str) {
        return give_elements(info, &job, sink, context);
    }
    if (info->array_job_id && info->array_task_id != NO_VAL) {
        snprintf(job.job.id, sizeof(job.job.id), "%u_%u", info->array_job_id, info->array_task_id);
    } else {
        snprintf(job.job.id, sizeof(job.job.id), "%u", info->job_id);
    }
    return sink(context, &job);
}

static int give_all(int status, const job_info_msg_t *jobs, atoll_slurm_job_sink *sink, void *context,
                    struct atoll_slurm_words *words)
{
    if (status != SLURM_SUCCESS) {
        return atoll_slurm_words_set(words, errno);
    }
    for (uint32_t i = 0; i < jobs->record_count; i++) {
        if (give(&jobs->job_array[i], sink, context) != 0) {
            return atoll_slurm_words_set(words, ENOMEM);
        }
    }
    return 0;
}

int atoll_slurm_call_list(uint32_t user_id, atoll_slurm_job_sink *sink, void *context,
                          struct atoll_slurm_words *words)
{
    job_info_msg_t *jobs = NULL;
    int status = slurm_load_job_user(&jobs, user_id, SHOW_ALL | SHOW_LOCAL);

    return give_all(status, jobs, sink, context, words);
}

int atoll_slurm_call_load(uint32_t job_id, atoll_slurm_job_sink *sink, void *context,
                          struct atoll_slurm_words *words)
{
    job_info_msg_t *jobs = NULL;
    int status = atoll_slurm_load_job(&jobs, job_id, SHOW_ALL | SHOW_LOCAL);

    return give_all(status, jobs, sink, context, words);
}
