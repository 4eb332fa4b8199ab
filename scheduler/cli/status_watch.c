/* status_watch.c - `atoll status` and `atoll watch`. */
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/print.h"
#include "scheduler/campaign/campaign_status.h"
#include "base/json.h"
#include "scheduler/job/job_submitter.h"
#include "scheduler/campaign/campaign_queue.h"
#include "scheduler/cli/command.h"

#define CAMPAIGN_LIMIT 256
#define SUBMIT_S       300.0 /* between two looks of `watch` at what could be submitted */
#define PICTURE_BYTES  ((size_t)1 << 18)
#define START_S        20.0 /* so long a new campaign may take to begin */

struct status_settings {
    double interval_s, call_timeout_s;
    int tasks, fresh, json;
};

#define FIELD(name)  offsetof(struct status_settings, name)
#define TASKS_HELP   "A line for each task, not for each part; of campaigns of `atoll run` always."
#define TIMEOUT_HELP "What one call to the scheduler may take."

/* ---- which ones ---- */

struct folders {
    char *dirs[CAMPAIGN_LIMIT];
    size_t count;
};

static int folders_add(struct folders *folders, const char *dir, struct atoll_err *err)
{
    if (folders->count == CAMPAIGN_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "more than %d campaigns at once; name some", CAMPAIGN_LIMIT);
    folders->dirs[folders->count] = strdup(dir);
    return folders->dirs[folders->count++] ? 0 : atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a path");
}

/* Those that were named, else those in the queue. */
static int folders_find(const char *const *dirs, size_t count, struct folders *folders, struct atoll_err *err)
{
    struct atoll_campaign_queue queue;
    int status = 0;

    for (size_t i = 0; i < count && status == 0; i++)
        status = folders_add(folders, dirs[i], err);
    if (count > 0 || status != 0)
        return status;
    status = atoll_campaign_queue_load(&queue, err);
    if (status != 0)
        return -1;
    for (size_t i = 0; i < queue.count && status == 0; i++) {
        status = atoll_sweep_is(queue.entries[i].campaign)
                     ? folders_add(folders, queue.entries[i].campaign, err)
                     : 0;
    }
    atoll_campaign_queue_fini(&queue);
    return status;
}

static void folders_fini(struct folders *folders)
{
    for (size_t i = 0; i < folders->count; i++)
        free(folders->dirs[i]);
}

/* ---- status ---- */

/* For how long the lease of a campaign of `atoll run` has stood still. */
static double silent_s(const char *dir, struct atoll_lease_watch *watch)
{
    struct atoll_lease_holder self;
    struct atoll_lease_seen seen;

    atoll_lease_holder_self("watch", 0, &self);
    return atoll_lease_look(dir, &self, &seen, NULL) == 0
               ? atoll_lease_watch_note(watch, &seen, atoll_clock_mono_ns())
               : 0;
}

/* What is to be expected of all of them together. */
struct outlook {
    size_t ended;  /* done or cancelled */
    size_t asleep; /* nothing happens to them until somebody does something */
    size_t idle;   /* submitted, without a job: watch itself may submit one */
    size_t active;
};

/* Whether it was made a moment ago and nobody has begun with it: its process may be about to. */
static int is_about_to_begin(const struct atoll_campaign_status *s)
{
    char path[PATH_MAX];
    struct stat st;

    return !s->sweep && s->rows[0].progress && s->rows[0].progress->phase == ATOLL_CAMPAIGN_PROGRESS_FRESH &&
           snprintf(path, sizeof(path), "%s/campaign.yaml", s->dir) < (int)sizeof(path) &&
           stat(path, &st) == 0 && difftime(time(NULL), st.st_mtime) < START_S;
}

static void outlook_add(struct outlook *outlook, const struct atoll_campaign_status *s)
{
    switch (s->phase) {
    case ATOLL_PHASE_DONE:
    case ATOLL_PHASE_CANCELLED: outlook->ended++; break;
    case ATOLL_PHASE_PAUSED: outlook->asleep++; break;
    case ATOLL_PHASE_IDLE:
        if (is_about_to_begin(s))
            outlook->active++;
        else if (s->sweep)
            outlook->idle++;
        else
            outlook->asleep++;
        break;
    default: outlook->active++; break;
    }
}

static int status_one(const struct status_settings *settings, const char *dir,
                      struct atoll_lease_watch *watch, json_t *list, struct outlook *outlook,
                      struct atoll_err *err)
{
    struct atoll_sweep *sweep = atoll_sweep_is(dir) ? atoll_sweep_open(dir, err) : NULL;
    struct atoll_campaign_status status;
    int failed;

