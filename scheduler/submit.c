/* submit.c - `atoll submit`: makes a campaign of parts and puts its first jobs into the queue.
 * The folder is made whole under another name and renamed into place; from then on everything can be done again (atoll resume). */
#include "scheduler/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "archive-h5/file_ops.h"
#include "core/units.h"
#include "scheduler/batch_script.h"
#include "scheduler/campaign_plan.h"
#include "scheduler/folder.h"
#include "scheduler/local/launch.h"
#include "scheduler/pump.h"
#include "scheduler/queue.h"
#include "scheduler/sweep_request.h"

#define ARENA_BYTES ((size_t)32 << 20)
#define RESERVE                                                                                              \
    0.9 /* of a job's time is for evaluations where no budget is given; the rest for start and end */

struct submit_settings {
    struct atoll_plan_settings plan; /* first: submit_command's shared rows */
    const char *out, *site, *partition, *account, *qos, *constraint;
    long long nodes, gpus_per_node, evaluators_per_node, jobs, tasks_per_part, max_queued;
    double time_s, priority, share, call_timeout_s;
    struct atoll_option_list after, eval_words;
    const char *lease_time;
    int dry_run, json;
};

#define FIELD(name) offsetof(struct submit_settings, name)

static const struct atoll_option submit_options[] = {
    {"output", 'o', ATOLL_OPT_TEXT, FIELD(out), "DIR", NULL, 0, 0, NULL,
     "Folder of the campaign, on a file system that all nodes see; must not hold anything yet."},
    {"site", 0, ATOLL_OPT_TEXT, FIELD(site), "PROFILE", NULL, 0, 0, NULL,
     "How this cluster wants its jobs: the name of a profile in jobscripts/sites or a file; ATOLL_SITE, else "
     "generic-slurm, when not given."},
    {"nodes", 'N', ATOLL_OPT_INT, FIELD(nodes), "N", "1", 1, 100000, NULL, "Nodes of each job."},
    {"gpus-per-node", 0, ATOLL_OPT_INT, FIELD(gpus_per_node), "N", "0", 0, 1024, NULL,
     "GPUs to ask for on each node; each gets an evaluator. 0 is what the profile says."},
    {"evaluators-per-node", 0, ATOLL_OPT_INT, FIELD(evaluators_per_node), "N", "0", 0, 1024, NULL,
     "Evaluators on each node; 0 is one for each GPU, or one."},
    {"time", 't', ATOLL_OPT_DURATION, FIELD(time_s), "TIME", "1h", 60, 1e8, NULL,
     "Time limit of each job (30m, 2h, 1-12:00:00). A campaign that needs longer goes on in the next job."},
    {"partition", 'p', ATOLL_OPT_TEXT, FIELD(partition), "NAME", NULL, 0, 0, NULL, "Partition."},
    {"account", 'A', ATOLL_OPT_TEXT, FIELD(account), "NAME", NULL, 0, 0, NULL, "Account that pays."},
    {"qos", 'q', ATOLL_OPT_TEXT, FIELD(qos), "NAME", NULL, 0, 0, NULL, "Quality of service."},
    {"constraint", 'C', ATOLL_OPT_TEXT, FIELD(constraint), "FEATURES", NULL, 0, 0, NULL,
     "Features that nodes must have."},
    {"jobs", 'j', ATOLL_OPT_INT, FIELD(jobs), "N", "1", 1, 4096, NULL,
     "Jobs that work on the campaign at once, each an MPI application over its nodes that evolves many "
     "tasks."},
    {"tasks-per-part", 0, ATOLL_OPT_INT, FIELD(tasks_per_part), "N", "0", 0, 4096, NULL,
     "Tasks that share one search, and that a job takes at once; 0 makes as many parts as jobs."},
    {"max-queued", 0, ATOLL_OPT_INT, FIELD(max_queued), "N", "0", 0, 100000, NULL,
     "Most jobs of yours in the queue, all campaigns together; 0 is what the profile says."},
    {"priority", 0, ATOLL_OPT_DOUBLE, FIELD(priority), "X", "0", 0, 1e6, NULL,
     "Among your campaigns: higher ones get their jobs first."},
    {"share", 0, ATOLL_OPT_DOUBLE, FIELD(share), "X", "1", 1e-6, 1e6, NULL,
     "Among campaigns of one priority: jobs are divided in this ratio."},
    {"after", 0, ATOLL_OPT_LIST, FIELD(after), "CAMPAIGN", NULL, 0, 0, NULL,
     "A campaign that must be done before this one's jobs are submitted."},
    {"eval-option", 0, ATOLL_OPT_LIST, FIELD(eval_words), "WORD", NULL, 0, 0, NULL,
     "A further word for the atoll-eval of every job (--eval-option=--verbose)."},
    {"lease-time", 0, ATOLL_OPT_TEXT, FIELD(lease_time), "TIME", NULL, 0, 0, NULL,
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

struct submission {
    struct submit_settings *settings;
    struct atoll_campaign_plan plan;
    struct atoll_site *site;
    struct atoll_arena *arena;
    struct atoll_sweep sweep;
    struct atoll_sweep_part *parts;
    struct atoll_id id;
    char out[PATH_MAX], draft[PATH_MAX];
    struct atoll_buffer script;
};

/* ---- what it is to be ---- */

static unsigned gpus_of(const struct submission *s)
{
    return s->settings->gpus_per_node > 0                   ? (unsigned)s->settings->gpus_per_node
           : strcmp(s->settings->plan.backend, "cuda") == 0 ? s->site->gpus.per_node
                                                            : 0;
}

static unsigned evaluators_of(const struct submission *s)
{
    unsigned gpus = gpus_of(s);

    return s->settings->evaluators_per_node > 0 ? (unsigned)s->settings->evaluators_per_node
           : gpus > 0                           ? gpus
                                                : 1;
}

static int check_request(const struct submission *s, struct atoll_err *err)
{
    if (strcmp(s->settings->plan.backend, "cuda") == 0 && gpus_of(s) == 0 &&
        s->site->scheduler != ATOLL_SITE_LOCAL) {
        return atoll_err_set(
            err, ATOLL_E_USAGE,
            "--backend cuda needs GPUs: say --gpus-per-node, or name a profile that knows (%s does not)",
            s->site->name);
    }
    if (s->site->scheduler == ATOLL_SITE_PBS) {
        return atoll_err_set(
            err, ATOLL_E_USAGE,
            "%s: PBS is not spoken by atoll submit; make the campaign with `atoll run --create-only` and "
            "submit jobscripts/pbs-mpiexec.pbs with qsub",
            s->site->name);
    }
    return 0;
}

static int afters_fill(struct submission *s, struct atoll_err *err)
{
    const char **after = atoll_arena_alloc_array(s->arena, s->settings->after.count + 1, sizeof(*after), err);

    for (size_t i = 0; after && i < s->settings->after.count; i++) {
        char path[PATH_MAX];

        if (!atoll_sweep_is(s->settings->after.items[i])) {
            return atoll_err_set(err, ATOLL_E_NOTFOUND, "--after %s: is not a submitted campaign",
                                 s->settings->after.items[i]);
        }
        if (atoll_folder_absolute(s->settings->after.items[i], path, sizeof(path), err) != 0 ||
            !(after[i] = atoll_arena_text(s->arena, path, strlen(path), err))) {
            return -1;
        }
    }
    s->sweep.after = after;
    s->sweep.after_count = s->settings->after.count;
    return after ? 0 : -1;
}

static int parts_fill(struct submission *s, struct atoll_err *err)
{
    size_t tasks = s->plan.tasks.count, per_part = (size_t)s->settings->tasks_per_part;
    size_t count = per_part ? (tasks + per_part - 1) / per_part : (size_t)s->settings->jobs;

    count = count > tasks ? tasks : count;
    s->parts = atoll_arena_alloc_array(s->arena, count, sizeof(*s->parts), err);
    if (!s->parts || count > ATOLL_SWEEP_PART_LIMIT) {
        return s->parts
                   ? atoll_err_set(err, ATOLL_E_LIMIT, "%zu parts are more than %d; raise --tasks-per-part",
                                   count, ATOLL_SWEEP_PART_LIMIT)
                   : -1;
    }
    for (size_t i = 0; i < count; i++) {
        char name[16];

        snprintf(name, sizeof(name), "%04zu", i);
        s->parts[i].name = atoll_arena_text(s->arena, name, strlen(name), err);
        s->parts[i].task_count = (uint32_t)((i + 1) * tasks / count - i * tasks / count);
        if (!s->parts[i].name) {
            return -1;
        }
    }
    s->sweep.parts = s->parts;
    s->sweep.part_count = count;
    return 0;
}

static int sweep_fill(struct submission *s, struct atoll_err *err)
{
    const struct submit_settings *settings = s->settings;
    char hex[ATOLL_ID_HEX];

    if (getrandom(&s->id, sizeof(s->id), 0) != (ssize_t)sizeof(s->id)) {
        return atoll_err_errno(err, errno, "no random id");
    }
    atoll_id_hex(&s->id, hex);
    s->sweep = (struct atoll_sweep){.dir = s->out,
                                    .id = atoll_arena_text(s->arena, hex, strlen(hex), err),
                                    .atoll_version = ATOLL_VERSION,
                                    .backend = settings->plan.backend,
                                    .created_unix_s = (double)time(NULL),
                                    .jobs = (uint32_t)settings->jobs,
                                    .nodes = (uint32_t)settings->nodes,
                                    .gpus_per_node = gpus_of(s),
                                    .evaluators_per_node = evaluators_of(s),
                                    .time_min = (uint32_t)ceil(settings->time_s / 60),
                                    .partition = settings->partition,
                                    .account = settings->account,
                                    .qos = settings->qos,
                                    .constraint = settings->constraint,
                                    .priority = settings->priority,
                                    .share = settings->share};
    return !s->sweep.id || afters_fill(s, err) != 0 ? -1 : parts_fill(s, err);
}

static int script_fill(struct submission *s, struct atoll_err *err)
{
    char program[PATH_MAX], queue[PATH_MAX], site[PATH_MAX];
    const char *
        words[2 * (2 + sizeof(s->settings->eval_words.items) / sizeof(s->settings->eval_words.items[0])) + 1];
    size_t count = 0;

    if (atoll_launch_beside("atoll", program, sizeof(program), err) != 0 ||
        atoll_campaign_queue_folder(queue, sizeof(queue), err) != 0 ||
        atoll_sweep_path(&s->sweep, ATOLL_SITE_FILE, site, sizeof(site), err) != 0) {
        return -1;
    }
    words[count++] = "--queue";
    words[count++] = queue;
    if (s->settings->lease_time) {
        words[count++] = "--lease-time";
        words[count++] = s->settings->lease_time;
    }
    for (size_t i = 0; i < s->settings->eval_words.count; i++) {
        words[count++] = "--eval-option";
        words[count++] = s->settings->eval_words.items[i];
    }
    words[count] = NULL;
    return atoll_batch_script_text(&(struct atoll_batch_script){s->site, program, s->out, site, words},
                                   &s->script, err);
}

static int submission_plan(struct submission *s, const char *const *suites, size_t count,
                           struct atoll_err *err)
{
    struct submit_settings *settings = s->settings;
    double evaluators = (double)(settings->jobs * settings->nodes);

    settings->plan.default_seconds = RESERVE * settings->time_s;
    s->arena = atoll_arena_create(ARENA_BYTES, err);
    s->site = s->arena ? atoll_site_load(settings->site, err) : NULL;
    if (!s->site || check_request(s, err) != 0 || atoll_folder_make_parents(settings->out, err) != 0 ||
        atoll_folder_absolute(settings->out, s->out, sizeof(s->out), err) != 0 ||
        atoll_campaign_plan_make(&s->plan, &settings->plan, suites, count,
                                 evaluators * (double)evaluators_of(s), settings->json, err) != 0) {
        return -1;
    }
    return sweep_fill(s, err) != 0 ? -1 : script_fill(s, err);
}

static void submission_fini(struct submission *s)
{
    if (s->plan.settings) {
        atoll_campaign_plan_fini(&s->plan);
    }
    atoll_site_destroy(s->site);
    atoll_arena_destroy(s->arena);
    atoll_buffer_fini(&s->script);
}

/* ---- the folder ---- */

/* Budgets of a part: its tasks' share of what is counted; of the clock, its share of the jobs' time. */
static struct atoll_plan_part part_of(const struct submission *s, size_t number, size_t first)
{
    double share = (double)s->parts[number].task_count / (double)s->plan.tasks.count;
    double clock = (double)s->sweep.jobs / (double)s->sweep.part_count;
    struct atoll_plan_part part = {.first = first,
                                   .count = s->parts[number].task_count,
                                   .search = s->plan.search,
                                   .ranks = s->sweep.nodes * s->sweep.evaluators_per_node + 1,
                                   .sweep = &s->id};

    part.search.seed += number;
    part.search.evaluation_budget = (uint64_t)ceil((double)part.search.evaluation_budget * share);
    part.search.device_budget_ns *= share;
    part.search.token_budget = (uint64_t)ceil((double)part.search.token_budget * share);
    part.search.money_budget_usd *= share;
    part.search.wall_budget_ns *= clock < 1 ? clock : 1;
    return part;
}

static int parts_make(struct submission *s, struct atoll_err *err)
{
    size_t first = 0;

    for (size_t i = 0; i < s->sweep.part_count; i++) {
        struct atoll_plan_part part = part_of(s, i, first);
        char path[PATH_MAX];

        if (snprintf(path, sizeof(path), "%s/parts/%s", s->draft, s->parts[i].name) >= (int)sizeof(path)) {
            return atoll_err_set(err, ATOLL_E_LIMIT, "the path of -o is too long");
        }
        if (atoll_campaign_plan_create(&s->plan, &part, path, err) != 0) {
            return -1;
        }
        first += part.count;
    }
    return 0;
}

static int file_make(const struct submission *s, const char *name, const void *bytes, size_t length,
                     struct atoll_err *err)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/%s", s->draft, name) >= (int)sizeof(path)) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "the path of -o is too long");
    }
    return atoll_file_replace(atoll_file_ops_real(), path, bytes, length, err);
}

