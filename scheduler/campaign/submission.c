/* submission.c - what a campaign is to be.  Everything that a job or a reader of sweep.yaml would refuse is refused here. */
#include "scheduler/campaign/submission.h"

#include <errno.h>
#include <unistd.h>
#include <sys/stat.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "scheduler/campaign/batch_script.h"
#include "base/file.h"
#include "archive-h5/campaign/knowledge.h"
#include "base/print.h"
#include "mpi-eval/torch/interpreter.h"
#include "scheduler/launcher/local/launch.h"
#include "scheduler/campaign/campaign_queue.h"

#define ARENA_BYTES ((size_t)32 << 20)
#define RESERVE                                                                                              \
    0.9 /* of a job's time is for evaluations where no budget is given; the rest for start and end */

/* ---- limits of a part ---- */

static uint64_t running(uint64_t rest, size_t done, size_t tasks)
{
    return rest / tasks * done + rest % tasks * done / tasks;
}

static uint64_t counted(uint64_t budget, const struct atoll_budget_share *share)
{
    uint64_t rest;

    if (budget == 0)
        return 0;
    rest = budget - share->parts;
    return 1 + running(rest, share->first + share->count, share->tasks) -
           running(rest, share->first, share->tasks);
}

static int share_check(const char *option, uint64_t budget, size_t parts, struct atoll_err *err)
{
    return budget == 0 || budget >= parts
               ? 0
               : atoll_err_set(err, ATOLL_E_USAGE,
                               "--%s %llu is less than one for each of %zu parts; lower --jobs or raise "
                               "--tasks-per-part",
                               option, (unsigned long long)budget, parts);
}

int atoll_budget_share_check(const struct atoll_search *whole, size_t parts, struct atoll_err *err)
{
    return share_check("evaluations", whole->evaluation_budget, parts, err) != 0
               ? -1
               : share_check("tokens", whole->token_budget, parts, err);
}

struct atoll_search atoll_budget_share_of(const struct atoll_search *whole,
                                          const struct atoll_budget_share *share)
{
    double tasks = (double)share->count / (double)share->tasks;
    double clock = (double)share->jobs / (double)share->parts;
    struct atoll_search part = *whole;

    part.seed += share->number;
    part.evaluation_budget = counted(whole->evaluation_budget, share);
    part.token_budget = counted(whole->token_budget, share);
    part.device_budget_ns *= tasks;
    part.money_budget_usd *= tasks;
    part.wall_budget_ns *= clock < 1 ? clock : 1;
    return part;
}

/* ---- what it is to be ---- */

static unsigned gpus_of(const struct atoll_submission *s)
{
    return s->settings->gpus_per_node > 0                   ? (unsigned)s->settings->gpus_per_node
           : strcmp(s->settings->plan.backend, "cuda") == 0 ? s->site->gpus.per_node
                                                            : 0;
}

static unsigned evaluators_of(const struct atoll_submission *s)
{
    unsigned gpus = gpus_of(s);

    return s->settings->evaluators_per_node > 0 ? (unsigned)s->settings->evaluators_per_node
           : gpus > 0                           ? gpus
                                                : 1;
}

static int check_request(const struct atoll_submission *s, struct atoll_err *err)
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

/* What sweep.yaml, queue and batch script can hold. */
static int check_text(const char *option, const char *text, struct atoll_err *err)
{
    return !text || atoll_sweep_can_hold(text)
               ? 0
               : atoll_err_set(err, ATOLL_E_USAGE,
                               "--%s: a text of UTF-8 without line breaks and control characters is needed",
                               option);
}

static int afters_fill(struct atoll_submission *s, struct atoll_err *err)
{
    const char **after = atoll_arena_alloc_array(s->arena, s->settings->after.count + 1, sizeof(*after), err);

    for (size_t i = 0; after && i < s->settings->after.count; i++) {
        char path[PATH_MAX];

        if (!atoll_sweep_is(s->settings->after.items[i])) {
            return atoll_err_set(err, ATOLL_E_NOTFOUND, "--after %s: is not a submitted campaign",
                                 s->settings->after.items[i]);
        }
        if (atoll_folder_absolute(s->settings->after.items[i], path, sizeof(path), err) != 0 ||
            check_text("after", path, err) != 0 ||
            !(after[i] = atoll_arena_text(s->arena, path, strlen(path), err))) {
            return -1;
        }
    }
    s->sweep.after = after;
    s->sweep.after_count = s->settings->after.count;
    return after ? 0 : -1;
}