    if (sweep)
        failed = atoll_campaign_status_read(sweep, settings->fresh ? 0 : -1, settings->call_timeout_s,
                                            &status, err) != 0;
    else
        failed = err->code || atoll_campaign_status_read_run(dir, silent_s(dir, watch), &status, err) != 0;
    if (!failed) {
        outlook_add(outlook, &status);
        if (list)
            json_array_append_new(list, atoll_campaign_status_json(&status));
        else
            atoll_campaign_status_print(&status, settings->tasks, stdout);
        atoll_campaign_status_fini(&status);
    }
    atoll_sweep_close(sweep);
    return failed ? -1 : 0;
}

static int status_each(const struct status_settings *settings, const struct folders *folders,
                       struct atoll_lease_watch *leases, json_t *list, struct outlook *ret_outlook,
                       struct atoll_err *err)
{
    size_t troubles = 0;

    *ret_outlook = (struct outlook){0};
    for (size_t i = 0; i < folders->count; i++) {
        struct atoll_err own = ATOLL_ERR_INIT;

        if (i > 0 && !list)
            putchar('\n');
        if (status_one(settings, folders->dirs[i], &leases[i], list, ret_outlook, &own) == 0)
            continue;
        *err = own;
        troubles++;
        if (folders->count > 1) {
            if (list) { /* a line among the others */
                json_array_append_new(list,
                                      json_pack("{s:o, s:o}", "campaign", atoll_json_text(folders->dirs[i]),
                                                "trouble", atoll_json_text(own.text)));
            } else {
                atoll_print(stdout, "%s\n", own.text);
            }
        }
    }
    return folders->count > 0 && troubles == folders->count ? -1 : 0;
}

static int status_all(const struct status_settings *settings, const struct folders *folders,
                      struct atoll_lease_watch *leases, struct outlook *ret_outlook, struct atoll_err *err)
{
    json_t *list = settings->json ? json_array() : NULL;
    struct atoll_err own = ATOLL_ERR_INIT;
    int status = status_each(settings, folders, leases, list, ret_outlook, &own);

    if (status != 0)
        *err = own;
    else if (list)
        atoll_json_print(json_incref(list), JSON_INDENT(2), stdout);
    json_decref(list);
    return status;
}

static const struct atoll_option status_options[] = {
    {"tasks", 0, ATOLL_OPT_FLAG, FIELD(tasks), NULL, NULL, 0, 0, NULL, TASKS_HELP},
    {"call-timeout", 0, ATOLL_OPT_DURATION, FIELD(call_timeout_s), "TIME", "10s", 1, 3600, NULL,
     TIMEOUT_HELP},
    {"fresh", 0, ATOLL_OPT_FLAG, FIELD(fresh), NULL, NULL, 0, 0, NULL,
     "Ask the scheduler now, also when it was asked a moment ago."},
    {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL, "As JSON: a list of campaigns."},
    {0}};

static const struct atoll_command status_command = {
    "status",
    "[CAMPAIGN...]",
    "say how far campaigns are, and why nothing runs",
    "Of campaigns of `atoll run`, also while one runs in another terminal, and of submitted ones; only "
    "looks. Without arguments all "
    "campaigns in your queue. Results are counted from the journals, times of kernels are at most ten "
    "seconds old. Where the disk that holds a campaign is full it says so, and what to do. The scheduler "
    "is asked once for all campaigns, and at most once in the poll interval of the site's profile: in "
    "between the last answer "
    "is told again.",
    "atoll status my-campaign\natoll status\natoll status /scratch/me/tonight --tasks\natoll status --json",
    status_options,
    NULL};

static int run_status(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    const struct status_settings *settings = given;
    struct atoll_lease_watch leases[CAMPAIGN_LIMIT] = {{0}};
    struct folders folders = {.count = 0};
    struct outlook outlook;
    int status = folders_find(arguments, count, &folders, err);

    if (status == 0 && folders.count == 0 && !settings->json)
        puts("no campaign is in the queue; name one, or submit one: atoll submit SUITE -o DIR");
    else if (status == 0)
        status = status_all(settings, &folders, leases, &outlook, err);
    folders_fini(&folders);
    return status;
}

const struct atoll_subcommand atoll_command_status = {.command = &status_command,
                                                      .settings_bytes = sizeof(struct status_settings),
                                                      .most = CAMPAIGN_LIMIT,
                                                      .run = run_status};

