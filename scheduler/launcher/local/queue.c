/* queue.c - the launcher of machines without a batch system: a job is a script under a supervisor of its own, as many at once
 * as ATOLL_LOCAL_JOBS says (1 without it), the others wait in the order of their submission. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <math.h>

#include "scheduler/launcher/launcher_ops.h"
#include "scheduler/launcher/local/job_folder.h"
#include "scheduler/launcher/local/slot.h"
#include "scheduler/launcher/local/supervise.h"
#include "base/process.h"

#define ARRAY_LIMIT 1000u
#define KEEP_S      (14 * 24 * 3600) /* how long what has ended is known */

struct queue {
    struct atoll_launcher base;
    char root[PATH_MAX];
};

static const char *root_of(const struct atoll_launcher *launcher)
{
    return ((const struct queue *)launcher)->root;
}

/* %j and %A, %a as Slurm fills them in. */
static void fill_in(const char *pattern, const char *id, unsigned long number, int index, char *ret_path)
{
    size_t length = 0;

    for (; *pattern && length < PATH_MAX - ATOLL_JOB_ID_BYTES; pattern++) {
        if (*pattern != '%' || !strchr("jAa%", pattern[1]) || !pattern[1]) {
            ret_path[length++] = *pattern;
            continue;
        }
        pattern++;
        if (*pattern == '%') {
            ret_path[length++] = '%';
        } else if (*pattern == 'j') {
            length += (size_t)snprintf(ret_path + length, ATOLL_JOB_ID_BYTES, "%s", id);
        } else if (*pattern == 'A') {
            length += (size_t)snprintf(ret_path + length, ATOLL_JOB_ID_BYTES, "%lu", number);
        } else {
            length += (size_t)snprintf(ret_path + length, ATOLL_JOB_ID_BYTES, "%d", index);
        }
    }
    ret_path[length] = '\0';
}

static int check(const struct atoll_job_request *request, struct atoll_err *err)
{
    if (request->nodes > 1) {
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "the job wants %u nodes and this machine is one; a cluster's Slurm "
                             "has more (the profile's key launcher)",
                             request->nodes);
    }
    if (request->array_count > ARRAY_LIMIT) {
        return atoll_err_set(err, ATOLL_E_LIMIT,
                             "an array of %u elements is more than this machine's queue takes (%u)",
                             request->array_count, ARRAY_LIMIT);
    }
    return 0;
}

static void describe(const struct atoll_job_request *request, unsigned long number, int index,
                     struct atoll_local_job *job)
{
    memset(job, 0, sizeof(*job));
    if (index < 0) {
        snprintf(job->id, sizeof(job->id), "%lu", number);
    } else {
        snprintf(job->id, sizeof(job->id), "%lu_%d", number, index);
    }
    snprintf(job->name, sizeof(job->name), "%s", request->name);
    snprintf(job->work_dir, sizeof(job->work_dir), "%s", request->work_dir);
    fill_in(request->log_path ? request->log_path : "atoll-%j.log", job->id, number, index, job->log_path);
    if (*job->log_path != '/') {
        char whole[2 * PATH_MAX];

        snprintf(whole, sizeof(whole), "%s/%s", job->work_dir, job->log_path);
        snprintf(job->log_path, sizeof(job->log_path), "%.*s", PATH_MAX - 1, whole);
    }
    job->time_limit_s = 60.0 * request->time_min;
    job->signal_number = request->signal_name ? atoll_signal_number(request->signal_name) : 0;
    job->signal_before_s = request->signal_before_s ? request->signal_before_s : 60;
    job->array_index = index;
    job->submit_unix_s = (int64_t)time(NULL);
}

static int submit_one(const char *root, const struct atoll_job_request *request, const char *script,
                      unsigned long number, int index, struct atoll_err *err)
{
    struct atoll_local_job job;

    describe(request, number, index, &job);
    if (atoll_local_job_write(root, &job, script, err) != 0) {
        return -1;
    }
    return atoll_local_supervise(root, job.id, 0, err);
}

