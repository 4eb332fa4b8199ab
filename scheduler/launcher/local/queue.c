/* queue.c - the launcher of machines without a batch system: jobs run one after the other, in the order of their submission. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/process.h"
#include "base/file.h"
#include "scheduler/launcher/launcher_ops.h"
#include "scheduler/launcher/local/local_jobs.h"

#define KEEP_S       (14 * 24 * 3600) /* how long what has ended is known */
#define WARNED_S     60               /* before the limit, where the request says nothing */
#define SCRIPT_BYTES ((size_t)4 << 20)

struct queue {
    struct atoll_launcher base;
    char root[PATH_MAX];
};

static const char *root_of(const struct atoll_launcher *launcher)
{
    return ((const struct queue *)launcher)->root;
}

static int submit(struct atoll_launcher *launcher, const struct atoll_job_request *request,
                  char ret_id[ATOLL_JOB_ID_BYTES], struct atoll_err *err)
{
    const char *root = root_of(launcher), *log = request->log_path ? request->log_path : "atoll-%j.log";
    struct atoll_local_job job = {
        .time_limit_s = 60.0 * request->time_min,
        .signal_number = request->signal_name ? atoll_signal_number(request->signal_name) : 0,
        .signal_before_s = request->signal_before_s ? request->signal_before_s : WARNED_S,
        .state = ATOLL_JOB_PENDING,
        .submit_unix_s = (int64_t)time(NULL)};
    struct atoll_buffer script;
    int status;

    if (request->nodes > 1) {
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "the job wants %u nodes and this machine is one; a cluster's Slurm "
                             "has more (the profile's key launcher)",
                             request->nodes);
    }
    if (request->array_count > 0)
        return atoll_err_set(err, ATOLL_E_LIMIT, "this machine's queue takes no arrays: submit single jobs");
    snprintf(job.name, sizeof(job.name), "%s", request->name);
    if (snprintf(job.work_dir, sizeof(job.work_dir), "%s", request->work_dir) >= (int)sizeof(job.work_dir) ||
        snprintf(job.log_path, sizeof(job.log_path), "%s%s%s", *log == '/' ? "" : request->work_dir,
                 *log == '/' ? "" : "/", log) >= (int)sizeof(job.log_path)) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s...", request->work_dir);
    }
    atoll_local_forget(root, (int64_t)time(NULL) - KEEP_S);
    atoll_buffer_init(&script, SCRIPT_BYTES);
    status = atoll_job_script(request, &script, err);
    if (status == 0) {
        atoll_buffer_put_u8(&script, 0);
        status = atoll_buffer_check(&script, err) != 0 ||
                         atoll_local_job_create(root, &job, (const char *)script.data, err) != 0 ||
                         atoll_local_supervise(root, err) != 0
                     ? -1
                     : 0;
    }
    atoll_buffer_fini(&script);
    if (status == 0)
        snprintf(ret_id, ATOLL_JOB_ID_BYTES, "%lu", job.number);
    return status;
}

/* 0 also for a job that is not there any more, which is left out. */
static int job_add(const char *root, unsigned long number, struct atoll_job **jobs, size_t *count,
                   struct atoll_err *err)
{
    struct atoll_local_job job;
    struct atoll_job *out;

    if (atoll_local_job_read(root, number, &job, NULL) != 0)
        return 0;
    out = atoll_job_append(jobs, count);
    if (!out)
        return atoll_err_set(err, ATOLL_E_LIMIT, "more than %zu jobs on this machine", ATOLL_JOB_LIMIT);
    snprintf(out->id, sizeof(out->id), "%lu", number);
    snprintf(out->name, sizeof(out->name), "%s", job.name);
    snprintf(out->reason, sizeof(out->reason), "%s",
             job.state == ATOLL_JOB_PENDING ? "this machine runs one job at a time" : job.reason);
    snprintf(out->partition, sizeof(out->partition), "local");
    if (job.start_unix_s)
        gethostname(out->nodes, sizeof(out->nodes) - 1);
    out->node_count = 1;
    out->state = job.state;
    out->restart_count = job.restart_count;
    out->exit_status = atoll_job_has_ended(job.state) ? job.exit_status : 0;
    out->submit_unix_s = job.submit_unix_s;
    out->start_unix_s = job.start_unix_s;
    out->end_unix_s = job.end_unix_s;
    return 0;
}

static int list(struct atoll_launcher *launcher, struct atoll_job **ret_jobs, size_t *ret_count,
                struct atoll_err *err)
{
    unsigned long *numbers = NULL;
    struct atoll_job *jobs = NULL;
    size_t number_count = 0, count = 0;
    int status = atoll_local_numbers(root_of(launcher), &numbers, &number_count, err);

    for (size_t i = 0; i < number_count && status == 0; i++)
        status = job_add(root_of(launcher), numbers[i], &jobs, &count, err);
    free(numbers);
    if (status != 0) {
        free(jobs);
        return -1;
    }
    *ret_jobs = jobs;
    *ret_count = count;
    return 0;
}

static int ask(struct atoll_launcher *launcher, const char *id, struct atoll_job **ret_jobs,
               size_t *ret_count, struct atoll_err *err)
{
    *ret_jobs = NULL;
    *ret_count = 0;
    return strchr(id, '_') ? 0 : job_add(root_of(launcher), strtoul(id, NULL, 10), ret_jobs, ret_count, err);
}

/* An empty file that the supervisor looks for. */
static int wish(const char *root, unsigned long number, const char *name, struct atoll_err *err)
{
    char path[PATH_MAX];
    int fd;

    atoll_local_path(root, number, name, path);
    fd = atoll_file_open_to_write(path, O_WRONLY | O_CREAT, 0600, err);
    if (fd < 0)
        return -1;
    close(fd);
    return atoll_local_supervise(root, err);
}

static int cancel(struct atoll_launcher *launcher, const char *id, struct atoll_err *err)
{
    struct atoll_local_job job;

    if (atoll_local_job_read(root_of(launcher), strtoul(id, NULL, 10), &job, err) != 0)
        return -1;
    return atoll_job_has_ended(job.state) ? 0 : wish(root_of(launcher), job.number, "cancel", err);
}

static int requeue(struct atoll_launcher *launcher, const char *id, struct atoll_err *err)
{
    struct atoll_local_job job;

    if (atoll_local_job_read(root_of(launcher), strtoul(id, NULL, 10), &job, err) != 0)
        return -1;
    if (job.state != ATOLL_JOB_RUNNING) {
        return atoll_err_set(err, ATOLL_E_INPUT, "job %s is %s and cannot be requeued", id,
                             atoll_job_state_name(job.state));
    }
    return wish(root_of(launcher), job.number, "requeue", err);
}

static void destroy(struct atoll_launcher *launcher)
{
    free(launcher);
}

static const struct atoll_launcher_ops ops = {
    .is_slurm = 0,
    .destroy = destroy,
    .submit = submit,
    .list = list,
    .ask = ask,
    .cancel = cancel,
    .requeue = requeue,
};

/* Whoever asks for this machine's jobs starts them again where their supervisor was killed. */
struct atoll_launcher *atoll_launcher_local(double timeout_s, struct atoll_err *err)
{
    struct queue *queue = calloc(1, sizeof(*queue));

    if (!queue) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a launcher");
        return NULL;
    }
    queue->base.ops = &ops;
    queue->base.timeout_s = timeout_s;
    snprintf(queue->base.name, sizeof(queue->base.name), "local");
    if (atoll_local_root(queue->root, err) != 0 || atoll_local_supervise(queue->root, err) != 0) {
        free(queue);
        return NULL;
    }
    return &queue->base;
}
