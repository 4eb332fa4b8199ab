/* status_watch.c - `atoll status` and `atoll watch`. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

struct status_settings {
    double interval_s, call_timeout_s;
    int tasks, fresh, json;
};

#define FIELD(name) offsetof(struct status_settings, name)
#define COMMON_ROWS                                                                                          \
    {"tasks",                                                                                                \
     0,                                                                                                      \
     ATOLL_OPT_FLAG,                                                                                         \
     FIELD(tasks),                                                                                           \
     NULL,                                                                                                   \
     NULL,                                                                                                   \
     0,                                                                                                      \
     0,                                                                                                      \
     NULL,                                                                                                   \
     "A line for each task, not for each part."},                                                            \
    {                                                                                                        \
        "call-timeout", 0, ATOLL_OPT_DURATION, FIELD(call_timeout_s), "TIME", "10s", 1, 3600, NULL,          \
            "What one call to the scheduler may take."                                                       \
    }

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

static int status_one(const struct status_settings *settings, const char *dir, json_t *list,
                      enum atoll_campaign_phase *ret_phase, struct atoll_err *err)
{
    struct atoll_sweep *sweep = atoll_sweep_open(dir, err);
    struct atoll_campaign_status status;
    int failed = !sweep || atoll_campaign_status_read(sweep, settings->fresh ? 0 : -1,
                                                      settings->call_timeout_s, &status, err) != 0;

    if (!failed) {
        *ret_phase = status.phase;
        if (list)
            json_array_append_new(list, atoll_campaign_status_json(&status));
        else
            atoll_campaign_status_print(&status, settings->tasks, stdout);
        atoll_campaign_status_fini(&status);
    }
    atoll_sweep_close(sweep);
    return failed ? -1 : 0;
}

static int status_each(const struct status_settings *settings, const struct folders *folders, json_t *list,
                       int *ret_all_done, struct atoll_err *err)
{
    size_t troubles = 0;

    *ret_all_done = 1;
    for (size_t i = 0; i < folders->count; i++) {
        enum atoll_campaign_phase phase = ATOLL_PHASE_IDLE;
        struct atoll_err own = ATOLL_ERR_INIT;

        if (i > 0 && !list)
            putchar('\n');
        if (status_one(settings, folders->dirs[i], list, &phase, &own) == 0) {
            *ret_all_done &= phase == ATOLL_PHASE_DONE || phase == ATOLL_PHASE_CANCELLED;
            continue;
        }
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
                      int *ret_all_done, struct atoll_err *err)
{
    json_t *list = settings->json ? json_array() : NULL;
    struct atoll_err own = ATOLL_ERR_INIT;
    int status = status_each(settings, folders, list, ret_all_done, &own);

    if (status != 0)
        *err = own;
    else if (list)
        atoll_json_print(json_incref(list), JSON_INDENT(2), stdout);
    json_decref(list);
    return status;
}

static const struct atoll_option status_options[] = {
    COMMON_ROWS,
    {"fresh", 0, ATOLL_OPT_FLAG, FIELD(fresh), NULL, NULL, 0, 0, NULL,
     "Ask the scheduler now, also when it was asked a moment ago."},
    {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL, "As JSON: a list of campaigns."},
    {0}};

static const struct atoll_command status_command = {
    "status",
    "[CAMPAIGN...]",
    "say how far submitted campaigns are, and why nothing runs",
    "Without arguments all campaigns in your queue. Results are counted from the journals; the scheduler is "
    "asked once for "
    "all campaigns, and at most once in the poll interval of the site's profile: in between the last answer "
    "is told again.",
    "atoll status\natoll status /scratch/me/tonight --tasks\natoll status --json",
    status_options,
    NULL};

static int run_status(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    const struct status_settings *settings = given;
    struct folders folders = {.count = 0};
    int all_done, status = folders_find(arguments, count, &folders, err);

    if (status == 0 && folders.count == 0 && !settings->json)
        puts("no campaign is in the queue; name one, or submit one: atoll submit SUITE -o DIR");
    else if (status == 0)
        status = status_all(settings, &folders, &all_done, err);
    folders_fini(&folders);
    return status;
}

const struct atoll_subcommand atoll_command_status = {.command = &status_command,
                                                      .settings_bytes = sizeof(struct status_settings),
                                                      .most = CAMPAIGN_LIMIT,
                                                      .run = run_status};

/* ---- watch ---- */

static const struct atoll_option watch_options[] = {
    COMMON_ROWS,
    {"interval", 0, ATOLL_OPT_DURATION, FIELD(interval_s), "TIME", "10s", 1, 3600, NULL,
     "Between two looks at the journals; the scheduler is asked as rarely as `atoll status` does."},
    {0}};

static const struct atoll_command watch_command = {
    "watch",
    "[CAMPAIGN...]",
    "follow submitted campaigns until they are done",
    "Prints what `atoll status` prints again and again, until every named campaign is done or cancelled. "
    "While it runs, jobs "
    "that campaigns still want are submitted every five minutes.",
    "atoll watch /scratch/me/tonight",
    watch_options,
    NULL};

static int watch_loop(const struct status_settings *settings, const struct folders *folders,
                      struct atoll_err *err)
{
    const struct atoll_job_submitter_settings jobs = {.timeout_s = settings->call_timeout_s};
    double submitted_ns = atoll_clock_mono_ns();
    int all_done = 0, is_terminal = isatty(STDOUT_FILENO);

    for (;;) {
        if (is_terminal)
            fputs("\033[H\033[2J", stdout);
        if (status_all(settings, folders, &all_done, err) != 0)
            return -1;
        fflush(stdout);
        if (all_done || ferror(stdout))
            return 0;
        if (atoll_clock_mono_ns() - submitted_ns >= SUBMIT_S * 1e9) {
            struct atoll_job_submitter_result result;
            struct atoll_err own = ATOLL_ERR_INIT;

            submitted_ns = atoll_clock_mono_ns();
            if (atoll_job_submitter_run(&jobs, &result, &own) != 0)
                atoll_print(stderr, "atoll: warning: %s\n", own.text);
        }
        usleep((useconds_t)(settings->interval_s * 1e6));
    }
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
