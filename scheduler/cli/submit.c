/* submit.c - `atoll submit`: makes a campaign of parts and puts its first jobs into the queue.
 * Once its folder is in place everything can be done again (atoll resume). */
#include "scheduler/cli/command.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/print.h"
#include "base/units.h"
#include "scheduler/campaign/batch_script.h"
#include "base/json.h"
#include "scheduler/job/job_submitter.h"
#include "scheduler/campaign/campaign_queue.h"
#include "scheduler/campaign/submission.h"
#include "scheduler/campaign/sweep_jobs.h"

struct submit_settings {
    struct atoll_submission_settings make; /* first: begins with submit_command's shared rows */
    double call_timeout_s;
    int dry_run, json;
};

#define FIELD(name) offsetof(struct submit_settings, name)

static const struct atoll_option submit_options[] = {
    {"output", 'o', ATOLL_OPT_TEXT, FIELD(make.out), "DIR", NULL, 0, 0, NULL,
     "Folder of the campaign, on a file system that all nodes see; must not hold anything yet."},
    {"site", 0, ATOLL_OPT_TEXT, FIELD(make.site), "PROFILE", NULL, 0, 0, NULL,
     "How this cluster wants its jobs: the name of a profile in jobscripts/sites or a file; ATOLL_SITE, else "
     "generic-slurm, when not given, and local where no Slurm has a cluster."},
    {"nodes", 'N', ATOLL_OPT_INT, FIELD(make.nodes), "N", "1", 1, 100000, NULL, "Nodes of each job."},
    {"gpus-per-node", 0, ATOLL_OPT_INT, FIELD(make.gpus_per_node), "N", "0", 0, 1024, NULL,
     "GPUs to ask for on each node; each gets an evaluator. 0 is what the profile says."},
    {"evaluators-per-node", 0, ATOLL_OPT_INT, FIELD(make.evaluators_per_node), "N", "0", 0, 1024, NULL,
     "Evaluators on each node; 0 is one for each GPU, or one."},
    {"time", 't', ATOLL_OPT_DURATION, FIELD(make.time_s), "TIME", "1h", 60, 1e8, NULL,
     "Time limit of each job (30m, 2h, 1-12:00:00). A campaign that needs longer goes on in the next job."},
    {"partition", 'p', ATOLL_OPT_TEXT, FIELD(make.partition), "NAME", NULL, 0, 0, NULL, "Partition."},
    {"account", 'A', ATOLL_OPT_TEXT, FIELD(make.account), "NAME", NULL, 0, 0, NULL, "Account that pays."},
    {"qos", 'q', ATOLL_OPT_TEXT, FIELD(make.qos), "NAME", NULL, 0, 0, NULL, "Quality of service."},
    {"constraint", 'C', ATOLL_OPT_TEXT, FIELD(make.constraint), "FEATURES", NULL, 0, 0, NULL,
     "Features that nodes must have."},
    {"jobs", 'j', ATOLL_OPT_INT, FIELD(make.jobs), "N", "1", 1, 4096, NULL,
     "Jobs that work on the campaign at once, each an MPI application over its nodes that evolves many "
     "tasks."},
    {"tasks-per-part", 0, ATOLL_OPT_INT, FIELD(make.tasks_per_part), "N", "0", 0, 4096, NULL,
     "Tasks that share one search, and that a job takes at once; 0 makes as many parts as jobs."},
    {"max-queued", 0, ATOLL_OPT_INT, FIELD(make.max_queued), "N", "0", 0, 100000, NULL,
     "Most jobs of yours in the queue, all campaigns together; 0 is what the profile says."},
    {"priority", 0, ATOLL_OPT_DOUBLE, FIELD(make.priority), "X", "0", 0, 1e6, NULL,
     "Among your campaigns: higher ones get their jobs first."},
    {"share", 0, ATOLL_OPT_DOUBLE, FIELD(make.share), "X", "1", 1e-6, 1e6, NULL,
     "Among campaigns of one priority: jobs are divided in this ratio."},
    {"after", 0, ATOLL_OPT_LIST, FIELD(make.after), "CAMPAIGN", NULL, 0, 0, NULL,
     "A campaign that must be done before this one's jobs are submitted."},
    {"eval-option", 0, ATOLL_OPT_LIST, FIELD(make.eval_words), "WORD", NULL, 0, 0, NULL,
     "A further word for the atoll-eval of every job (--eval-option=--verbose)."},
    {"lease-time", 0, ATOLL_OPT_DURATION, FIELD(make.lease_time_s), "TIME", NULL, 0.5, 1e6, NULL,
     "A job whose lease of a part stands still for so long is lost (for tests; 90 s when not given)."},
    {"call-timeout", 0, ATOLL_OPT_DURATION, FIELD(call_timeout_s), "TIME", "30s", 1, 3600, NULL,
     "What one call to the scheduler may take."},
    {"dry-run", 0, ATOLL_OPT_FLAG, FIELD(dry_run), NULL, NULL, 0, 0, NULL,
     "Make nothing: print the parts and the batch script exactly as it would be submitted."},
    {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL,
     "The result as JSON on standard output."},
    {0}};

