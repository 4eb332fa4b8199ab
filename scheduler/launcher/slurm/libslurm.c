/* libslurm.c - Slurm through its own library, one child process for each call (call.h). */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/launcher/launcher_ops.h"
#include "base/process.h"
#include "scheduler/launcher/slurm/call.h"
#include "scheduler/launcher/slurm/commands.h"
#include "scheduler/launcher/slurm/environment.h"
#include "scheduler/launcher/slurm/locate.h"
#include "scheduler/launcher/slurm/refusal.h"
#include "scheduler/launcher/slurm/state.h"

#define SCRIPT_BYTES ((size_t)4 << 20)
#define PING_S       5.0

struct libslurm {
    struct atoll_launcher base;
    char path[PATH_MAX];
    int was_silent; /* the controller, when it was asked last */
};

/* The library waits up to 18 s for a controller that is down, in every call; a ping says it at once.  It costs a request, so
 * only a controller that was silent is pinged. */
static int check_voice(struct libslurm *libslurm, struct atoll_err *err)
{
    struct atoll_slurm_call ping = {.path = libslurm->path, .function = atoll_slurm_do_ping};
    double limit_s = libslurm->base.timeout_s < PING_S ? libslurm->base.timeout_s : PING_S;
    struct atoll_slurm_answer answer;

    if (!libslurm->was_silent) {
        return 0;
    }
    if (atoll_slurm_call_run(&ping, "pinging Slurm's controller", limit_s, &answer, err) != 0) {
        return -1;
    }
    atoll_slurm_answer_fini(&answer);
    return 0;
}

static int ask_slurm(struct atoll_launcher *launcher, struct atoll_slurm_call *call, const char *what,
                     struct atoll_slurm_answer *ret_answer, struct atoll_err *err)
{
    struct libslurm *libslurm = (struct libslurm *)launcher;
    struct atoll_err why = ATOLL_ERR_INIT;

    call->path = libslurm->path;
    if (check_voice(libslurm, &why) == 0 &&
        atoll_slurm_call_run(call, what, launcher->timeout_s, ret_answer, &why) == 0) {
        libslurm->was_silent = 0;
        return 0;
    }
    libslurm->was_silent = why.code == ATOLL_E_TIMEOUT;
    if (err) {
        *err = why;
    }
    return -1;
}

/* A call without an answer. */
static int order(struct atoll_launcher *launcher, struct atoll_slurm_call *call, const char *what,
                 struct atoll_err *err)
{
    struct atoll_slurm_answer answer;

    if (ask_slurm(launcher, call, what, &answer, err) != 0) {
        return -1;
    }
    atoll_slurm_answer_fini(&answer);
    return 0;
}

/* What sbatch adds for the script and its srun. */
static int add_sbatch_variables(const struct atoll_job_request *request,
                                struct atoll_slurm_environment *environment, struct atoll_err *err)
{
    const struct {
        const char *name;
        unsigned value;
    } numbers[] = {{"SLURM_NTASKS_PER_NODE", request->tasks_per_node},
                   {"SLURM_CPUS_PER_TASK", request->cpus_per_task},
                   {"SLURM_GPUS_PER_NODE", request->gpus_per_node}};
    char host[256] = "";
    int status;

    gethostname(host, sizeof(host) - 1);
    status = atoll_slurm_environment_add(environment, err, "SLURM_SUBMIT_DIR=%s", request->work_dir) != 0 ||
             atoll_slurm_environment_add(environment, err, "SLURM_SUBMIT_HOST=%s", host) != 0 ||
             atoll_slurm_environment_add(environment, err, "SLURM_JOB_NAME=%s", request->name) != 0 ||
             atoll_slurm_environment_add(environment, err, "SLURM_PRIO_PROCESS=0") != 0;
    if (!status && request->log_path) {
        status = atoll_slurm_environment_add(environment, err, "SLURM_OPEN_MODE=a") != 0;
    }
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && !status; i++) {
        if (numbers[i].value) {
            status = atoll_slurm_environment_add(environment, err, "%s=%u", numbers[i].name,
                                                 numbers[i].value) != 0;
        }
    }
    return status ? -1 : 0;
}

