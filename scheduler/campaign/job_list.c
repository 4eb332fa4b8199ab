/* job_list.c - the list lies in the queue's folder as JSON, replaced in one step; one that does not read is no list. */
#include "scheduler/campaign/job_list.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "scheduler/campaign/campaign_queue.h"

static int cache_path(enum atoll_launcher_kind kind, char path[PATH_MAX])
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char dir[PATH_MAX];

    if (atoll_campaign_queue_folder(dir, sizeof(dir), &err) != 0)
        return -1;
    return snprintf(path, PATH_MAX, "%s/.jobs-%d.json", dir, (int)kind) < PATH_MAX ? 0 : -1;
}

/* ---- JSON ---- */

static json_t *job_to_json(const struct atoll_job *j)
{
    return json_pack("{s:s, s:s, s:i, s:s, s:s, s:s, s:i, s:i, s:i, s:I, s:I, s:I}", "id", j->id, "name",
                     j->name, "state", (int)j->state, "reason", j->reason, "partition", j->partition, "nodes",
                     j->nodes, "node_count", (int)j->node_count, "restarts", (int)j->restart_count, "exit",
                     j->exit_status, "submit", (json_int_t)j->submit_unix_s, "start",
                     (json_int_t)j->start_unix_s, "end", (json_int_t)j->end_unix_s);
}

static void copy_text(const json_t *object, const char *key, char *out, size_t bytes)
{
    const char *text = json_string_value(json_object_get(object, key));

    snprintf(out, bytes, "%s", text ? text : "");
}

static int64_t integer(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static void job_from_json(const json_t *object, struct atoll_job *j)
{
    int64_t state = integer(object, "state");

    memset(j, 0, sizeof(*j));
    j->state = state >= 0 && state < ATOLL_JOB_STATE_COUNT ? (enum atoll_job_state)state : ATOLL_JOB_UNKNOWN;
    copy_text(object, "id", j->id, sizeof(j->id));
    copy_text(object, "name", j->name, sizeof(j->name));
    copy_text(object, "reason", j->reason, sizeof(j->reason));
    copy_text(object, "partition", j->partition, sizeof(j->partition));
    copy_text(object, "nodes", j->nodes, sizeof(j->nodes));
    j->node_count = (unsigned)integer(object, "node_count");
    j->restart_count = (unsigned)integer(object, "restarts");
    j->exit_status = (int)integer(object, "exit");
    j->submit_unix_s = integer(object, "submit");
    j->start_unix_s = integer(object, "start");
    j->end_unix_s = integer(object, "end");
}

/* ---- between processes ---- */

static void list_keep(enum atoll_launcher_kind kind, const struct atoll_job_list *list)
{
    char path[PATH_MAX];
    json_t *jobs = json_array(), *object;
    char *text;

    for (size_t i = 0; i < list->count; i++)
        json_array_append_new(jobs, job_to_json(&list->jobs[i]));
    object = json_pack("{s:f, s:s, s:o}", "asked_unix_s", atoll_clock_unix_s(), "launcher", list->launcher,
                       "jobs", jobs);
    text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    if (text && cache_path(kind, path) == 0) {
        atoll_file_replace(atoll_file_ops_real(), path, text, strlen(text),
                           NULL); /* without it the next one asks */
    }
    free(text);
    json_decref(object);
}

static int list_fill(const json_t *object, struct atoll_job_list *list)
{
    const json_t *jobs = json_object_get(object, "jobs");
    double asked = json_number_value(json_object_get(object, "asked_unix_s"));

    memset(list, 0, sizeof(*list));
    list->age_s = atoll_clock_unix_s() - asked;
    if (!json_is_array(jobs) || !(asked > 0) || list->age_s < 0)
        return -1;
    list->jobs = calloc(json_array_size(jobs) + 1, sizeof(*list->jobs));
    if (!list->jobs)
        return -1;
    list->count = json_array_size(jobs);
    for (size_t i = 0; i < list->count; i++)
        job_from_json(json_array_get(jobs, i), &list->jobs[i]);
    copy_text(object, "launcher", list->launcher, sizeof(list->launcher));
    return 0;
}

/* ---- asking ---- */

int atoll_job_list_ask(struct atoll_launcher *launcher, enum atoll_launcher_kind kind,
                       struct atoll_job_list *ret_list, struct atoll_err *err)
{
    memset(ret_list, 0, sizeof(*ret_list));
    if (atoll_launcher_list(launcher, NULL, &ret_list->jobs, &ret_list->count, err) != 0)
        return -1;
    snprintf(ret_list->launcher, sizeof(ret_list->launcher), "%s", atoll_launcher_name(launcher));
    list_keep(kind, ret_list);
    return 0;
}

int atoll_job_list_get(enum atoll_launcher_kind kind, double timeout_s, double max_age_s,
                       struct atoll_job_list *ret_list, struct atoll_err *err)
{
    struct atoll_job_list kept, asked;
    char path[PATH_MAX];
    json_t *object = cache_path(kind, path) == 0 ? json_load_file(path, 0, NULL) : NULL;
    int has_kept = object && list_fill(object, &kept) == 0;
    struct atoll_launcher *launcher;
    int status;

    json_decref(object);
    if (has_kept && kept.age_s <= max_age_s) {
        *ret_list = kept;
        return 0;
    }
    launcher = atoll_launcher_create(kind, timeout_s, err);
    status = launcher ? atoll_job_list_ask(launcher, kind, &asked, err) : -1;
    atoll_launcher_destroy(launcher);
    if (status == 0) {
        if (has_kept)
            atoll_job_list_fini(&kept);
        *ret_list = asked;
        return 0;
    }
    if (has_kept)
        *ret_list = kept;
    return has_kept ? 1 : -1;
}

void atoll_job_list_forget(enum atoll_launcher_kind kind)
{
    char path[PATH_MAX];

    if (cache_path(kind, path) == 0)
        unlink(path);
}

void atoll_job_list_fini(struct atoll_job_list *list)
{
    free(list->jobs);
    memset(list, 0, sizeof(*list));
}

size_t atoll_job_list_live(const struct atoll_job_list *list, const char *name, const char *except)
{
    size_t count = 0;

    for (size_t i = 0; i < list->count; i++) {
        count += strcmp(list->jobs[i].name, name) == 0 && !atoll_job_has_ended(list->jobs[i].state) &&
                 !(except && strcmp(list->jobs[i].id, except) == 0);
    }
    return count;
}