static int folder_fill(struct submission *s, struct atoll_err *err)
{
    char log[PATH_MAX];
    size_t length;
    const char *site = atoll_site_text(s->site, &length);

    if (snprintf(log, sizeof(log), "%s/log", s->draft) >= (int)sizeof(log)) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "the path of -o is too long");
    }
    return atoll_folder_make(log, err) != 0 || parts_make(s, err) != 0 ||
                   file_make(s, ATOLL_SITE_FILE, site, length, err) != 0 ||
                   file_make(s, ATOLL_SWEEP_SCRIPT, s->script.data, s->script.length, err) != 0 ||
                   atoll_sweep_write(&s->sweep, s->draft, err) != 0
               ? -1
               : 0;
}

static int folder_make(struct submission *s, struct atoll_err *err)
{
    struct stat st;

    if (snprintf(s->draft, sizeof(s->draft), "%s.new-%ld", s->out, (long)getpid()) >= (int)sizeof(s->draft)) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "the path of -o is too long");
    }
    if (stat(s->out, &st) == 0 && rmdir(s->out) != 0) {
        return atoll_err_set(err, ATOLL_E_EXISTS, "%s: is there already%s", s->settings->out,
                             atoll_sweep_is(s->out) ? "; go on with `atoll resume`, or choose another folder"
                                                    : " and is not empty; choose another folder");
    }
    if (atoll_folder_make(s->draft, err) != 0 || folder_fill(s, err) != 0) {
        return atoll_err_add(err, "while making %s, which can be removed", s->draft);
    }
    if (rename(s->draft, s->out) != 0) {
        return atoll_err_errno(err, errno, "cannot rename %s to %s", s->draft, s->out);
    }
    return atoll_file_sync_parent(atoll_file_ops_real(), s->out, err);
}

