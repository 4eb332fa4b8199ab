/* plugin_submit.c - a request as Slurm's description of a job: what sbatch makes of the same request's #SBATCH lines. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/launcher/slurm/plugin_call.h"
#include "scheduler/launcher/slurm/version.h"

#define TRES_BYTES 256

/* The description wants texts it may change; it is never freed. */
static char *own(const char *text)
{
    return text && *text ? strdup(text) : NULL;
}

static char *gpus(const struct atoll_job_request *request)
{
    char text[TRES_BYTES];

    if (request->gpus_by_gres && *request->gpus_by_gres) {
        snprintf(text, sizeof(text), ATOLL_SLURM_GRES "%s", request->gpus_by_gres);
    } else if (request->gpus_per_node) {
        snprintf(text, sizeof(text), ATOLL_SLURM_GRES "gpu:%u", request->gpus_per_node);
    } else {
        return NULL;
    }
    return strdup(text);
}

static char *elements(const struct atoll_job_request *request)
{
    char text[64];

    if (!request->array_count) {
        return NULL;
    }
    snprintf(text, sizeof(text), "0-%u", request->array_count - 1);
    return strdup(text);
}

static void describe_texts(job_desc_msg_t *job, const struct atoll_job_request *request)
{
    job->name = own(request->name);
    job->work_dir = own(request->work_dir);
    job->partition = own(request->partition);
    job->account = own(request->account);
    job->qos = own(request->qos);
    job->features = own(request->constraint);
    job->reservation = own(request->reservation);
    job->tres_per_node = gpus(request);
    job->array_inx = elements(request);
    job->std_in = strdup("/dev/null");
    if (request->log_path && *request->log_path) {
        job->std_out = own(request->log_path);
        job->open_mode = OPEN_MODE_APPEND;
    }
}

/* min_cpus: without it the controller gives one CPU however many tasks are asked for. */
static void describe_size(job_desc_msg_t *job, const struct atoll_job_request *request)
{
    unsigned nodes = request->nodes ? request->nodes : 1;
    unsigned tasks = nodes * (request->tasks_per_node ? request->tasks_per_node : 1);
    unsigned cpus = request->cpus_per_task ? request->cpus_per_task : 1;

    job->min_nodes = nodes;
    if (request->nodes) {
        job->max_nodes = nodes;
    }
    job->num_tasks = tasks;
    job->min_cpus = tasks * cpus;
    if (request->tasks_per_node) {
        job->ntasks_per_node = (uint16_t)request->tasks_per_node;
    }
    if (request->cpus_per_task) {
        job->cpus_per_task = (uint16_t)cpus;
    }
    if (request->time_min) {
        job->time_limit = request->time_min;
    }
}

static void describe_manner(job_desc_msg_t *job, const struct atoll_slurm_submission *submission)
{
    const struct atoll_job_request *request = submission->request;

    if (request->no_kill) {
        job->kill_on_node_fail = 0;
    }
    if (request->requeue) {
        job->requeue = 1;
    }
    if (request->exclusive) {
        job->shared = JOB_SHARED_NONE;
    }
    if (submission->signal_number > 0) {
        job->warn_flags = KILL_JOB_BATCH;
        job->warn_signal = (uint16_t)submission->signal_number;
        job->warn_time = (uint16_t)(request->signal_before_s ? request->signal_before_s : 60);
    }
}

int atoll_slurm_call_submit(const struct atoll_slurm_submission *submission, uint32_t *ret_id,
                            struct atoll_slurm_words *words)
{
    submit_response_msg_t *answer = NULL;
    job_desc_msg_t job;

    slurm_init_job_desc_msg(&job);
    describe_texts(&job, submission->request);
    describe_size(&job, submission->request);
    describe_manner(&job, submission);
    job.script = strdup(submission->script);
    job.environment = (char **)(uintptr_t)submission->environment;
    job.env_size = submission->environment_count;
    job.user_id = (uint32_t)getuid();
    job.group_id = (uint32_t)getgid();
    if (slurm_submit_batch_job(&job, &answer) != SLURM_SUCCESS) {
        return atoll_slurm_words_set(words, errno);
    }
    *ret_id = ATOLL_SLURM_SUBMITTED(answer);
    return 0;
}