static int parts_fill(struct atoll_submission *s, struct atoll_err *err)
{
    size_t tasks = s->plan.tasks.count, per_part = (size_t)s->settings->tasks_per_part;
    size_t count = per_part ? (tasks + per_part - 1) / per_part : (size_t)s->settings->jobs;
    struct atoll_sweep_part *parts;

    count = count > tasks ? tasks : count;
    if (count > ATOLL_SWEEP_PART_LIMIT) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "%zu parts are more than %d; raise --tasks-per-part", count,
                             ATOLL_SWEEP_PART_LIMIT);
    }
    parts = atoll_arena_alloc_array(s->arena, count, sizeof(*parts), err);
    if (!parts || atoll_budget_share_check(&s->plan.search, count, err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        char name[16];

        snprintf(name, sizeof(name), "%04zu", i);
        parts[i].name = atoll_arena_text(s->arena, name, strlen(name), err);
        parts[i].task_count = (uint32_t)((i + 1) * tasks / count - i * tasks / count);
        if (!parts[i].name)
            return -1;
    }
    s->sweep.parts = parts;
    s->sweep.part_count = count;
    return 0;
}

static int sweep_fill(struct atoll_submission *s, struct atoll_err *err)
{
    const struct atoll_submission_settings *settings = s->settings;
    char hex[ATOLL_ID_HEX];

    if (getrandom(&s->id, sizeof(s->id), 0) != (ssize_t)sizeof(s->id))
        return atoll_err_errno(err, errno, "no random id");
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
                                    .max_queued = (uint32_t)settings->max_queued,
                                    .priority = settings->priority,
                                    .share = settings->share};
    return !s->sweep.id || afters_fill(s, err) != 0 ? -1 : parts_fill(s, err);
}

static int script_fill(struct atoll_submission *s, struct atoll_err *err)
{
    char program[PATH_MAX], queue[PATH_MAX], site[PATH_MAX], lease_time[32];
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
    if (s->settings->lease_time_s > 0) {
        snprintf(lease_time, sizeof(lease_time), "%.17g", s->settings->lease_time_s);
        words[count++] = "--lease-time";
        words[count++] = lease_time;
    }
    for (size_t i = 0; i < s->settings->eval_words.count; i++) {
        words[count++] = "--eval-option";
        words[count++] = s->settings->eval_words.items[i];
    }
    words[count] = NULL;
    return atoll_batch_script_text(&(struct atoll_batch_script){s->site, program, s->out, site, words},
                                   &s->script, err);
}

/* The profile that was named, by the option or by ATOLL_SITE; else that of Slurm, or of this machine where no Slurm has a
 * cluster, which is said with the reason. */
static struct atoll_site *site_choose(const struct atoll_submission_settings *settings, struct atoll_err *err)
{
    const char *named = settings->site ? settings->site : getenv("ATOLL_SITE");
    struct atoll_site *site = atoll_site_load(settings->site, err);
    struct atoll_err why = ATOLL_ERR_INIT;
    struct atoll_launcher *launcher;

    if (!site || (named && *named) || site->launcher != ATOLL_LAUNCHER_AUTO)
        return site;
    launcher = atoll_launcher_create(ATOLL_LAUNCHER_AUTO, 0, err);
    if (launcher && !atoll_launcher_is_slurm(launcher)) {
        atoll_launcher_destroy(atoll_launcher_create(ATOLL_LAUNCHER_COMMANDS, 0, &why));
        atoll_print(stderr,
                    "atoll: jobs of this campaign run on this machine, one after the other, as with --site "
                    "local (%s); "
                    "--site NAME takes another profile\n",
                    why.text);
        atoll_site_destroy(site);
        site = atoll_site_load("local", err);
    } else if (!launcher) {
        atoll_site_destroy(site);
        site = NULL;
    }
    atoll_launcher_destroy(launcher);
    return site;
}