static int send_submission(struct atoll_launcher *launcher, const struct atoll_slurm_submission *submission,
                           char ret_id[ATOLL_JOB_ID_BYTES], struct atoll_err *err)
{
    struct atoll_slurm_call call = {.function = atoll_slurm_do_submit, .submission = submission};
    struct atoll_slurm_answer answer;
    uint32_t id = 0;

    if (ask_slurm(launcher, &call, "submitting a job", &answer, err) != 0) {
        return -1;
    }
    memcpy(&id, answer.data, answer.length < sizeof(id) ? answer.length : sizeof(id));
    snprintf(ret_id, ATOLL_JOB_ID_BYTES, "%u", id);
    atoll_slurm_answer_fini(&answer);
    return 0;
}

/* Options of the site that only sbatch understands are left to sbatch. */
static int submit(struct atoll_launcher *launcher, const struct atoll_job_request *request,
                  char ret_id[ATOLL_JOB_ID_BYTES], struct atoll_err *err)
{
    struct atoll_job_request whole = *request;
    struct atoll_slurm_environment environment = {0};
    struct atoll_buffer script;
    int status = -1;

    if (request->extra && request->extra[0]) {
        return atoll_slurm_sbatch(request, launcher->timeout_s, ret_id, err);
    }
    atoll_slurm_request_complete(&whole);
    atoll_buffer_init(&script, SCRIPT_BYTES);
    if (atoll_job_script(&whole, &script, err) != 0 ||
        atoll_slurm_environment_create(&whole, &environment, err) != 0 ||
        add_sbatch_variables(&whole, &environment, err) != 0) {
        goto done;
    }
    atoll_buffer_put_u8(&script, 0);
    if (atoll_buffer_check(&script, err) == 0) {
        const struct atoll_slurm_submission submission = {
            .request = &whole,
            .script = (const char *)script.data,
            .environment = environment.items,
            .environment_count = (uint32_t)environment.count,
            .signal_number = whole.signal_name ? atoll_signal_number(whole.signal_name) : 0};

        status = send_submission(launcher, &submission, ret_id, err);
    }
done:
    atoll_slurm_environment_destroy(&environment);
    atoll_buffer_fini(&script);
    return status;
}

static int take_jobs(const struct atoll_slurm_answer *answer, struct atoll_job **ret_jobs, size_t *ret_count,
                     struct atoll_err *err)
{
    struct atoll_job *jobs = NULL;
    struct atoll_slurm_job told;
    size_t count = 0;

    for (size_t at = 0; at + sizeof(told) <= answer->length; at += sizeof(told)) {
        struct atoll_job *job = atoll_job_append(&jobs, &count);

        if (!job) {
            free(jobs);
            return atoll_err_set(err, ATOLL_E_LIMIT, "Slurm listed more than %zu jobs", ATOLL_JOB_LIMIT);
        }
        memcpy(&told, answer->data + at, sizeof(told));
        *job = told.job;
        job->state = atoll_slurm_state(told.word, job->reason, job->restart_count);
        job->exit_status =
            atoll_job_has_ended(job->state) ? atoll_slurm_exit_status((unsigned)job->exit_status) : 0;
    }
    *ret_jobs = jobs;
    *ret_count = count;
    return 0;
}

static int list(struct atoll_launcher *launcher, struct atoll_job **ret_jobs, size_t *ret_count,
                struct atoll_err *err)
{
    struct atoll_slurm_call call = {.function = atoll_slurm_do_list};
    struct atoll_slurm_answer answer;
    int status;

    if (ask_slurm(launcher, &call, "listing jobs", &answer, err) != 0) {
        return -1;
    }
    status = take_jobs(&answer, ret_jobs, ret_count, err);
    atoll_slurm_answer_fini(&answer);
    return status;
}

/* Of an array Slurm gives all elements, of which one may be meant. */
static void keep_only(const char *id, struct atoll_job *jobs, size_t *count)
{
    size_t kept = 0;

    for (size_t i = 0; i < *count; i++) {
        if (!strchr(id, '_') || strcmp(jobs[i].id, id) == 0) {
            jobs[kept++] = jobs[i];
        }
    }
    *count = kept;
}