/* ---- the queue ---- */

static int queue_add(const struct submission *s, struct atoll_err *err)
{
    char *after[ATOLL_QUEUE_AFTER_LIMIT];
    struct atoll_campaign_queue_entry entry = {.id = (char *)(uintptr_t)s->sweep.id,
                                               .campaign = (char *)(uintptr_t)s->out,
                                               .priority = s->sweep.priority,
                                               .share = s->sweep.share,
                                               .after = after,
                                               .after_count = s->sweep.after_count,
                                               .added_unix_s = (int64_t)time(NULL)};

    for (size_t i = 0; i < s->sweep.after_count; i++) {
        after[i] = (char *)(uintptr_t)s->sweep.after[i];
    }
    return atoll_campaign_queue_put(&entry, err);
}

static int jobs_submit(const struct submission *s, struct atoll_err *err)
{
    const struct atoll_pump_settings settings = {.ceiling = (unsigned)s->settings->max_queued,
                                                 .timeout_s = s->settings->call_timeout_s,
                                                 .say = s->settings->json ? NULL : stdout};
    struct atoll_pump_result result = {0};

    if (queue_add(s, err) != 0 || atoll_pump(&settings, &result, err) != 0) {
        atoll_err_add(err, "the campaign is made and waits; `atoll resume %s` tries again", s->settings->out);
        return -1;
    }
    if (s->settings->json) {
        json_t *object = json_pack("{s:s, s:s, s:i, s:i, s:i}", "campaign", s->out, "id", s->sweep.id,
                                   "parts", (int)s->sweep.part_count, "submitted", (int)result.submitted,
                                   "wanted", (int)result.wanted);

        json_dumpf(object, stdout, JSON_INDENT(2));
        putchar('\n');
        json_decref(object);
    } else {
        printf("%s: %zu tasks in %zu parts; next: atoll status %s\n", s->settings->out, s->plan.tasks.count,
               s->sweep.part_count, s->settings->out);
    }
    return 0;
}

