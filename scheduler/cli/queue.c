/* queue.c - `atoll queue`: the user's campaigns that want jobs, and their places. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/print.h"
#include "scheduler/job/job_submitter.h"
#include "scheduler/campaign/campaign_queue.h"
#include "scheduler/campaign/sweep.h"
#include "scheduler/cli/command.h"

struct queue_settings {
    double priority, share;
    int submit, json;
};

#define FIELD(name) offsetof(struct queue_settings, name)

static const struct atoll_option queue_options[] = {
    {"priority", 0, ATOLL_OPT_DOUBLE, FIELD(priority), "X", NULL, 0, 1e6, NULL,
     "Give the named campaigns this priority: higher ones get their jobs first."},
    {"share", 0, ATOLL_OPT_DOUBLE, FIELD(share), "X", NULL, 1e-6, 1e6, NULL,
     "Give the named campaigns this share: jobs are divided in this ratio among campaigns of one priority."},
    {"submit", 0, ATOLL_OPT_FLAG, FIELD(submit), NULL, NULL, 0, 0, NULL,
     "Also submit what the campaigns want, as far as limits allow."},
    {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL, "As JSON."},
    {0}};

static const struct atoll_command queue_command = {
    "queue",
    "[CAMPAIGN...]",
    "list campaigns that want jobs, or change their places",
    "Without arguments lists the campaigns that you have submitted and that are not done, in the order in "
    "which they get "
    "jobs. With campaigns and --priority or --share their places are changed. There is no daemon: jobs are "
    "submitted by "
    "`atoll submit`, `resume`, `continue`, `watch`, by jobs that end, and by --submit.",
    "atoll queue\natoll queue /scratch/me/tonight --priority 5 --submit",
    queue_options,
    NULL};

static const char *state_of(const struct atoll_campaign_queue_entry *entry)
{
    int is_there = atoll_sweep_look(entry->campaign);

    if (is_there <= 0)
        return is_there < 0 ? "unseen" : "gone";
    if (atoll_sweep_is_done(entry->campaign))
        return "done";
    if (atoll_sweep_waits_for((const char *const *)(uintptr_t)entry->after, entry->after_count))
        return "waits";
    return atoll_sweep_is_marked(entry->campaign, ATOLL_SWEEP_PAUSED) ? "paused" : "open";
}

static void print_text(const struct atoll_campaign_queue *queue)
{
    if (queue->count == 0) {
        puts("no campaign wants jobs");
        return;
    }
    atoll_print(stdout, "%-8s %-8s %-7s %s\n", "priority", "share", "state", "campaign");
    for (size_t i = 0; i < queue->count; i++) {
        const struct atoll_campaign_queue_entry *e = &queue->entries[i];

        atoll_print(stdout, "%-8g %-8g %-7s %s\n", e->priority, e->share, state_of(e), e->campaign);
        for (size_t k = 0; k < e->after_count; k++)
            atoll_print(stdout, "%26safter %s\n", "", e->after[k]);
    }
}

static void print_json(const struct atoll_campaign_queue *queue)
{
    json_t *list = json_array();

    for (size_t i = 0; i < queue->count; i++) {
        const struct atoll_campaign_queue_entry *e = &queue->entries[i];
        json_t *after = json_array();

        for (size_t k = 0; k < e->after_count; k++)
            json_array_append_new(after, atoll_json_text(e->after[k]));
        json_array_append_new(list, json_pack("{s:s, s:o, s:f, s:f, s:s, s:o}", "id", e->id, "campaign",
                                              atoll_json_text(e->campaign), "priority", e->priority, "share",
                                              e->share, "state", state_of(e), "after", after));
    }
    atoll_json_print(list, JSON_INDENT(2), stdout);
}

static int place_change(const struct queue_settings *settings, const struct atoll_campaign_queue *queue,
                        const char *dir, struct atoll_err *err)
{
    struct atoll_sweep *sweep = atoll_sweep_open(dir, err);
    const struct atoll_campaign_queue_entry *found =
        sweep ? atoll_campaign_queue_find(queue, sweep->id) : NULL;
    struct atoll_campaign_queue_entry entry;

    atoll_sweep_close(sweep);
    if (!sweep)
        return -1;
    if (!found) {
        return atoll_err_set(err, ATOLL_E_NOTFOUND, "%s: is not in the queue; atoll resume puts it there",
                             dir);
    }
    entry = *found;
    entry.priority = isnan(settings->priority) ? entry.priority : settings->priority;
    entry.share = isnan(settings->share) ? entry.share : settings->share;
    return atoll_campaign_queue_put(&entry, err);
}

static int run_queue(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    const struct queue_settings *settings = given;
    const struct atoll_job_submitter_settings jobs = {.log = settings->json ? NULL : stdout};
    struct atoll_job_submitter_result result;
    struct atoll_campaign_queue queue;
    int status;

    if ((count > 0) == (isnan(settings->priority) && isnan(settings->share))) {
        return atoll_err_set(err, ATOLL_E_USAGE,
                             "atoll queue: name campaigns together with --priority or --share, or neither");
    }
    status = atoll_campaign_queue_load(&queue, err);
    if (status != 0)
        return -1;
    for (size_t i = 0; i < count && status == 0; i++)
        status = place_change(settings, &queue, arguments[i], err);
    atoll_campaign_queue_fini(&queue);
    if (status == 0 && settings->submit)
        status = atoll_job_submitter_run(&jobs, &result, err);
    if (status != 0 || atoll_campaign_queue_load(&queue, err) != 0)
        return -1;
    if (settings->json)
        print_json(&queue);
    else
        print_text(&queue);
    atoll_campaign_queue_fini(&queue);
    return 0;
}

static const struct queue_settings defaults = {.priority = NAN, .share = NAN};

const struct atoll_subcommand atoll_command_queue = {.command = &queue_command,
                                                     .settings_bytes = sizeof(defaults),
                                                     .defaults = &defaults,
                                                     .most = 64,
                                                     .run = run_queue};