static const struct atoll_command submit_command = {
    "submit",
    "SUITE... -o DIR",
    "evolve the tasks of a suite in jobs of a cluster",
    "Makes a campaign of one or several parts and puts jobs into the scheduler's queue that work on them: "
    "few jobs, each an "
    "MPI application over its nodes. A job takes the next part that nobody works on; parts of lost jobs are "
    "taken up by "
    "others; a job whose time is over goes on in its successor. When the last part has ended there are one "
    "archive.h5 and "
    "one report.html.\n\n"
    "--seconds is the wall-clock budget of the whole campaign while all its jobs run (when not given, 90 % "
    "of one job's time "
    "limit); budgets of evaluations, device time, tokens and money are divided among the parts by their "
    "tasks.\n\n"
    "The scheduler is Slurm, through its library or its commands, or, with --site local, this machine.",
    "atoll submit suites/gpu -o $SCRATCH/tonight --nodes 2 --gpus-per-node 4 --time 8h --partition gpu\n"
    "atoll submit suites/starter -o sweep --jobs 4 --time 2h --dry-run\n"
    "atoll submit suites/starter -o next --after sweep --priority 1\n"
    "atoll submit suites/starter -o here --site local --time 10m",
    submit_options,
    atoll_plan_options};

/* ---- --dry-run ---- */

static void parts_print(const struct atoll_submission *s)
{
    size_t first = 0;

    for (size_t i = 0; i < s->sweep.part_count; i++) {
        struct atoll_plan_part part = atoll_submission_part(s, i, first);
        char time[32];

        atoll_print(stdout, "# part %s, %s of clock:", s->sweep.parts[i].name,
                    atoll_duration_text(part.search.wall_budget_ns, time, sizeof(time)));
        for (size_t k = 0; k < part.count; k++)
            atoll_print(stdout, " %s", s->plan.tasks.tasks[first + k]->name);
        putchar('\n');
        first += part.count;
    }
}

static void parts_json(const struct atoll_submission *s, unsigned jobs, const struct atoll_buffer *script)
{
    json_t *parts = json_array();
    size_t first = 0;

    for (size_t i = 0; i < s->sweep.part_count; i++) {
        struct atoll_plan_part part = atoll_submission_part(s, i, first);
        json_t *tasks = json_array();

        for (size_t k = 0; k < part.count; k++)
            json_array_append_new(tasks, atoll_json_text(s->plan.tasks.tasks[first + k]->name));
        json_array_append_new(parts,
                              json_pack("{s:o, s:f, s:o}", "part", atoll_json_text(s->sweep.parts[i].name),
                                        "seconds", part.search.wall_budget_ns / 1e9, "tasks", tasks));
        first += part.count;
    }
    char *text = strndup((const char *)script->data, script->length);
    atoll_json_print(json_pack("{s:o, s:i, s:o}", "parts", parts, "jobs", (int)jobs, "script",
                               atoll_json_text(text ? text : "")),
                     JSON_INDENT(2), stdout);
    free(text);
}