static int ask(struct atoll_launcher *launcher, const char *id, struct atoll_job **ret_jobs,
               size_t *ret_count, struct atoll_err *err)
{
    struct atoll_slurm_call call = {.function = atoll_slurm_do_load, .id = id};
    struct atoll_err why = ATOLL_ERR_INIT;
    struct atoll_slurm_answer answer;
    int status;

    if (ask_slurm(launcher, &call, "asking after a job", &answer, &why) != 0) {
        if (why.code == ATOLL_E_NOTFOUND) {
            *ret_jobs = NULL;
            *ret_count = 0;
            return 0;
        }
        if (err) {
            *err = why;
        }
        return -1;
    }
    status = take_jobs(&answer, ret_jobs, ret_count, err);
    atoll_slurm_answer_fini(&answer);
    if (status == 0) {
        keep_only(id, *ret_jobs, ret_count);
    }
    return status;
}

static int cancel(struct atoll_launcher *launcher, const char *id, struct atoll_err *err)
{
    struct atoll_slurm_call call = {.function = atoll_slurm_do_cancel, .id = id};
    struct atoll_err why = ATOLL_ERR_INIT;

    if (order(launcher, &call, "cancelling a job", &why) == 0 || atoll_slurm_has_ended(why.text)) {
        return 0;
    }
    if (err) {
        *err = why;
    }
    return -1;
}

static int requeue(struct atoll_launcher *launcher, const char *id, struct atoll_err *err)
{
    struct atoll_slurm_call call = {.function = atoll_slurm_do_requeue, .id = id};

    return order(launcher, &call, "requeueing a job", err);
}

static int bad_nodes(struct atoll_launcher *launcher, const char *nodes, char *ret_names, size_t bytes,
                     struct atoll_err *err)
{
    struct atoll_slurm_call call = {
        .function = atoll_slurm_do_bad_nodes, .id = nodes, .number = bytes < INT_MAX ? (int)bytes : INT_MAX};
    struct atoll_slurm_answer answer;

    if (ask_slurm(launcher, &call, "asking after nodes", &answer, err) != 0) {
        return -1;
    }
    snprintf(ret_names, bytes, "%.*s", (int)answer.length, (const char *)answer.data);
    atoll_slurm_answer_fini(&answer);
    return 0;
}

static int cluster(struct atoll_launcher *launcher, struct atoll_cluster *ret_cluster, struct atoll_err *err)
{
    struct atoll_slurm_call call = {.function = atoll_slurm_do_cluster};
    struct atoll_cluster found = {0};
    struct atoll_slurm_answer answer;

    if (ask_slurm(launcher, &call, "asking after the cluster", &answer, err) != 0) {
        return -1;
    }
    memcpy(&found, answer.data, answer.length < sizeof(found) ? answer.length : sizeof(found));
    atoll_slurm_answer_fini(&answer);
    atoll_slurm_mpi_types(launcher->timeout_s, found.mpi_types, sizeof(found.mpi_types));
    *ret_cluster = found;
    return 0;
}

static void destroy(struct atoll_launcher *launcher)
{
    free(launcher);
}

static const struct atoll_launcher_ops ops = {
    .is_slurm = 1,
    .destroy = destroy,
    .submit = submit,
    .list = list,
    .ask = ask,
    .cancel = cancel,
    .requeue = requeue,
    .bad_nodes = bad_nodes,
    .cluster = cluster,
};

struct atoll_launcher *atoll_launcher_libslurm(double timeout_s, struct atoll_err *err)
{
    struct libslurm *libslurm = calloc(1, sizeof(*libslurm));
    char version[32];

    if (!libslurm) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a launcher");
        return NULL;
    }
    libslurm->base.ops = &ops;
    libslurm->base.timeout_s = timeout_s;
    if (atoll_slurm_locate(timeout_s, libslurm->path, sizeof(libslurm->path), version, sizeof(version),
                           err) != 0) {
        free(libslurm);
        return NULL;
    }
    snprintf(libslurm->base.name, sizeof(libslurm->base.name), "libslurm %s (plugin %.500s)", version,
             libslurm->path);
    return &libslurm->base;
}
