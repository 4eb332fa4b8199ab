/* launcher.c - chooses a launcher, checks what is passed to it, and answers what all of them answer alike. */
#include "scheduler/launcher/launcher.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "scheduler/launcher/launcher_ops.h"

#define DEFAULT_TIMEOUT_S 30.0
#define ID_CHARACTERS     "0123456789_"
#define NODE_CHARACTERS   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_[],"

static struct atoll_launcher *(*const creators[])(double timeout_s, struct atoll_err *err) = {
    [ATOLL_LAUNCHER_LIBSLURM] = atoll_launcher_libslurm,
    [ATOLL_LAUNCHER_COMMANDS] = atoll_launcher_commands,
    [ATOLL_LAUNCHER_LOCAL] = atoll_launcher_local,
};

#define KINDS (sizeof(creators) / sizeof(creators[0]))

/* The first that is there.  Only MISSING leads on: a Slurm that is there and fails is not exchanged for this machine. */
static struct atoll_launcher *create_any(double timeout_s, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    struct atoll_launcher *launcher = NULL;

    for (size_t i = ATOLL_LAUNCHER_LIBSLURM; i < KINDS && !launcher; i++) {
        atoll_err_clear(&why);
        launcher = creators[i](timeout_s, &why);
        if (why.code != ATOLL_E_MISSING)
            break;
    }
    if (!launcher && err)
        *err = why;
    return launcher;
}

struct atoll_launcher *atoll_launcher_create(enum atoll_launcher_kind kind, double timeout_s,
                                             struct atoll_err *err)
{
    double limit_s = timeout_s > 0 ? timeout_s : DEFAULT_TIMEOUT_S;

    if ((unsigned)kind >= KINDS) {
        atoll_err_set(err, ATOLL_E_INTERNAL, "no launcher has number %d", (int)kind);
        return NULL;
    }
    return kind == ATOLL_LAUNCHER_AUTO ? create_any(limit_s, err) : creators[kind](limit_s, err);
}

void atoll_launcher_destroy(struct atoll_launcher *launcher)
{
    if (launcher)
        launcher->ops->destroy(launcher);
}

const char *atoll_launcher_name(const struct atoll_launcher *launcher)
{
    return launcher->name;
}

int atoll_launcher_is_slurm(const struct atoll_launcher *launcher)
{
    return launcher->ops->is_slurm;
}

/* Digits, then perhaps _ and digits: what else comes from a file or a person is refused before a command sees it. */
static int check_id(const char *id, struct atoll_err *err)
{
    const char *line = id ? strchr(id, '_') : NULL;

    if (!id || !*id || strlen(id) >= ATOLL_JOB_ID_BYTES || strspn(id, ID_CHARACTERS) != strlen(id) ||
        *id == '_' || (line && (!line[1] || strchr(line + 1, '_')))) {
        return atoll_err_set(err, ATOLL_E_INPUT, "'%.80s' is no id of a job; ids look like 1234 or 1234_7",
                             id ? id : "");
    }
    return 0;
}

int atoll_launcher_submit(struct atoll_launcher *launcher, const struct atoll_job_request *request,
                          char ret_id[ATOLL_JOB_ID_BYTES], struct atoll_err *err)
{
    if (atoll_job_request_check(request, err) != 0)
        return -1;
    return launcher->ops->submit(launcher, request, ret_id, err);
}

/* By number, then by element, whatever order a queue tells them in. */
static int by_id(const void *a, const void *b)
{
    const struct atoll_job *x = a, *y = b;
    char *end_x, *end_y;
    unsigned long number_x = strtoul(x->id, &end_x, 10), number_y = strtoul(y->id, &end_y, 10);

    if (number_x == number_y) {
        number_x = *end_x ? strtoul(end_x + 1, NULL, 10) : 0;
        number_y = *end_y ? strtoul(end_y + 1, NULL, 10) : 0;
    }
    return (number_x > number_y) - (number_x < number_y);
}