static int dry_run(struct atoll_submission *s, int is_json, struct atoll_err *err)
{
    unsigned jobs = s->sweep.part_count < s->sweep.jobs ? (unsigned)s->sweep.part_count : s->sweep.jobs;
    struct atoll_job_request request;
    struct atoll_buffer text;
    int status;

    atoll_buffer_put_u8(&s->script, 0);
    if (atoll_buffer_check(&s->script, err) != 0)
        return -1;
    atoll_buffer_init(&text, ATOLL_BATCH_SCRIPT_BYTES);
    status = atoll_sweep_request(&s->sweep, s->site, (const char *)s->script.data, s->arena, &request, err);
    request.array_count = status == 0 && s->site->limits.has_arrays && jobs > 1 ? jobs : 0;
    status = status == 0 ? atoll_job_script(&request, &text, err) : status;
    if (status == 0 && is_json) {
        parts_json(s, jobs, &text);
    } else if (status == 0) {
        parts_print(s);
        atoll_print(stdout, "# %u jobs with this script, as far as the queue takes them:\n%.*s", jobs,
                    (int)text.length, (const char *)text.data);
    }
    atoll_buffer_fini(&text);
    return status;
}

/* The campaign's folder, its place in the queue, and its first jobs. */
static int submit(const struct submit_settings *settings, struct atoll_submission *s, struct atoll_err *err)
{
    const struct atoll_job_submitter_settings jobs = {
        .mine = s->sweep.id, .timeout_s = settings->call_timeout_s, .log = settings->json ? NULL : stdout};
    const struct atoll_campaign_queue_entry entry = {.id = (char *)(uintptr_t)s->sweep.id,
                                                     .campaign = (char *)(uintptr_t)s->out,
                                                     .priority = s->sweep.priority,
                                                     .share = s->sweep.share,
                                                     .after = (char **)(uintptr_t)s->sweep.after,
                                                     .after_count = s->sweep.after_count,
                                                     .added_unix_s = (int64_t)time(NULL)};
    struct atoll_job_submitter_result result = {0};

    if (atoll_submission_make(s, err) != 0)
        return -1;
    atoll_campaign_plan_log_reuse(&s->plan);
    if (atoll_campaign_queue_put(&entry, err) != 0 || atoll_job_submitter_run(&jobs, &result, err) != 0) {
        return atoll_err_add(err, "the campaign is made and waits; `atoll resume %s` tries again",
                             s->settings->out);
    }
    if (settings->json) {
        atoll_json_print(json_pack("{s:o, s:s, s:i, s:i, s:i}", "campaign", atoll_json_text(s->out), "id",
                                   s->sweep.id, "parts", (int)s->sweep.part_count, "submitted",
                                   (int)result.submitted, "wanted", (int)result.wanted),
                         JSON_INDENT(2), stdout);
    } else {
        atoll_print(stdout, "%s: %zu task%s in %zu part%s; next: atoll status %s\n", s->settings->out,
                    s->plan.tasks.count, s->plan.tasks.count == 1 ? "" : "s", s->sweep.part_count,
                    s->sweep.part_count == 1 ? "" : "s", s->settings->out);
    }
    return 0;
}

static int run_submit(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    struct submit_settings *settings = given;
    struct atoll_submission submission;
    int status;

    if (!settings->make.out) {
        return atoll_err_set(err, ATOLL_E_USAGE,
                             "atoll submit: name the campaign's folder with -o; usage: atoll submit %s",
                             submit_command.synopsis);
    }
    settings->make.is_quiet = settings->json;
    status = atoll_submission_plan(&submission, &settings->make, arguments, count, err);
    if (status == 0)
        status = settings->dry_run ? dry_run(&submission, settings->json, err)
                                   : submit(settings, &submission, err);
    atoll_submission_fini(&submission);
    return status;
}

const struct atoll_subcommand atoll_command_submit = {
    .command = &submit_command,
    .settings_bytes = sizeof(struct submit_settings),
    .least = 1,
    .most = 64,
    .missing = "name a suite and a folder, for example `atoll submit suites/starter -o my-sweep`",
    .run = run_submit};
