/* run.c - `atoll run`. */
#include "scheduler/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include "archive-h5/prior.h"
#include "evolution/engine.h"
#include "evolution/prompt.h"
#include "mpi-eval/gpus.h"
#include "mpi-eval/rehearse.h"
#include "mpi-eval/setup.h"
#include "scheduler/drive.h"
#include "scheduler/model_options.h"
#include "scheduler/reuse.h"
#include "scheduler/run_tasks.h"
#include "scheduler/search_options.h"

struct run_settings {
    const char *out, *backend, *compiler, *flags, *include_path, *timing, *counters, *sanitize, *ack_log;
    long long ranks, threads;
    double sample_seconds, counters_ratio, sanitize_seconds;
    struct atoll_option_list only, reuse;
    struct atoll_search_options search;
    struct atoll_model_options model;
    int list_settings, json, quiet, create_only;
};

/* A GPU measures a candidate in tens of milliseconds, a compilation takes up to ten times as long: so many are under
 * way that some are always compiled. */
#define DEVICE_QUEUE_DEPTH 16u
#define WALL_BUDGET_NS     120e9

#define FIELD(name) offsetof(struct run_settings, name)

static const struct atoll_option run_options[] = {
    {"output", 'o', ATOLL_OPT_TEXT, FIELD(out), "DIR", "my-campaign", 0, 0, NULL,
     "Directory of the campaign; must not hold one yet."},
    {"ranks", 'n', ATOLL_OPT_INT, FIELD(ranks), "N", "1", 1, 4096, NULL,
     "MPI ranks. 1 needs no mpirun; with more, rank 0 coordinates and every other rank has an evaluator."},
    {"seconds", 's', ATOLL_OPT_TEXT, FIELD(search.seconds), "TIME", NULL, 0, 0, NULL,
     "Wall-clock budget, finals included (90, 2m, 1h30m); 0 is no limit, 120 what is taken when it is not "
     "given."},
    {"evaluations", 'e', ATOLL_OPT_TEXT, FIELD(search.evaluations), "N", NULL, 0, 0, NULL,
     "Budget of evaluations; 0, as without it, is no limit."},
    {"device-seconds", 0, ATOLL_OPT_TEXT, FIELD(search.device_seconds), "TIME", NULL, 0, 0, NULL,
     "Budget of occupied device time, that of all devices added up; 0 is no limit."},
    {"tokens", 0, ATOLL_OPT_TEXT, FIELD(search.tokens), "N", NULL, 0, 0, NULL,
     "Budget of tokens of language models; 0 is no limit."},
    {"money", 0, ATOLL_OPT_TEXT, FIELD(search.money), "DOLLARS", NULL, 0, 0, NULL,
     "Budget of what language models cost; 0 is no limit."},
    {"floor-goal", 0, ATOLL_OPT_TEXT, FIELD(search.floor_goal), "PERCENT", NULL, 0, 0, NULL,
     "A task is done when its best reaches this share of what the device allows at best."},
    {"seed", 0, ATOLL_OPT_TEXT, FIELD(search.seed), "N", NULL, 0, 0, NULL,
     "Seed of the search; random when not given, and kept in campaign.yaml."},
    {"strategy", 0, ATOLL_OPT_TEXT, FIELD(search.strategy), "NAME", NULL, 0, 0, NULL,
     "How it is searched: islands (populations of elites by behaviour, when nothing is given), beam, tree, "
     "staged "
     "or repeated."},
    {"model", 'm', ATOLL_OPT_TEXT, FIELD(model.model), "NAME", NULL, 0, 0, NULL,
     "Language model (or ensemble) that writes candidates beside the tuner, as the gateway calls it; without "
     "it the "
     "tuner works alone. How often it is asked: --set ask_share, 0.5 when not given."},
    {"gateway", 'g', ATOLL_OPT_TEXT, FIELD(model.gateway), "WHERE", NULL, 0, 0, NULL,
     "Where the gateway to models is: http://HOST:PORT, unix:PATH, spool:DIR (files, where no socket passes) "
     "or "
     "replay:FILE (a recording); ATOLL_GATEWAY when not given."},
    {"gateway-token", 0, ATOLL_OPT_TEXT, FIELD(model.token_file), "FILE", NULL, 0, 0, NULL,
     "File with the gateway's token, for http and unix; ATOLL_GATEWAY_TOKEN_FILE when not given."},
    {"ask-deadline", 0, ATOLL_OPT_DURATION, FIELD(model.deadline_s), "TIME", "15m", 1, 604800, NULL,
     "A question to a model that is not answered by then has failed."},
    {"only", 0, ATOLL_OPT_LIST, FIELD(only), "TASK", NULL, 0, 0, NULL, "Only this task."},
    {"islands", 0, ATOLL_OPT_TEXT, FIELD(search.islands), "N", NULL, 0, 0, NULL, "Islands per task."},
    {"set", 0, ATOLL_OPT_LIST, FIELD(search.set), "NAME=VALUE", NULL, 0, 0, NULL,
     "One setting of the search, of those that --list-settings prints (--set help prints them too)."},
    {"list-settings", 0, ATOLL_OPT_FLAG, FIELD(list_settings), NULL, NULL, 0, 0, NULL,
     "Print every setting of the search with its values, default and meaning; with --json as JSON."},
    {"reuse", 0, ATOLL_OPT_LIST, FIELD(reuse), "CAMPAIGN", NULL, 0, 0, NULL,
     "An earlier campaign: for the same tasks on the same backend the tuner begins with what it measured, "
     "and its best "
     "sources that are no seeds are tried again."},
    {"threads", 0, ATOLL_OPT_INT, FIELD(threads), "N", "0", 0, 4096, NULL,
     "Threads of a candidate on the cpu backend; 0 is all cores of the device but one."},
    {"sample-seconds", 0, ATOLL_OPT_DURATION, FIELD(sample_seconds), "TIME", "0.4", 0.01, 600, NULL,
     "Wall-clock limit of sampling one candidate on one bench variant."},
    {"backend", 'b', ATOLL_OPT_TEXT, FIELD(backend), "NAME", "cpu", 0, 0, NULL,
     "What measures: cpu evolves the .c seeds on this machine's cores, cuda the .cu seeds on its GPUs, one "
     "evaluator "
     "for each."},
    {"compiler", 0, ATOLL_OPT_TEXT, FIELD(compiler), "COMMAND", NULL, 0, 0, NULL,
     "Compiler for candidates: a C compiler, by default cc; with the backend cuda nvrtc (default), nvcc or "
     "the path of "
     "an nvcc."},
    {"compile-flags", 0, ATOLL_OPT_TEXT, FIELD(flags), "FLAGS", NULL, 0, 0, NULL,
     "Flags candidates and baselines are compiled with; by default " ATOLL_SETUP_COMPILE_FLAGS
     ", with the backend cuda none."},
    {"include-path", 0, ATOLL_OPT_TEXT, FIELD(include_path), "DIR", NULL, 0, 0, NULL,
     "Backend cuda: a folder of headers that candidates may include, such as CUTLASS."},
    {"timing", 0, ATOLL_OPT_TEXT, FIELD(timing), "WHICH", "cold", 0, 0, NULL,
     "Caches before each timed run: cold flushes them; warm runs the candidate once on other contents, "
     "writes those of "
     "the sample and flushes nothing. Elites, comparisons and baselines are all timed alike."},
    {"counters", 0, ATOLL_OPT_TEXT, FIELD(counters), "WHICH", "near", 0, 0, NULL,
     "Backend cuda: whose hardware counters are read: of all correct candidates, of those near the best of "
     "their cell, "
     "or of none."},
    {"counters-ratio", 0, ATOLL_OPT_DOUBLE, FIELD(counters_ratio), "RATIO", "1.5", 1, 1e6, NULL,
     "What is near: at most this many times the time of the best of its cell."},
    {"sanitize", 0, ATOLL_OPT_TEXT, FIELD(sanitize), "WHICH", "auto", 0, 0, NULL,
     "Backend cuda: which kernels must pass compute-sanitizer, where it is installed: those of final duels "
     "(finals), none, or (auto) finals where the time that is kept for them is enough for all tasks."},
    {"sanitize-deadline", 0, ATOLL_OPT_DURATION, FIELD(sanitize_seconds), "TIME", "60", 1, 300, NULL,
     "Wall-clock limit of that for one kernel; what was not looked at by then is said in the duel's detail."},
    {"create-only", 0, ATOLL_OPT_FLAG, FIELD(create_only), NULL, NULL, 0, 0, NULL,
     "Only make the campaign directory; `atoll resume DIR` starts it."},
    {"ack-log", 0, ATOLL_OPT_TEXT, FIELD(ack_log), "FILE", NULL, 0, 0, NULL,
     "Append the number of each evaluation once it is durable (for tests)."},
    {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL,
     "Progress as JSON lines on standard error and the result as JSON on standard output."},
    {"quiet", 'q', ATOLL_OPT_FLAG, FIELD(quiet), NULL, NULL, 0, 0, NULL, "No progress, only the result."},
    {0}};