/* ---- --dry-run ---- */

static void parts_print(const struct submission *s)
{
    size_t first = 0;

    for (size_t i = 0; i < s->sweep.part_count; i++) {
        struct atoll_plan_part part = part_of(s, i, first);
        char time[32];

        printf("# part %s, %s of clock:", s->parts[i].name,
               atoll_duration_text(part.search.wall_budget_ns, time, sizeof(time)));
        for (size_t k = 0; k < part.count; k++) {
            printf(" %s", s->plan.tasks.tasks[first + k]->name);
        }
        putchar('\n');
        first += part.count;
    }
}

static int dry_run(struct submission *s, struct atoll_err *err)
{
    struct atoll_job_request request;
    struct atoll_buffer text;
    const char *script;
    int status;

    atoll_buffer_put_u8(&s->script, 0);
    if (atoll_buffer_check(&s->script, err) != 0) {
        return -1;
    }
    script = (const char *)s->script.data;
    atoll_buffer_init(&text, ATOLL_BATCH_SCRIPT_BYTES);
    status = atoll_sweep_request(&s->sweep, s->site, script, s->arena, &request, err);
    if (status == 0 && s->site->limits.has_arrays && s->sweep.part_count > 1) {
        request.array_count =
            (unsigned)s->sweep.part_count < s->sweep.jobs ? (unsigned)s->sweep.part_count : s->sweep.jobs;
    }
    status = status == 0 ? atoll_job_script(&request, &text, err) : status;
    if (status == 0) {
        parts_print(s);
        printf("# %u jobs with this script, as far as the queue takes them:\n%.*s", s->sweep.jobs,
               (int)text.length, (const char *)text.data);
    }
    atoll_buffer_fini(&text);
    return status;
}

