/* pause_continue_cancel.c - `atoll pause`, `atoll continue`, `atoll cancel` of submitted campaigns. */
#include "scheduler/cli/continue.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "scheduler/campaign/finalize.h"
#include "base/file.h"
#include "base/print.h"
#include "scheduler/job/job_submitter.h"
#include "scheduler/campaign/campaign_queue.h"
#include "scheduler/campaign/sweep_jobs.h"
#include "scheduler/cli/command.h"

struct control_settings {
    double call_timeout_s;
    int now, json;
};

#define END_WAIT_S  60
#define FIELD(name) offsetof(struct control_settings, name)
#define CALL_TIMEOUT_ROW                                                                                     \
    {                                                                                                        \
        "call-timeout", 0, ATOLL_OPT_DURATION, FIELD(call_timeout_s), "TIME", "30s", 1, 3600, NULL,          \
            "What one call to the scheduler may take."                                                       \
    }

/* ---- each command on one campaign ---- */

static int cancel_one(const struct control_settings *settings, const struct atoll_sweep *sweep,
                      struct atoll_err *err)
{
    unsigned count;

    if (atoll_sweep_mark(sweep->dir, ATOLL_SWEEP_CANCELLED, 1, err) != 0 ||
        atoll_campaign_queue_remove(sweep->id, err) != 0 ||
        atoll_sweep_jobs_cancel(sweep, settings->call_timeout_s, 0, &count, err) != 0) {
        return -1;
    }
    atoll_sweep_record(sweep->dir, "user", "cancelled", "%u jobs were cancelled", count);
    if (atoll_finalize(sweep, 1, err) < 0)
        return -1;
    atoll_print(
        stdout,
        "%s: cancelled, %u jobs; what was measured is in archive.h5 and report.html; atoll resume goes on\n",
        sweep->dir, count);
    return 0;
}

static int pause_one(const struct control_settings *settings, const struct atoll_sweep *sweep,
                     struct atoll_err *err)
{
    unsigned count = 0;

    if (atoll_sweep_mark(sweep->dir, ATOLL_SWEEP_PAUSED, 1, err) != 0 ||
        atoll_sweep_jobs_cancel(sweep, settings->call_timeout_s, !settings->now, &count, err) != 0) {
        return -1;
    }
    atoll_sweep_record(sweep->dir, "user", "paused", "%u jobs were taken out of the queue", count);
    atoll_print(stdout, "%s: paused; %u jobs cancelled%s\n", sweep->dir, count,
                settings->now ? "" : ", running ones end when what is under way has come back");
    return 0;
}

static int queue_again(const struct atoll_sweep *sweep, struct atoll_err *err)
{
    struct atoll_campaign_queue_entry entry = {.id = (char *)(uintptr_t)sweep->id,
                                               .campaign = (char *)(uintptr_t)sweep->dir,
                                               .priority = sweep->priority,
                                               .share = sweep->share,
                                               .after = (char **)(uintptr_t)sweep->after,
                                               .after_count = sweep->after_count,
                                               .added_unix_s = (int64_t)time(NULL)};
    const struct atoll_campaign_queue_entry *there;
    struct atoll_campaign_queue queue;
    int status = 0;

    if (atoll_campaign_queue_load(&queue, err) != 0)
        return -1;
    there = atoll_campaign_queue_find(&queue, sweep->id);
    if (!there || strcmp(there->campaign, sweep->dir) != 0) { /* its folder was moved */
        entry.priority = there ? there->priority : entry.priority;
        entry.share = there ? there->share : entry.share;
        status = atoll_campaign_queue_put(&entry, err);
    }
    atoll_campaign_queue_fini(&queue);
    return status;
}

/* Jobs that were cancelled a moment ago are still in the scheduler's list. */
static int submit_wanted(const struct atoll_job_submitter_settings *settings,
                         struct atoll_job_submitter_result *ret_result, struct atoll_err *err)
{
    int status = atoll_job_submitter_run(settings, ret_result, err);

    for (int i = 0; i < END_WAIT_S && status == 0 && ret_result->submitted == 0 && ret_result->ending > 0;
         i++) {
        if (i == 0)
            fprintf(settings->log, "%u jobs of it are about to end: waits for them\n", ret_result->ending);
        sleep(1);
        status = atoll_job_submitter_run(settings, ret_result, err);
    }
    return status;
}

int atoll_continue_campaign(const struct atoll_sweep *sweep, double timeout_s, FILE *out,
                            struct atoll_err *err)
{
    const struct atoll_job_submitter_settings settings = {
        .mine = sweep->id, .timeout_s = timeout_s, .log = out};
    struct atoll_job_submitter_result result;
    struct atoll_err waiting = ATOLL_ERR_INIT;
    int done;