static const struct atoll_command run_command = {
    "run",
    "SUITE...",
    "evolve the tasks of a suite on this machine",
    "Creates a campaign directory, evaluates seeds and tuned candidates of every task on this machine's "
    "evaluators, and leaves "
    "archive.h5 and report.html in it. SUITE is a folder of tasks or one task's folder.\n\n"
    "A campaign that was killed or interrupted goes on with `atoll resume DIR`; nothing acknowledged is "
    "lost.",
    "atoll run suites/starter -o my-campaign\natoll run suites/starter -o quick --seconds 30 --only "
    "softmax_rows --seed 7\n"
    "atoll run suites/starter -o again --reuse my-campaign\n"
    "atoll run suites/starter -o trees --strategy tree --set tree_drafts=4 --evaluations 500",
    run_options};

/* What holds where nothing is given; the seed is drawn later. */
static void search_defaults(const struct run_settings *settings, struct atoll_search *ret_search)
{
    atoll_search_defaults(ret_search);
    ret_search->wall_budget_ns = WALL_BUDGET_NS;
    if (strcmp(settings->backend, "cuda") == 0) {
        ret_search->queue_depth = DEVICE_QUEUE_DEPTH;
    }
}

static int search_choose(struct run_settings *settings, struct atoll_search *ret_search,
                         struct atoll_err *err)
{
    search_defaults(settings, ret_search);
    if (atoll_search_options_apply(&settings->search, ret_search, err) != 0) {
        return -1;
    }
    if (!atoll_search_options_has(&settings->search, "seed") &&
        getrandom(&ret_search->seed, sizeof(ret_search->seed), 0) != (ssize_t)sizeof(ret_search->seed)) {
        return atoll_err_errno(err, errno, "no random seed");
    }
    return atoll_model_options_apply(&settings->model, &settings->search, ret_search, err);
}

