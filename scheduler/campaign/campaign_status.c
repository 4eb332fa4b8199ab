#include "scheduler/campaign/campaign_status.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/print.h"
#include "base/units.h"
#include "base/json.h"
#include "scheduler/campaign/sweep_jobs.h"

#define POLL_S        90.0
#define AGE_TOLD_S    5.0
#define HISTORY_SHOWN 5
#define SPACE_LEAST   0x1p20 /* bytes: a journal goes on in steps below that */

static const char *const phase_names[ATOLL_PHASE_COUNT] = {"done",   "cancelled", "paused", "running",
                                                           "queued", "blocked",   "idle"};

const char *atoll_campaign_phase_name(enum atoll_campaign_phase phase)
{
    return phase < ATOLL_PHASE_COUNT ? phase_names[phase] : "unknown";
}

/* ---- parts ---- */

static void trouble_set(struct atoll_campaign_status *s, size_t i, const struct atoll_err *err)
{
    snprintf(s->troubles[i], sizeof(s->troubles[i]), "%s", err->text);
    s->rows[i].trouble = s->troubles[i];
}

static void part_read(struct atoll_campaign_status *s, size_t i, const char *path)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_lease_holder self;

    atoll_lease_holder_self("status", 0, &self);
    if (atoll_campaign_progress_read(path, &s->progresses[i], &err) != 0) {
        trouble_set(s, i, &err);
        return;
    }
    s->rows[i].progress = &s->progresses[i];
    if (atoll_lease_look(path, &self, &s->leases[i], NULL) == 0 && s->leases[i].state == ATOLL_LEASE_HELD) {
        s->rows[i].is_held = 1;
        s->rows[i].holder = s->leases[i].holder.job;
    }
}

static int parts_create(struct atoll_campaign_status *s, size_t count, struct atoll_err *err)
{
    s->progresses = calloc(count, sizeof(*s->progresses));
    s->rows = calloc(count, sizeof(*s->rows));
    s->leases = calloc(count, sizeof(*s->leases));
    s->troubles = calloc(count, sizeof(*s->troubles));
    s->part_count = count;
    if (!s->progresses || !s->rows || !s->leases || !s->troubles)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for %zu parts", count);
    return 0;
}

/* ---- jobs ---- */

static int jobs_pick(struct atoll_campaign_status *s, const struct atoll_job_list *list,
                     struct atoll_err *err)
{
    char name[ATOLL_SWEEP_NAME_BYTES];

    atoll_sweep_job_name(s->sweep, name);
    s->jobs = calloc(list->count + 1, sizeof(*s->jobs));
    if (!s->jobs)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for %zu jobs", list->count);
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->jobs[i].name, name) == 0)
            s->jobs[s->job_count++] = list->jobs[i];
    s->jobs_age_s = list->age_s;
    return 0;
}

static int jobs_read(struct atoll_campaign_status *s, double max_age_s, double timeout_s,
                     struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    struct atoll_site *site = atoll_sweep_site(s->sweep, &why);
    struct atoll_job_list list;
    int status;

    s->jobs_age_s = HUGE_VAL;
    if (!site) {
        snprintf(s->jobs_trouble, sizeof(s->jobs_trouble), "%.500s", why.text);
        return 0;
    }
    if (max_age_s < 0)
        max_age_s = site->limits.poll_s > 0 ? site->limits.poll_s : POLL_S;
    status = atoll_job_list_get(site->launcher, timeout_s, max_age_s, &list, &why);
    atoll_site_destroy(site);
    if (status != 0)
        snprintf(s->jobs_trouble, sizeof(s->jobs_trouble), "%.500s", why.text);
    if (status < 0)
        return 0;
    status = jobs_pick(s, &list, err);
    atoll_job_list_fini(&list);
    return status;
}

/* ---- why nothing runs ---- */

static const struct atoll_job *job_in(const struct atoll_campaign_status *s, int is_running)
{
    for (size_t i = 0; i < s->job_count; i++) {
        enum atoll_job_state state = s->jobs[i].state;
        int runs =
            state == ATOLL_JOB_RUNNING || state == ATOLL_JOB_COMPLETING || state == ATOLL_JOB_SUSPENDED;

        if (state != ATOLL_JOB_UNKNOWN && !atoll_job_has_ended(state) && runs == is_running)
            return &s->jobs[i];
    }
    return NULL;
}