static int submit_all(const char *root, const struct atoll_job_request *request, const char *script,
                      unsigned long number, struct atoll_err *err)
{
    if (!request->array_count) {
        return submit_one(root, request, script, number, -1, err);
    }
    for (unsigned i = 0; i < request->array_count; i++) {
        if (submit_one(root, request, script, number, (int)i, err) != 0) {
            return -1;
        }
    }
    return 0;
}

static int submit(struct atoll_launcher *launcher, const struct atoll_job_request *request,
                  char ret_id[ATOLL_JOB_ID_BYTES], struct atoll_err *err)
{
    const char *root = root_of(launcher);
    struct atoll_buffer script;
    unsigned long number = 0;
    int status = -1;

    if (check(request, err) != 0) {
        return -1;
    }
    atoll_local_forget(root, (int64_t)time(NULL) - KEEP_S);
    atoll_buffer_init(&script, (size_t)4 << 20);
    if (atoll_job_script(request, &script, err) == 0) {
        atoll_buffer_put_u8(&script, 0);
        if (atoll_buffer_check(&script, err) == 0 && atoll_local_number(root, &number, err) == 0) {
            status = submit_all(root, request, (const char *)script.data, number, err);
        }
    }
    atoll_buffer_fini(&script);
    if (status == 0) {
        snprintf(ret_id, ATOLL_JOB_ID_BYTES, "%lu", number);
    }
    return status;
}

/* 0 also for a job that is not there any more, which is left out. */
static int add_job(const char *root, const char *id, struct atoll_job **jobs, size_t *count,
                   struct atoll_err *err)
{
    struct atoll_local_job job;
    struct atoll_local_state state;
    struct atoll_job *out;

    if (atoll_local_job_read(root, id, &job, NULL) != 0 ||
        atoll_local_state_judge(root, id, &state, NULL) != 0) {
        return 0;
    }
    out = atoll_job_append(jobs, count);
    if (!out) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "more than %zu jobs on this machine", ATOLL_JOB_LIMIT);
    }
    snprintf(out->id, sizeof(out->id), "%s", id);
    snprintf(out->name, sizeof(out->name), "%s", job.name);
    snprintf(out->reason, sizeof(out->reason), "%s", state.reason);
    snprintf(out->partition, sizeof(out->partition), "local");
    if (state.start_unix_s) {
        gethostname(out->nodes, sizeof(out->nodes) - 1);
    }
    out->node_count = 1;
    out->state = state.state;
    out->restart_count = state.restart_count;
    out->exit_status = atoll_job_has_ended(state.state) ? state.exit_status : 0;
    out->submit_unix_s = job.submit_unix_s;
    out->start_unix_s = state.start_unix_s;
    out->end_unix_s = state.end_unix_s;
    return 0;
}

static int add_all(const char *root, const char *base, struct atoll_job **ret_jobs, size_t *ret_count,
                   struct atoll_err *err)
{
    char(*ids)[ATOLL_JOB_ID_BYTES] = NULL;
    struct atoll_job *jobs = NULL;
    size_t id_count = 0, count = 0;
    int status = atoll_local_ids(root, base, &ids, &id_count, err);

    for (size_t i = 0; i < id_count && status == 0; i++) {
        status = add_job(root, ids[i], &jobs, &count, err);
    }
    free(ids);
    if (status != 0) {
        free(jobs);
        return -1;
    }
    *ret_jobs = jobs;
    *ret_count = count;
    return 0;
}

static int list(struct atoll_launcher *launcher, struct atoll_job **ret_jobs, size_t *ret_count,
                struct atoll_err *err)
{
    return add_all(root_of(launcher), NULL, ret_jobs, ret_count, err);
}

static int ask(struct atoll_launcher *launcher, const char *id, struct atoll_job **ret_jobs,
               size_t *ret_count, struct atoll_err *err)
{
    struct atoll_job *jobs = NULL;
    size_t count = 0;

    if (add_job(root_of(launcher), id, &jobs, &count, err) != 0) {
        return -1;
    }
    if (count == 0) {
        return add_all(root_of(launcher), id, ret_jobs, ret_count, err);
    }
    *ret_jobs = jobs;
    *ret_count = count;
    return 0;
}