static int wants_listing(const struct run_settings *settings)
{
    for (size_t i = 0; i < settings->search.set.count; i++) {
        if (strcmp(settings->search.set.items[i], "help") == 0) {
            return 1;
        }
    }
    return settings->list_settings;
}

static int list_settings(const struct run_settings *settings)
{
    struct atoll_search defaults;

    search_defaults(settings, &defaults);
    if (settings->json) {
        atoll_search_options_list_json(&defaults, stdout);
    } else {
        atoll_search_options_list(&defaults, stdout);
    }
    return 0;
}

static int64_t unix_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* mkdir -p of the folder that will hold the campaign. */
static int make_parents(const char *path, struct atoll_err *err)
{
    char parent[4096];

    if ((size_t)snprintf(parent, sizeof(parent), "%s", path) >= sizeof(parent)) {
        return atoll_err_set(err, ATOLL_E_USAGE, "the path of -o is longer than %zu bytes",
                             sizeof(parent) - 1);
    }
    for (char *slash = strchr(parent + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(parent, 0777) != 0 && errno != EEXIST) {
            return atoll_err_errno(err, errno, "cannot make the folder %s", parent);
        }
        *slash = '/';
    }
    return 0;
}

/* Four tools take about so long for one kernel (docs/benchmarks/gpu.md). */
#define SANITIZE_SECONDS 4.0