/* The last one that did not end well: what the user would ask for when nothing goes on. */
static const struct atoll_job *job_lost(const struct atoll_campaign_status *s)
{
    const struct atoll_job *last = NULL;

    for (size_t i = 0; i < s->job_count; i++) {
        const struct atoll_job *job = &s->jobs[i];

        if (atoll_job_has_ended(job->state) && (!last || job->end_unix_s >= last->end_unix_s))
            last = job;
    }
    return last && last->state != ATOLL_JOB_COMPLETED ? last : NULL;
}

static void phase_set(struct atoll_campaign_status *s, enum atoll_campaign_phase phase, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));
static void phase_set(struct atoll_campaign_status *s, enum atoll_campaign_phase phase, const char *format,
                      ...)
{
    va_list arguments;

    s->phase = phase;
    va_start(arguments, format);
    vsnprintf(s->why, sizeof(s->why), format, arguments);
    va_end(arguments);
}

static void phase_find(struct atoll_campaign_status *s)
{
    const char *dir = s->sweep->dir;
    const struct atoll_job *waiting = job_in(s, 0);
    const struct atoll_job *lost = job_lost(s);
    const char *other = atoll_sweep_waits_for(s->sweep->after, s->sweep->after_count);
    const char *reason = lost && strcmp(lost->reason, "None") != 0 ? lost->reason : "";
    struct stat st;
    int is_held = 0;

    for (size_t i = 0; i < s->sweep->part_count; i++)
        is_held |= s->rows[i].is_held;
    if (atoll_sweep_is_done(dir)) {
        phase_set(s, ATOLL_PHASE_DONE, "%s", "");
    } else if (is_held || job_in(s, 1)) {
        phase_set(s, ATOLL_PHASE_RUNNING, "%s", "");
    } else if (atoll_sweep_is_marked(dir, ATOLL_SWEEP_CANCELLED)) {
        phase_set(s, ATOLL_PHASE_CANCELLED, "it was cancelled; atoll resume %s lets it go on", dir);
    } else if (atoll_sweep_is_marked(dir, ATOLL_SWEEP_PAUSED)) {
        phase_set(s, ATOLL_PHASE_PAUSED, "it was paused; atoll continue %s lets it go on", dir);
    } else if (waiting) {
        phase_set(s, ATOLL_PHASE_QUEUED, "job %s waits: %s", waiting->id,
                  waiting->reason[0] ? waiting->reason : atoll_job_state_name(waiting->state));
    } else if (other) {
        phase_set(s, ATOLL_PHASE_BLOCKED, "%s must be done before", other);
    } else if (stat(dir, &st) == 0 && st.st_uid != geteuid()) { /* launchers list the caller's own jobs */
        phase_set(s, ATOLL_PHASE_IDLE, "no part is worked on; jobs of its owner cannot be seen by you");
    } else if (!(s->jobs_age_s < HUGE_VAL)) {
        phase_set(s, ATOLL_PHASE_IDLE, "no part is worked on, and the scheduler cannot be asked: %.300s",
                  s->jobs_trouble);
    } else if (lost) {
        phase_set(s, ATOLL_PHASE_IDLE,
                  "job %s ended as %s%s%.200s, and no other is in the queue; atoll resume %s submits what it "
                  "wants",
                  lost->id, atoll_job_state_name(lost->state), *reason ? ": " : "", reason, dir);
    } else {
        phase_set(s, ATOLL_PHASE_IDLE, "no job of it is in the queue; atoll resume %s submits what it wants",
                  dir);
    }
}

/* A full disk is where a campaign writes, so nothing that it writes tells of it. */
static void space_find(struct atoll_campaign_status *s)
{
    struct statvfs fs;
    char left[32];

    if (s->phase == ATOLL_PHASE_DONE || statvfs(s->dir, &fs) != 0)
        return;
    double bytes = (double)fs.f_bavail * (double)fs.f_frsize;
    if (bytes >= SPACE_LEAST)
        return;
    snprintf(s->space, sizeof(s->space),
             "the disk is full: %s are left on the file system of %.300s; free some, %s",
             atoll_size_text(bytes, left, sizeof(left)), s->dir,
             s->phase == ATOLL_PHASE_RUNNING ? "until then the run waits, then it goes on by itself"
                                             : "then resume");
}