int atoll_launcher_list(struct atoll_launcher *launcher, const char *name_prefix, struct atoll_job **ret_jobs,
                        size_t *ret_count, struct atoll_err *err)
{
    size_t length = name_prefix ? strlen(name_prefix) : 0, kept = 0, count = 0;
    struct atoll_job *jobs = NULL;

    if (launcher->ops->list(launcher, &jobs, &count, err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (length == 0 || strncmp(jobs[i].name, name_prefix, length) == 0)
            jobs[kept++] = jobs[i];
    if (kept)
        qsort(jobs, kept, sizeof(*jobs), by_id);
    *ret_jobs = jobs;
    *ret_count = kept;
    return 0;
}

/* How much a state says of an array: what still runs before what waits before what went wrong before what went well. */
static int weight(enum atoll_job_state state)
{
    if (state == ATOLL_JOB_UNKNOWN || state == ATOLL_JOB_COMPLETED)
        return state == ATOLL_JOB_COMPLETED;
    if (atoll_job_has_ended(state))
        return 2;
    return state == ATOLL_JOB_RUNNING ? 4 : 3;
}

int atoll_launcher_ask(struct atoll_launcher *launcher, const char *id, struct atoll_job *ret_job,
                       struct atoll_err *err)
{
    struct atoll_job *jobs = NULL, found = {.state = ATOLL_JOB_UNKNOWN};
    size_t count = 0;

    if (check_id(id, err) != 0 || launcher->ops->ask(launcher, id, &jobs, &count, err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || weight(jobs[i].state) > weight(found.state))
            found = jobs[i];
    memcpy(found.id, id, strlen(id) + 1);
    free(jobs);
    *ret_job = found;
    return 0;
}

int atoll_launcher_cancel(struct atoll_launcher *launcher, const char *id, struct atoll_err *err)
{
    return check_id(id, err) != 0 ? -1 : launcher->ops->cancel(launcher, id, err);
}

int atoll_launcher_requeue(struct atoll_launcher *launcher, const char *id, struct atoll_err *err)
{
    return check_id(id, err) != 0 ? -1 : launcher->ops->requeue(launcher, id, err);
}

int atoll_launcher_remaining(struct atoll_launcher *launcher, const char *id, double *ret_seconds,
                             struct atoll_err *err)
{
    struct atoll_job job;
    double left_s;

    if (atoll_launcher_ask(launcher, id, &job, err) != 0)
        return -1;
    if (job.state == ATOLL_JOB_UNKNOWN)
        return atoll_err_set(err, ATOLL_E_NOTFOUND, "job %s is not known to the queue", id);
    if (job.state < ATOLL_JOB_RUNNING) {
        return atoll_err_set(err, ATOLL_E_INPUT, "job %s has not started (%s)", id,
                             atoll_job_state_name(job.state));
    }
    left_s = (double)(job.end_unix_s - time(NULL));
    if (atoll_job_has_ended(job.state))
        *ret_seconds = 0;
    else if (job.end_unix_s == 0)
        *ret_seconds = HUGE_VAL;
    else
        *ret_seconds = left_s > 0 ? left_s : 0;
    return 0;
}

int atoll_launcher_bad_nodes(struct atoll_launcher *launcher, const char *nodes, char *ret_names,
                             size_t bytes, struct atoll_err *err)
{
    if (!nodes || !*nodes || *nodes == '-' || strspn(nodes, NODE_CHARACTERS) != strlen(nodes)) {
        return atoll_err_set(err, ATOLL_E_INPUT, "'%.80s' is no list of nodes; lists look like n[1-4],n7",
                             nodes ? nodes : "");
    }
    if (!launcher->ops->bad_nodes) { /* this machine works while somebody asks it */
        snprintf(ret_names, bytes, "%s", "");
        return 0;
    }
    return launcher->ops->bad_nodes(launcher, nodes, ret_names, bytes, err);
}

int atoll_launcher_cluster(struct atoll_launcher *launcher, struct atoll_cluster *ret_cluster,
                           struct atoll_err *err)
{
    return launcher->ops->cluster ? launcher->ops->cluster(launcher, ret_cluster, err)
                                  : atoll_err_set(err, ATOLL_E_INPUT, "this machine's queue is no cluster");
}