/* A run that is too short for it would end without any final duel. */
static const char *sanitize_auto(const struct run_settings *settings, const struct atoll_search *search,
                                 const struct atoll_run_tasks *plan)
{
    double evaluators = settings->ranks > 1 ? (double)(settings->ranks - 1) : 1;
    double kept = search->finals_share * search->wall_budget_ns / 1e9 * evaluators;

    if (strcmp(settings->backend, "cuda") != 0 || !(search->wall_budget_ns > 0) ||
        kept >= SANITIZE_SECONDS * (double)plan->count) {
        return "finals";
    }
    if (!settings->quiet && !settings->json) {
        fprintf(stderr,
                "atoll: this run is too short for compute-sanitizer on finalists: %.0f s are kept for %zu of "
                "%.0f s "
                "each; --sanitize finals insists\n",
                kept, plan->count, SANITIZE_SECONDS);
    }
    return "none";
}

static int is_sanitize_auto(const struct run_settings *settings)
{
    return strcmp(settings->sanitize, "auto") == 0;
}

/* When tasks are known. */
static int sanitize_choose(struct run_settings *settings, const struct atoll_search *search,
                           const struct atoll_run_tasks *plan, struct atoll_setup *setup,
                           struct atoll_err *err)
{
    if (!is_sanitize_auto(settings)) {
        return 0;
    }
    settings->sanitize = sanitize_auto(settings, search, plan);
    return atoll_setup_option(setup, "sanitize", settings->sanitize, err) < 0 ? -1 : 0;
}

/* Checks what evaluators would refuse later, and completes it: the compiler follows the backend. */
static int setup_choose(const struct run_settings *settings, struct atoll_setup *ret_setup,
                        struct atoll_err *err)
{
    const char *const given[][2] = {{"compiler", settings->compiler},
                                    {"compile-flags", settings->flags},
                                    {"include-path", settings->include_path},
                                    {"timing", settings->timing},
                                    {"counters", settings->counters},
                                    {"sanitize", is_sanitize_auto(settings) ? NULL : settings->sanitize},
                                    {"backend", settings->backend}};

    atoll_setup_defaults(ret_setup);
    for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
        if (given[i][1] && atoll_setup_option(ret_setup, given[i][0], given[i][1], err) < 0) {
            atoll_err_add(err, "in --%s", given[i][0]);
            err->code = ATOLL_E_USAGE;
            return -1;
        }
    }
    return 0;
}

/* One line on what was taken over, or why nothing was. */
static void reuse_say(const struct atoll_option_list *reuse, size_t task_count,
                      const struct atoll_reuse_counts *counts)
{
    if (counts->hints + counts->sources == 0) {
        fprintf(stderr,
                "atoll: warning: nothing is taken over from %s%s: no result there is of a task of this run, "
                "unchanged, on the same backend\n",
                reuse->items[0], reuse->count > 1 ? " and the others" : "");
        return;
    }
    fprintf(stderr, "atoll: taken over: %zu results and %zu sources, for %zu of %zu tasks\n", counts->hints,
            counts->sources, counts->tasks, task_count);
    if (counts->other_models) {
        fprintf(stderr, "atoll: warning: for %zu of them only another device model has results\n",
                counts->other_models);
    }
}