/* --- what changes a job ----------------------------------------------------------------------------------------------------- */

typedef int change_function(const char *root, const char *id, const struct atoll_local_state *state,
                            int64_t value, struct atoll_err *err);

/* Of an array every element.  Elements that have ended are no error of the whole. */
static int change(struct atoll_launcher *launcher, const char *id, change_function *function, int64_t value,
                  struct atoll_err *err)
{
    struct atoll_job *jobs = NULL;
    size_t count = 0;
    int status = ask(launcher, id, &jobs, &count, err);

    if (status == 0 && count == 0) {
        status =
            atoll_err_set(err, ATOLL_E_NOTFOUND, "no job %s on this machine; it may have ended long ago", id);
    }
    for (size_t i = 0; i < count && status == 0; i++) {
        struct atoll_local_state state;

        if (atoll_local_state_judge(root_of(launcher), jobs[i].id, &state, err) != 0) {
            status = -1;
        } else if (count == 1 || !atoll_job_has_ended(jobs[i].state)) {
            status = function(root_of(launcher), jobs[i].id, &state, value, err);
        }
    }
    free(jobs);
    return status;
}

static int wake(const struct atoll_local_state *state)
{
    if (atoll_process_id_is_alive(&state->supervisor)) {
        kill(state->supervisor.pid, SIGUSR1);
    }
    return 0;
}

static int change_cancel(const char *root, const char *id, const struct atoll_local_state *state,
                         int64_t value, struct atoll_err *err)
{
    (void)value;
    if (atoll_job_has_ended(state->state)) {
        return 0;
    }
    return atoll_local_wish(root, id, "cancel", 1, err) != 0 ? -1 : wake(state);
}

static int change_requeue(const char *root, const char *id, const struct atoll_local_state *state,
                          int64_t value, struct atoll_err *err)
{
    (void)value;
    if (atoll_job_has_ended(state->state)) {
        atoll_local_wish_take(root, id, "cancel");
        return atoll_local_supervise(root, id, state->restart_count + 1, err);
    }
    if (state->state != ATOLL_JOB_RUNNING) {
        return atoll_err_set(err, ATOLL_E_INPUT, "job %s is %s and cannot be requeued", id,
                             atoll_job_state_name(state->state));
    }
    return atoll_local_wish(root, id, "requeue", 1, err) != 0 ? -1 : wake(state);
}

static int cancel(struct atoll_launcher *launcher, const char *id, struct atoll_err *err)
{
    return change(launcher, id, change_cancel, 0, err);
}

static int requeue(struct atoll_launcher *launcher, const char *id, struct atoll_err *err)
{
    return change(launcher, id, change_requeue, 0, err);
}

/* This machine is the only node, and works while somebody asks it. */
static int bad_nodes(struct atoll_launcher *launcher, const char *nodes, char *ret_names, size_t bytes,
                     struct atoll_err *err)
{
    (void)launcher;
    (void)nodes;
    (void)err;
    if (bytes) {
        *ret_names = '\0';
    }
    return 0;
}

static int cluster(struct atoll_launcher *launcher, struct atoll_cluster *ret_cluster, struct atoll_err *err)
{
    struct atoll_partition *machine = &ret_cluster->partitions[0];
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    (void)launcher;
    (void)err;
    memset(ret_cluster, 0, sizeof(*ret_cluster));
    gethostname(ret_cluster->name, sizeof(ret_cluster->name) - 1);
    ret_cluster->array_limit = ARRAY_LIMIT;
    ret_cluster->partition_count = 1;
    snprintf(machine->name, sizeof(machine->name), "local");
    snprintf(machine->state, sizeof(machine->state), "up");
    machine->nodes = 1;
    machine->idle_nodes = 1;
    machine->cpus_per_node = cpus > 0 ? (unsigned)cpus : 1;
    machine->time_limit_min = machine->default_min = HUGE_VAL;
    machine->is_default = 1;
    return 0;
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
    .bad_nodes = bad_nodes,
    .cluster = cluster,
};

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
    if (atoll_local_root(queue->root, err) != 0) {
        free(queue);
        return NULL;
    }
    return &queue->base;
}