    if (atoll_sweep_mark(sweep->dir, ATOLL_SWEEP_PAUSED, 0, err) != 0 ||
        atoll_sweep_mark(sweep->dir, ATOLL_SWEEP_CANCELLED, 0, err) != 0) {
        return -1;
    }
    done = atoll_finalize(sweep, 0, err);
    if (done != 0) {
        if (done > 0) {
            atoll_print(out, "%s: every part has ended; archive.h5 and report.html are there\n", sweep->dir);
            if (atoll_job_submitter_run(&settings, &result, &waiting) != 0) {
                atoll_print(stderr, "atoll: warning: campaigns that waited for this one got no jobs: %s\n",
                            waiting.text);
            }
        }
        return done > 0 ? 0 : -1;
    }
    if (queue_again(sweep, err) != 0 || submit_wanted(&settings, &result, err) != 0)
        return -1;
    atoll_print(out, "%s: %u jobs submitted, %u more are wanted\n", sweep->dir, result.submitted,
                result.wanted);
    return 0;
}

static int continue_one(const struct control_settings *settings, const struct atoll_sweep *sweep,
                        struct atoll_err *err)
{
    atoll_sweep_record(sweep->dir, "user", "continued", "goes on");
    return atoll_continue_campaign(sweep, settings->call_timeout_s, stdout, err);
}

/* ---- the commands ---- */

typedef int control_one(const struct control_settings *settings, const struct atoll_sweep *sweep,
                        struct atoll_err *err);

static int run_each(control_one *one, const struct control_settings *settings, const char *const *dirs,
                    size_t count, struct atoll_err *err)
{
    size_t failed = 0;

    for (size_t i = 0; i < count; i++) {
        struct atoll_err own = ATOLL_ERR_INIT;
        struct atoll_sweep *sweep = atoll_sweep_open(dirs[i], &own);

        if (!sweep || one(settings, sweep, &own) != 0) {
            *err = own;
            failed++;
        }
        atoll_sweep_close(sweep);
    }
    if (failed > 1)
        atoll_err_add(err, "as one of %zu that failed", failed);
    return failed == 0 ? 0 : -1;
}

#define CONTROL(name)                                                                                        \
    {                                                                                                        \
        .command = &name##_command, .settings_bytes = sizeof(struct control_settings), .least = 1,           \
        .most = 64, .missing = "name the campaign's folder", .run = run_##name                               \
    }

static const struct atoll_option cancel_options[] = {CALL_TIMEOUT_ROW, {0}};
static const struct atoll_command cancel_command = {
    "cancel",
    "CAMPAIGN...",
    "cancel a submitted campaign's jobs",
    "Cancels every job of the campaign and takes it out of the queue. Nothing acknowledged is lost: what was "
    "measured goes "
    "into archive.h5 and report.html, and `atoll resume` goes on later.",
    "atoll cancel /scratch/me/tonight",
    cancel_options,
    NULL};
static int run_cancel(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    return run_each(cancel_one, given, arguments, count, err);
}
const struct atoll_subcommand atoll_command_cancel = CONTROL(cancel);

static const struct atoll_option pause_options[] = {
    CALL_TIMEOUT_ROW,
    {"now", 0, ATOLL_OPT_FLAG, FIELD(now), NULL, NULL, 0, 0, NULL,
     "Cancel running jobs too, instead of letting what is under way come back."},
    {0}};
static const struct atoll_command pause_command = {
    "pause",
    "CAMPAIGN...",
    "let a submitted campaign rest",
    "Waiting jobs of the campaign leave the queue; running ones send nothing more to their devices, wait for "
    "what is under "
    "way, close their journals and end. No job of it is submitted until `atoll continue`.",
    "atoll pause /scratch/me/tonight\natoll continue /scratch/me/tonight",
    pause_options,
    NULL};
static int run_pause(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    return run_each(pause_one, given, arguments, count, err);
}
const struct atoll_subcommand atoll_command_pause = CONTROL(pause);

static const struct atoll_option continue_options[] = {CALL_TIMEOUT_ROW, {0}};
static const struct atoll_command continue_command = {
    "continue",
    "CAMPAIGN...",
    "let a paused campaign go on",
    "Removes what `atoll pause` or `atoll cancel` left and submits the jobs that the campaign wants.",
    "atoll continue /scratch/me/tonight",
    continue_options,
    NULL};
static int run_continue(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    return run_each(continue_one, given, arguments, count, err);
}
const struct atoll_subcommand atoll_command_continue = CONTROL(continue);