static int reuse_read(struct atoll_reuse *reuse, const struct atoll_option_list *campaigns,
                      struct atoll_buffer *out, struct atoll_reuse_counts *ret_counts, struct atoll_err *err)
{
    for (size_t i = 0; i < campaigns->count; i++) {
        if (atoll_reuse_add(reuse, campaigns->items[i], err) != 0) {
            return atoll_err_add(err, "in --reuse %s", campaigns->items[i]);
        }
    }
    return atoll_reuse_write(reuse, out, ret_counts, err);
}

static int reuse_take(const struct run_settings *settings, const struct atoll_run_tasks *plan,
                      struct atoll_buffer *out, struct atoll_err *err)
{
    struct atoll_reuse_counts counts = {0};
    struct atoll_reuse *reuse;
    char model[96];
    int status;

    if (settings->reuse.count == 0) {
        return 0;
    }
    atoll_reuse_model(settings->backend, model, sizeof(model));
    reuse = atoll_reuse_create(plan->tasks, plan->count, settings->backend, model, err);
    status = reuse ? reuse_read(reuse, &settings->reuse, out, &counts, err) : -1;
    atoll_reuse_destroy(reuse);
    if (status == 0) {
        reuse_say(&settings->reuse, plan->count, &counts);
    }
    return status;
}

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

/* The campaign keeps what a resume needs as options. */
static int create_campaign(const struct run_settings *settings, const struct atoll_search *search,
                           const struct atoll_setup *setup, const struct atoll_run_tasks *plan,
                           const struct atoll_buffer *prior, struct atoll_err *err)
{
    char digest[ATOLL_ID_HEX], ranks[24], threads[24], sample[32], ratio[32], sanitize[32], deadline[32],
        prompts[16];
    const struct atoll_campaign_option options[] = {{"ranks", ranks},
                                                    {"threads", threads},
                                                    {"sample-wall", sample},
                                                    {"backend", settings->backend},
                                                    {"compiler", setup->compiler},
                                                    {"compile-flags", setup->compile_flags},
                                                    {"include-path", setup->include_path},
                                                    {"timing", settings->timing},
                                                    {"counters", settings->counters},
                                                    {"counters-ratio", ratio},
                                                    {"sanitize", settings->sanitize},
                                                    {"sanitize-deadline", sanitize},
                                                    {"model", text_or_empty(settings->model.model)},
                                                    {"gateway", text_or_empty(settings->model.where)},
                                                    {"gateway-token", text_or_empty(settings->model.token)},
                                                    {"ask-deadline", deadline},
                                                    {ATOLL_REHEARSAL_OPTION, prompts},
                                                    {ATOLL_PRIOR_OPTION, digest}};
    struct atoll_id prior_id = atoll_id_of(prior->data, prior->length);
    int has_prior = prior->length > 0;
    struct atoll_campaign_config config = {.engine_version = ATOLL_ENGINE_VERSION,
                                           .created_unix_ns = unix_ns(),
                                           .atoll_version = ATOLL_VERSION,
                                           .search = *search,
                                           .options = options,
                                           .option_count = sizeof(options) / sizeof(options[0]) - !has_prior,
                                           .prior = has_prior ? prior->data : NULL,
                                           .prior_length = prior->length,
                                           .task_count = plan->count};
    struct atoll_campaign_task *tasks = calloc(plan->count, sizeof(*tasks));
    struct atoll_campaign *campaign = NULL;

    atoll_id_hex(&prior_id, digest);
    snprintf(ranks, sizeof(ranks), "%lld", settings->ranks);
    snprintf(threads, sizeof(threads), "%lld", settings->threads);
    snprintf(sample, sizeof(sample), "%.17gs", settings->sample_seconds);
    snprintf(ratio, sizeof(ratio), "%.17g", settings->counters_ratio);
    snprintf(sanitize, sizeof(sanitize), "%.17gs", settings->sanitize_seconds);
    snprintf(prompts, sizeof(prompts), "%d", ATOLL_PROMPT_VERSION);
    snprintf(deadline, sizeof(deadline), "%.17gs", settings->model.deadline_s);
    if (!tasks) {
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the campaign");
    }
    for (size_t i = 0; i < plan->count; i++) {
        tasks[i].name = plan->tasks[i]->name;
        tasks[i].dir = plan->dirs[i];
        tasks[i].id = plan->tasks[i]->id;
    }
    config.tasks = tasks;
    if (getrandom(&config.id, sizeof(config.id), 0) != (ssize_t)sizeof(config.id)) {
        atoll_err_errno(err, errno, "no random id");
    } else {
        campaign = atoll_campaign_create(settings->out, &config, NULL, err);
    }
    free(tasks);
    atoll_campaign_close(campaign);
    return campaign ? 0 : -1;
}

