#include "scheduler/campaign/sweep_jobs.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "scheduler/campaign/job_list.h"

#define SCRIPT_BYTES ((size_t)1 << 20)
#define SIGNAL_SHARE 0.1

static const char *or_null(const char *text)
{
    return text && *text ? text : NULL;
}

static const char *keep(struct atoll_arena *arena, const char *text, const char *suffix,
                        struct atoll_err *err)
{
    char out[PATH_MAX];
    int length = snprintf(out, sizeof(out), "%s%s", text, suffix);

    if (length < 0 || (size_t)length >= sizeof(out)) {
        atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s...", text);
        return NULL;
    }
    return atoll_arena_text(arena, out, (size_t)length, err);
}

/* The log of a job.  In a pattern %% is a percent sign, so that a folder's own are not taken for the job's id. */
static const char *keep_log(struct atoll_arena *arena, const char *dir, struct atoll_err *err)
{
    char escaped[PATH_MAX];
    size_t length = 0;

    for (; *dir && length + 2 < sizeof(escaped); dir++) {
        escaped[length++] = *dir;
        if (*dir == '%')
            escaped[length++] = '%';
    }
    escaped[length] = '\0';
    if (*dir) {
        atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s...", escaped);
        return NULL;
    }
    return keep(arena, escaped, "/log/%j.log", err);
}

int atoll_sweep_request(const struct atoll_sweep *sweep, const struct atoll_site *site, const char *script,
                        struct atoll_arena *arena, struct atoll_job_request *ret_request,
                        struct atoll_err *err)
{
    char name[ATOLL_SWEEP_NAME_BYTES];
    struct atoll_job_request request = {.script = script,
                                        .work_dir = sweep->dir,
                                        .partition = or_null(sweep->partition),
                                        .account = or_null(sweep->account),
                                        .qos = or_null(sweep->qos),
                                        .constraint = or_null(sweep->constraint),
                                        .nodes = sweep->nodes,
                                        .gpus_per_node = sweep->gpus_per_node,
                                        .time_min = sweep->time_min};

    atoll_sweep_job_name(sweep, name);
    request.name = keep(arena, name, "", err);
    request.log_path = keep_log(arena, sweep->dir, err);
    if (!request.name || !request.log_path ||
        atoll_site_request(site, sweep->evaluators_per_node, sweep->gpus_per_node, arena, &request, err) !=
            0) {
        return -1;
    }
    if (request.signal_before_s > SIGNAL_SHARE * 60 * request.time_min) /* a short job would only drain */
        request.signal_before_s = (unsigned)(SIGNAL_SHARE * 60 * request.time_min);
    *ret_request = request;
    return 0;
}

const char *atoll_sweep_script(const struct atoll_sweep *sweep, struct atoll_arena *arena,
                               struct atoll_err *err)
{
    char path[PATH_MAX];
    size_t length;
    const char *kept = NULL;
    char *text;

    if (atoll_sweep_path(sweep, ATOLL_SWEEP_SCRIPT, path, sizeof(path), err) != 0)
        return NULL;
    text = atoll_file_read(path, SCRIPT_BYTES, &length, err);
    if (text)
        kept = atoll_arena_text(arena, text, length, err);
    free(text);
    return kept;
}

struct atoll_site *atoll_sweep_site(const struct atoll_sweep *sweep, struct atoll_err *err)
{
    char path[PATH_MAX];

    return atoll_sweep_path(sweep, ATOLL_SITE_FILE, path, sizeof(path), err) == 0 ? atoll_site_load(path, err)
                                                                                  : NULL;
}

int atoll_sweep_jobs_cancel(const struct atoll_sweep *sweep, double timeout_s, int only_waiting,
                            unsigned *ret_count, struct atoll_err *err)
{
    struct atoll_site *site = atoll_sweep_site(sweep, err);
    struct atoll_launcher *launcher = site ? atoll_launcher_create(site->launcher, timeout_s, err) : NULL;
    struct atoll_job_list list = {0};
    char name[ATOLL_SWEEP_NAME_BYTES];
    int status = launcher ? atoll_job_list_ask(launcher, site->launcher, &list, err) : -1;

    atoll_sweep_job_name(sweep, name);
    *ret_count = 0;
    for (size_t i = 0; status == 0 && i < list.count; i++) {
        const struct atoll_job *job = &list.jobs[i];
        int is_waiting = job->state == ATOLL_JOB_PENDING || job->state == ATOLL_JOB_HELD ||
                         job->state == ATOLL_JOB_REQUEUED;

        if (strcmp(job->name, name) != 0 || atoll_job_has_ended(job->state) || (only_waiting && !is_waiting))
            continue;
        status = atoll_launcher_cancel(launcher, job->id, err);
        if (status != 0 && err->code == ATOLL_E_NOTFOUND) { /* it ended in between */
            atoll_err_clear(err);
            status = 0;
            continue;
        }
        *ret_count += status == 0;
    }
    if (*ret_count > 0)
        atoll_job_list_forget(site->launcher);
    atoll_job_list_fini(&list);
    atoll_launcher_destroy(launcher);
    atoll_site_destroy(site);
    return status;
}
