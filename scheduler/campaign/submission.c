/* submission.c - what a campaign is to be.  Everything that a job or a reader of sweep.yaml would refuse is refused here. */
#include "scheduler/campaign/submission.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "scheduler/job/batch_script.h"
#include "scheduler/campaign/budget_share.h"
#include "base/file.h"
#include "scheduler/launcher/local/launch.h"
#include "scheduler/campaign/campaign_queue.h"

#define ARENA_BYTES ((size_t)32 << 20)
#define RESERVE                                                                                              \
    0.9 /* of a job's time is for evaluations where no budget is given; the rest for start and end */

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

static int check_texts(const struct atoll_submission *s, struct atoll_err *err)
{
    const char *const texts[][2] = {{"output", s->out},
                                    {"partition", s->settings->partition},
                                    {"account", s->settings->account},
                                    {"qos", s->settings->qos},
                                    {"constraint", s->settings->constraint}};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (check_text(texts[i][0], texts[i][1], err) != 0) {
            return -1;
        }
    }
    return 0;
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
    if (!parts || atoll_budget_share_check(&s->plan.search, count, err) != 0) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        char name[16];

        snprintf(name, sizeof(name), "%04zu", i);
        parts[i].name = atoll_arena_text(s->arena, name, strlen(name), err);
        parts[i].task_count = (uint32_t)((i + 1) * tasks / count - i * tasks / count);
        if (!parts[i].name) {
            return -1;
        }
    }
    s->sweep.parts = parts;
    s->sweep.part_count = count;
    return 0;
}

static int sweep_fill(struct atoll_submission *s, struct atoll_err *err)
{
    const struct atoll_submission_settings *settings = s->settings;
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

/* With nothing at all to end it a campaign would go on in job after job. */
static int check_limits(const struct atoll_search *search, struct atoll_err *err)
{
    return search->wall_budget_ns > 0 || search->evaluation_budget > 0 || search->device_budget_ns > 0
               ? 0
               : atoll_err_set(err, ATOLL_E_USAGE,
                               "without a limit of time or evaluations a submitted campaign never ends: give "
                               "--seconds, --evaluations or --device-seconds");
}

int atoll_submission_plan(struct atoll_submission *ret_submission, struct atoll_submission_settings *settings,
                          const char *const *suites, size_t count, struct atoll_err *err)
{
    struct atoll_submission *s = ret_submission;
    double jobs_nodes = (double)(settings->jobs * settings->nodes);

    memset(s, 0, sizeof(*s));
    s->settings = settings;
    atoll_buffer_init(&s->script, ATOLL_BATCH_SCRIPT_BYTES);
    settings->plan.default_seconds = RESERVE * settings->time_s;
    s->arena = atoll_arena_create(ARENA_BYTES, err);
    s->site = s->arena ? atoll_site_load(settings->site, err) : NULL;
    if (!s->site || check_request(s, err) != 0 ||
        atoll_folder_absolute(settings->out, s->out, sizeof(s->out), err) != 0 || check_texts(s, err) != 0 ||
        atoll_campaign_plan_make(&s->plan, &settings->plan, suites, count,
                                 jobs_nodes * (double)evaluators_of(s), settings->is_quiet, err) != 0 ||
        check_limits(&s->plan.search, err) != 0) {
        return -1;
    }
    return sweep_fill(s, err) != 0 ? -1 : script_fill(s, err);
}

void atoll_submission_fini(struct atoll_submission *s)
{
    if (s->plan.settings) {
        atoll_campaign_plan_fini(&s->plan);
    }
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