/* Said before a campaign is made that could not begin. */
static int devices_check(const struct run_settings *settings, struct atoll_err *err)
{
    struct atoll_gpus *gpus;
    if (settings->create_only || strcmp(settings->backend, "cuda") != 0) {
        return 0;
    }
    gpus = calloc(1, sizeof(*gpus));
    if (gpus == NULL) {
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the list of GPUs");
    }
    atoll_gpus_list(getenv("CUDA_VISIBLE_DEVICES"), "/dev", gpus);
    int status = gpus->count > 0
                     ? 0
                     : atoll_err_set(err, ATOLL_E_MISSING,
                                     "%s; run on a node with one, or make the campaign here with "
                                     "--create-only and resume it there",
                                     gpus->are_hidden ? "CUDA_VISIBLE_DEVICES hides every GPU of this machine"
                                                      : "this machine has no NVIDIA GPU");
    free(gpus);
    return status;
}

static int run_run(int argc, char **argv, struct atoll_err *err)
{
    struct run_settings settings = {0};
    const char *suites[16];
    struct atoll_run_tasks plan = {0};
    struct atoll_search search;
    struct atoll_setup setup;
    struct atoll_drive drive;
    struct atoll_buffer prior;
    size_t count;
    int status = atoll_verb_parse(&run_command, argc, argv, &settings, suites, 16, &count, err);

    if (status != 0) {
        return status > 0 ? 0 : atoll_code_exit_status(err->code);
    }
    if (wants_listing(&settings)) {
        return list_settings(&settings);
    }
    if (count == 0) {
        atoll_err_set(err, ATOLL_E_USAGE,
                      "atoll run: name a suite, for example `atoll run suites/starter -o my-campaign`");
        return atoll_code_exit_status(err->code);
    }
    atoll_buffer_init(&prior, ATOLL_PRIOR_LIMIT_BYTES);
    status = search_choose(&settings, &search, err);
    status = status == 0 ? setup_choose(&settings, &setup, err) : status;
    status = status == 0
                 ? atoll_run_tasks_collect(&plan, suites, count, &settings.only, settings.backend, err)
                 : status;
    status = status == 0 ? sanitize_choose(&settings, &search, &plan, &setup, err) : status;
    status = status == 0 ? devices_check(&settings, err) : status;
    status = status == 0 ? make_parents(settings.out, err) : status;
    status = status == 0 ? reuse_take(&settings, &plan, &prior, err) : status;
    status = status == 0 ? create_campaign(&settings, &search, &setup, &plan, &prior, err) : status;
    atoll_run_tasks_fini(&plan);
    atoll_buffer_fini(&prior);
    atoll_model_options_fini(&settings.model);
    if (status != 0) {
        return atoll_code_exit_status(err->code);
    }
    if (settings.create_only) {
        printf("%s is ready; next: atoll resume %s\n", settings.out, settings.out);
        return 0;
    }
    drive = (struct atoll_drive){settings.out,
                                 (unsigned)settings.ranks,
                                 atoll_drive_mode(settings.json, settings.quiet),
                                 settings.ack_log,
                                 settings.json,
                                 {NULL}};
    return atoll_drive_campaign(&drive, err);
}

const struct atoll_verb atoll_verb_run = {&run_command, run_run};