int atoll_submission_plan(struct atoll_submission *ret_submission, struct atoll_submission_settings *settings,
                          const char *const *suites, size_t count, struct atoll_err *err)
{
    struct atoll_submission *s = ret_submission;
    const char *const texts[][2] = {{"output", s->out},
                                    {"partition", settings->partition},
                                    {"account", settings->account},
                                    {"qos", settings->qos},
                                    {"constraint", settings->constraint}};
    double jobs_nodes = (double)(settings->jobs * settings->nodes);
    const struct atoll_search *search = &s->plan.search;

    memset(s, 0, sizeof(*s));
    s->settings = settings;
    atoll_buffer_init(&s->script, ATOLL_BATCH_SCRIPT_BYTES);
    settings->plan.default_seconds = RESERVE * settings->time_s;
    s->arena = atoll_arena_create(ARENA_BYTES, err);
    s->site = s->arena ? site_choose(settings, err) : NULL;
    if (!s->site || check_request(s, err) != 0 ||
        atoll_folder_absolute(settings->out, s->out, sizeof(s->out), err) != 0) {
        return -1;
    }
    settings->plan.site_knowledge = s->site->knowledge; /* lives as long as the submission */
    if (s->site->python && strcmp(settings->plan.python, ATOLL_TORCH_AUTO) == 0)
        settings->plan.python = s->site->python; /* lives as long as the submission */
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (check_text(texts[i][0], texts[i][1], err) != 0)
            return -1;
    if (atoll_campaign_plan_make(&s->plan, &settings->plan, suites, count,
                                 jobs_nodes * (double)evaluators_of(s), settings->is_quiet, err) != 0) {
        return -1;
    }
    if (!(search->wall_budget_ns > 0) && search->evaluation_budget == 0 &&
        !(search->device_budget_ns > 0)) { /* it would go on in job after job */
        return atoll_err_set(err, ATOLL_E_USAGE,
                             "without a limit of time or evaluations a submitted campaign never ends: give "
                             "--seconds, --evaluations or --device-seconds");
    }
    return sweep_fill(s, err) != 0 ? -1 : script_fill(s, err);
}

void atoll_submission_fini(struct atoll_submission *s)
{
    if (s->plan.settings)
        atoll_campaign_plan_fini(&s->plan);
    atoll_site_destroy(s->site);
    atoll_arena_destroy(s->arena);
    atoll_buffer_fini(&s->script);
}

struct atoll_plan_part atoll_submission_part(const struct atoll_submission *s, size_t number, size_t first)
{
    const struct atoll_budget_share share = {.number = number,
                                             .parts = s->sweep.part_count,
                                             .first = first,
                                             .count = s->sweep.parts[number].task_count,
                                             .tasks = s->plan.tasks.count,
                                             .jobs = s->sweep.jobs};

    return (struct atoll_plan_part){.first = first,
                                    .count = share.count,
                                    .search = atoll_budget_share_of(&s->plan.search, &share),
                                    .ranks = s->sweep.nodes * s->sweep.evaluators_per_node + 1,
                                    .sweep = &s->id};
}

/* ---- its folder ---- */

static int parts_make(struct atoll_submission *s, const char *draft, struct atoll_err *err)
{
    size_t first = 0;

    for (size_t i = 0; i < s->sweep.part_count; i++) {
        struct atoll_plan_part part = atoll_submission_part(s, i, first);
        char path[PATH_MAX];

        if (snprintf(path, sizeof(path), "%s/parts/%s", draft, s->sweep.parts[i].name) >= (int)sizeof(path))
            return atoll_err_set(err, ATOLL_E_LIMIT, "the path of -o is too long");
        if (atoll_campaign_plan_create(&s->plan, &part, path, err) != 0)
            return -1;
        first += part.count;
    }
    return 0;
}

static int file_make(const char *draft, const char *name, const void *bytes, size_t length,
                     struct atoll_err *err)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/%s", draft, name) >= (int)sizeof(path))
        return atoll_err_set(err, ATOLL_E_LIMIT, "the path of -o is too long");
    return atoll_file_replace(atoll_file_ops_real(), path, bytes, length, err);
}

/* Once, for all parts. */
static int knowledge_make(const struct atoll_submission *s, const char *draft, struct atoll_err *err)
{
    const struct atoll_buffer *knowledge = &s->plan.knowledge;

    return knowledge->length == 0
               ? 0
               : file_make(draft, ATOLL_CAMPAIGN_KNOWLEDGE_FILE, knowledge->data, knowledge->length, err);
}