int atoll_campaign_status_read(const struct atoll_sweep *sweep, double max_age_s, double timeout_s,
                               struct atoll_campaign_status *ret_status, struct atoll_err *err)
{
    *ret_status = (struct atoll_campaign_status){.sweep = sweep, .dir = sweep->dir};
    snprintf(ret_status->id, sizeof(ret_status->id), "%s", sweep->id);
    if (parts_create(ret_status, sweep->part_count, err) != 0)
        goto failed;
    for (size_t i = 0; i < sweep->part_count; i++) {
        struct atoll_err own = ATOLL_ERR_INIT;
        char path[PATH_MAX];

        ret_status->rows[i].name = sweep->parts[i].name;
        if (atoll_sweep_part_path(sweep, i, path, sizeof(path), &own) == 0)
            part_read(ret_status, i, path);
        else
            trouble_set(ret_status, i, &own);
    }
    if (jobs_read(ret_status, max_age_s, timeout_s, err) != 0)
        goto failed;
    phase_find(ret_status);
    space_find(ret_status);
    return 0;
failed:
    atoll_campaign_status_fini(ret_status);
    return -1;
}

/* ---- a campaign of `atoll run` ---- */

static void run_phase_find(struct atoll_campaign_status *s, double silent_s)
{
    const struct atoll_lease_seen *lease = &s->leases[0];
    const struct atoll_campaign_progress *progress = s->rows[0].progress;

    if (progress && progress->phase == ATOLL_CAMPAIGN_PROGRESS_ENDED) {
        phase_set(s, ATOLL_PHASE_DONE, "%s",
                  *progress->reason ? atoll_reason_text(progress->reason) : "the search has come to its end");
    } else if (s->rows[0].is_held && silent_s <= ATOLL_LEASE_TIME_S) {
        phase_set(s, ATOLL_PHASE_RUNNING, "process %lld on %.60s works on it", (long long)lease->holder.pid,
                  lease->holder.host);
    } else if (s->rows[0].is_held) {
        s->rows[0].is_held = 0;
        phase_set(
            s, ATOLL_PHASE_IDLE,
            "process %lld on %.60s has not moved for %.0f s: it counts as lost; atoll resume %s goes on",
            (long long)lease->holder.pid, lease->holder.host, silent_s, s->dir);
    } else if (progress && progress->phase == ATOLL_CAMPAIGN_PROGRESS_FRESH) {
        phase_set(s, ATOLL_PHASE_IDLE, "nobody has begun it; atoll resume %s does", s->dir);
    } else {
        phase_set(s, ATOLL_PHASE_IDLE,
                  "nobody works on it: it was interrupted or killed; atoll resume %s goes on", s->dir);
    }
}

int atoll_campaign_status_read_run(const char *dir, double silent_s, struct atoll_campaign_status *ret_status,
                                   struct atoll_err *err)
{
    struct atoll_campaign *campaign = atoll_campaign_open(dir, NULL, err);
    const char *name;

    if (!campaign)
        return -1;
    *ret_status = (struct atoll_campaign_status){.dir = dir, .jobs_age_s = HUGE_VAL};
    atoll_id_hex(&atoll_campaign_config(campaign)->id, ret_status->id);
    atoll_campaign_close(campaign);
    if (parts_create(ret_status, 1, err) != 0) {
        atoll_campaign_status_fini(ret_status);
        return -1;
    }
    name = strrchr(dir, '/');
    ret_status->rows[0].name = name && name[1] ? name + 1 : dir;
    part_read(ret_status, 0, dir);
    ret_status->rows[0].holder = NULL; /* "local" tells nobody anything */
    run_phase_find(ret_status, silent_s);
    space_find(ret_status);
    return 0;
}

void atoll_campaign_status_fini(struct atoll_campaign_status *status)
{
    for (size_t i = 0; status->progresses && i < status->part_count; i++)
        if (status->rows && status->rows[i].progress)
            atoll_campaign_progress_fini(&status->progresses[i]);
    free(status->progresses);
    free(status->rows);
    free(status->leases);
    free(status->troubles);
    free(status->jobs);
    *status = (struct atoll_campaign_status){0};
}

/* ---- for people ---- */

static void job_print(const struct atoll_job *job, FILE *out)
{
    char text[32];
    double left_s = (double)job->end_unix_s - (double)time(NULL);

    atoll_print(out, "  job %-12s %-10s", job->id, atoll_job_state_name(job->state));
    if (job->state == ATOLL_JOB_RUNNING && job->end_unix_s > 0 && left_s > 0)
        atoll_print(out, " %s left", atoll_duration_text(left_s * 1e9, text, sizeof(text)));
    if (job->restart_count)
        fprintf(out, " started %u times", job->restart_count + 1);
    atoll_print(out, " %s%s%s\n", job->nodes, job->nodes[0] && job->reason[0] ? " " : "",
                strcmp(job->reason, "None") ? job->reason : "");
}