/* ---- watch ---- */

static const struct atoll_option watch_options[] = {
    {"tasks", 0, ATOLL_OPT_FLAG, FIELD(tasks), NULL, NULL, 0, 0, NULL, TASKS_HELP},
    {"call-timeout", 0, ATOLL_OPT_DURATION, FIELD(call_timeout_s), "TIME", "10s", 1, 3600, NULL,
     TIMEOUT_HELP},
    {"interval", 0, ATOLL_OPT_DURATION, FIELD(interval_s), "TIME", "10s", 1, 3600, NULL,
     "Between two looks at the journals; the scheduler is asked as rarely as `atoll status` does."},
    {0}};

static const struct atoll_command watch_command = {
    "watch",
    "[CAMPAIGN...]",
    "follow campaigns until nothing happens to them any more",
    "Prints what `atoll status` prints again and again, of campaigns of `atoll run` in other terminals too. "
    "It ends, and says why, "
    "when nothing will happen any more: every campaign is done, cancelled, paused, or was left by its "
    "process. While it follows "
    "submitted campaigns, jobs that they still want are submitted every five minutes.",
    "atoll watch my-campaign\natoll watch /scratch/me/tonight",
    watch_options,
    NULL};

/* Submits what campaigns still want.  1: something may come of it; 0: nothing was wanted or nobody could be asked. */
static int submit_wanted(const struct status_settings *settings)
{
    const struct atoll_job_submitter_settings jobs = {.timeout_s = settings->call_timeout_s};
    struct atoll_job_submitter_result result;
    struct atoll_err err = ATOLL_ERR_INIT;

    if (atoll_job_submitter_run(&jobs, &result, &err) != 0) {
        atoll_print(stderr, "atoll: warning: %s\n", err.text);
        return err.code == ATOLL_E_BUSY || err.code == ATOLL_E_TIMEOUT;
    }
    return result.submitted + result.wanted + result.ending > 0;
}

static int watch_loop(const struct status_settings *settings, const struct folders *folders,
                      struct atoll_err *err)
{
    double submitted_ns = atoll_clock_mono_ns();
    int has_asked = 0, is_hopeless = 0, has_sweeps = 0;
    /* how long leases of campaigns of `atoll run` stand still, as far as this process has watched */
    struct atoll_lease_watch leases[CAMPAIGN_LIMIT] = {{0}};
    struct outlook outlook;

    for (size_t i = 0; i < folders->count; i++)
        has_sweeps |= atoll_sweep_is(folders->dirs[i]);
    if (isatty(STDOUT_FILENO))
        setvbuf(stdout, NULL, _IOFBF, PICTURE_BYTES); /* a picture is one write */
    for (;;) {
        if (isatty(STDOUT_FILENO))
            fputs("\033[H\033[2J", stdout);
        if (status_all(settings, folders, leases, &outlook, err) != 0)
            return -1;
        if (outlook.active == 0 && (outlook.idle == 0 || is_hopeless))
            break;
        fflush(stdout);
        if (ferror(stdout))
            return 0;
        /* When all wait for a job it is asked for at once, and then as seldom as while some run. */
        if (outlook.active > 0)
            has_asked = is_hopeless = 0;
        if (has_sweeps && ((outlook.active == 0 && outlook.idle > 0 && !has_asked) ||
                           atoll_clock_mono_ns() - submitted_ns >= SUBMIT_S * 1e9)) {
            submitted_ns = atoll_clock_mono_ns();
            has_asked = outlook.active == 0;
            is_hopeless = !submit_wanted(settings) && has_asked;
        }
        usleep((useconds_t)(settings->interval_s * 1e6));
    }
    puts(outlook.asleep + outlook.idle == 0
             ? "\nNothing more will happen: watch ends."
             : "\nNothing more will happen until somebody acts on what is said above: watch ends.");
    return 0;
}

static int run_watch(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    const struct status_settings *settings = given;
    struct folders folders = {.count = 0};
    int status = folders_find(arguments, count, &folders, err);

    if (status == 0 && folders.count == 0)
        puts("no campaign is in the queue");
    else if (status == 0)
        status = watch_loop(settings, &folders, err);
    folders_fini(&folders);
    return status;
}

const struct atoll_subcommand atoll_command_watch = {.command = &watch_command,
                                                     .settings_bytes = sizeof(struct status_settings),
                                                     .most = CAMPAIGN_LIMIT,
                                                     .run = run_watch};