/* What sweep.yaml says is what will be read: a campaign that nobody can open is never put in place. */
static int sweep_make(const struct atoll_submission *s, const char *draft, struct atoll_err *err)
{
    struct atoll_sweep *sweep;
    int is_same;

    if (atoll_sweep_write(&s->sweep, draft, err) != 0)
        return -1;
    sweep = atoll_sweep_open(draft, err);
    if (!sweep)
        return -1;
    is_same = sweep->part_count == s->sweep.part_count && sweep->after_count == s->sweep.after_count &&
              strcmp(sweep->id, s->sweep.id) == 0;
    atoll_sweep_close(sweep);
    return is_same ? 0
                   : atoll_err_set(err, ATOLL_E_INTERNAL, "%s/%s does not say what was written", draft,
                                   ATOLL_SWEEP_FILE);
}

static int draft_fill(struct atoll_submission *s, const char *draft, struct atoll_err *err)
{
    char log[PATH_MAX];
    size_t length;
    const char *site = atoll_site_text(s->site, &length);

    if (snprintf(log, sizeof(log), "%s/log", draft) >= (int)sizeof(log))
        return atoll_err_set(err, ATOLL_E_LIMIT, "the path of -o is too long");
    return atoll_folder_make(log, err) != 0 || knowledge_make(s, draft, err) != 0 ||
                   parts_make(s, draft, err) != 0 ||
                   file_make(draft, ATOLL_SITE_FILE, site, length, err) != 0 ||
                   file_make(draft, ATOLL_SWEEP_SCRIPT, s->script.data, s->script.length, err) != 0 ||
                   sweep_make(s, draft, err) != 0
               ? -1
               : 0;
}

/* ---- its place ---- */

static int is_empty(const char *path)
{
    DIR *dir = opendir(path);
    int count = 0;

    for (struct dirent *e; dir && (e = readdir(dir));)
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    if (dir)
        closedir(dir);
    return dir && count == 0;
}

static int is_taken(const struct atoll_submission *s, struct atoll_err *err)
{
    return atoll_err_set(err, ATOLL_E_EXISTS, "%s: is there already%s", s->settings->out,
                         atoll_sweep_is(s->out) ? "; go on with `atoll resume`, or choose another folder"
                                                : " and is no empty folder; choose another one");
}

/* Of submissions that were killed.  One that is under way looks the same, so nothing is removed here. */
static void drafts_warn(const char *out)
{
    char parent[PATH_MAX], start[NAME_MAX + 8];
    const char *name = strrchr(out, '/') + 1;
    DIR *dir;

    snprintf(parent, sizeof(parent), "%.*s", (int)(name - out), out);
    if (snprintf(start, sizeof(start), "%s.new-", name) >= (int)sizeof(start))
        return;
    dir = opendir(parent);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (strncmp(e->d_name, start, strlen(start)) == 0) {
            atoll_print(
                stderr,
                "atoll: warning: %s%s is left of a submission that did not come to its end; remove it "
                "unless one is under way\n",
                parent, e->d_name);
        }
    }
    if (dir)
        closedir(dir);
}

int atoll_submission_make(struct atoll_submission *s, struct atoll_err *err)
{
    char draft[PATH_MAX];
    struct stat st;

    if (snprintf(draft, sizeof(draft), "%s.new-%.8s", s->out, s->sweep.id) >= (int)sizeof(draft))
        return atoll_err_set(err, ATOLL_E_LIMIT, "the path of -o is too long");
    if (lstat(s->out, &st) == 0 && !is_empty(s->out))
        return is_taken(s, err);
    if (atoll_folder_make_parents(s->out, err) != 0)
        return -1;
    drafts_warn(s->out);
    if (mkdir(draft, 0777) != 0)
        return atoll_err_errno(err, errno, "cannot make the folder %s", draft);
    if (draft_fill(s, draft, err) != 0)
        return atoll_err_add(err, "while making %s, which can be removed", draft);
    if (rename(draft, s->out) == 0)
        return atoll_file_sync_parent(atoll_file_ops_real(), s->out, err);
    if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR)
        is_taken(s, err);
    else
        atoll_err_errno(err, errno, "cannot rename %s to %s", draft, s->out);
    return atoll_err_add(err, "while making %s, which can be removed", draft);
}