/* The last things that happened that a user would want to know of. */
static void history_print(const struct atoll_sweep *sweep, FILE *out)
{
    static const char *const kinds[] = {"lost",      "node",    "given-up", "takeover",   "requeue",
                                        "successor", "restart", "left",     "quarantined"};
    char path[PATH_MAX], line[2048], shown[HISTORY_SHOWN][2048];
    size_t count = 0;
    FILE *file = atoll_sweep_path(sweep, ATOLL_SWEEP_HISTORY, path, sizeof(path), NULL) == 0
                     ? atoll_file_stream(path, NULL)
                     : NULL;

    while (file && fgets(line, sizeof(line), file)) {
        json_t *object = json_loads(line, 0, NULL);
        const char *what = json_string_value(json_object_get(object, "what"));
        const char *job = json_string_value(json_object_get(object, "job"));
        const char *text = json_string_value(json_object_get(object, "text"));
        time_t when = (time_t)json_integer_value(json_object_get(object, "unix_s"));
        struct tm local;
        char stamp[32] = "";

        for (size_t i = 0; what && job && text && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
            if (strcmp(what, kinds[i]) == 0 && localtime_r(&when, &local)) {
                strftime(stamp, sizeof(stamp), "%m-%d %H:%M:%S", &local);
                snprintf(shown[count++ % HISTORY_SHOWN], sizeof(shown[0]), "  %s job %s: %.1900s", stamp, job,
                         text);
            }
        }
        json_decref(object);
    }
    if (file)
        fclose(file);
    for (size_t i = count > HISTORY_SHOWN ? count - HISTORY_SHOWN : 0; i < count; i++) {
        for (char *c = shown[i % HISTORY_SHOWN]; *c; c++) /* another user's words do not move the cursor */
            *c = (unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c;
        atoll_print(out, "%s\n", shown[i % HISTORY_SHOWN]);
    }
}

void atoll_campaign_status_print(const struct atoll_campaign_status *s, int by_task, FILE *out)
{
    char age[32];

    atoll_print(out, "%s: %s%s%s\n", s->dir, atoll_campaign_phase_name(s->phase), s->why[0] ? ": " : "",
                s->why);
    if (s->space[0])
        atoll_print(out, "  %s\n", s->space);
    for (size_t i = 0; i < s->job_count; i++)
        if (!atoll_job_has_ended(s->jobs[i].state))
            job_print(&s->jobs[i], out);
    if (s->sweep && !s->jobs_trouble[0] && s->jobs_age_s > AGE_TOLD_S && s->phase != ATOLL_PHASE_DONE) {
        atoll_print(out, "  jobs are as of %s ago; --fresh asks the scheduler now\n",
                    atoll_duration_text(s->jobs_age_s * 1e9, age, sizeof(age)));
    }
    if (s->jobs_trouble[0] && s->jobs_age_s < HUGE_VAL) {
        atoll_print(out, "  the scheduler did not answer (%s); jobs are as of %s ago\n", s->jobs_trouble,
                    atoll_duration_text(s->jobs_age_s * 1e9, age, sizeof(age)));
    }
    if (s->sweep)
        history_print(s->sweep, out);
    atoll_campaign_progress_view_print(out, s->rows, s->part_count, by_task || !s->sweep,
                                       atoll_clock_unix_ns());
}

/* ---- for programs ---- */

static json_t *job_json(const struct atoll_job *job)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:i, s:I, s:I, s:I}", "job", job->id, "state",
                     atoll_job_state_name(job->state), "reason", atoll_json_text(job->reason), "nodes",
                     atoll_json_text(job->nodes), "restarts", (int)job->restart_count, "submit_unix_s",
                     (json_int_t)job->submit_unix_s, "start_unix_s", (json_int_t)job->start_unix_s,
                     "end_unix_s", (json_int_t)job->end_unix_s);
}

json_t *atoll_campaign_status_json(const struct atoll_campaign_status *s)
{
    json_t *jobs = json_array(), *object;

    for (size_t i = 0; i < s->job_count; i++)
        json_array_append_new(jobs, job_json(&s->jobs[i]));
    object =
        json_pack("{s:o, s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "campaign", atoll_json_text(s->dir), "id",
                  s->id, "kind", s->sweep ? "submitted" : "run", "phase", atoll_campaign_phase_name(s->phase),
                  "why", atoll_json_text(s->why), "space", atoll_json_text(s->space), "jobs", jobs,
                  "jobs_age_s", s->jobs_age_s < HUGE_VAL ? json_real(s->jobs_age_s) : json_null());
    if (object) {
        json_object_update_missing_new(
            object, atoll_campaign_progress_view_json(s->rows, s->part_count, atoll_clock_unix_ns()));
    }
    return object;
}