static int submission_run(struct submission *s, const char *const *suites, size_t count,
                          struct atoll_err *err)
{
    if (submission_plan(s, suites, count, err) != 0) {
        return -1;
    }
    if (s->settings->dry_run) {
        return dry_run(s, err);
    }
    if (folder_make(s, err) != 0) {
        return -1;
    }
    atoll_campaign_plan_say_reuse(&s->plan);
    return jobs_submit(s, err);
}

static int run_submit(int argc, char **argv, struct atoll_err *err)
{
    struct submit_settings settings = {0};
    struct submission submission = {.settings = &settings};
    const char *suites[64];
    size_t count;
    int status = atoll_verb_parse(&submit_command, argc, argv, &settings, suites, 64, &count, err);

    if (status != 0) {
        return status > 0 ? 0 : atoll_code_exit_status(err->code);
    }
    if (count == 0 || !settings.out) {
        atoll_err_set(
            err, ATOLL_E_USAGE,
            "atoll submit: name a suite and a folder, for example `atoll submit suites/starter -o my-sweep`");
        return atoll_code_exit_status(err->code);
    }
    atoll_buffer_init(&submission.script, ATOLL_BATCH_SCRIPT_BYTES);
    status = submission_run(&submission, suites, count, err);
    submission_fini(&submission);
    return status == 0 ? 0 : atoll_code_exit_status(err->code);
}

const struct atoll_verb atoll_verb_submit = {&submit_command, run_submit};
