/* campaign_plan.c - the options that make a campaign, and the folder made of them. */
#include "scheduler/campaign/campaign_plan.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "base/print.h"
#include "base/units.h"
#include "archive-h5/campaign/campaign.h"
#include "archive-h5/campaign/knowledge.h"
#include "mpi-eval/coordinator/resume.h"
#include "mpi-eval/operator/embedder.h"
#include "mpi-eval/operator/knowledge_briefs.h"
#include "archive-h5/campaign/prior.h"
#include "evolution/engine/engine.h"
#include "evolution/prompt/prompt.h"
#include "mpi-eval/operator/llm_queue.h"
#include "mpi-eval/operator/prompt_replay.h"
#include "mpi-eval/operator/roles.h"
#include "base/file.h"
#include "base/yaml.h"
#include "scheduler/campaign/batch_script.h"

/* A GPU measures a candidate in tens of milliseconds, a compilation takes up to ten times as long: so many are under
 * way that some are always compiled. */
#define DEVICE_QUEUE_DEPTH 16u
/* Two that compile, one that is measured, and some that wait for a comparison to end. */
#define CORES_QUEUE_DEPTH  6u
#define WALL_BUDGET_NS     120e9
#define OPTION_ROWS        29
#define COMMAND_LINE_BYTES 16384u /* of the command that makes a campaign */
#define ORIGIN_LIMIT_BYTES ((size_t)128 << 10)

#define FIELD(name) offsetof(struct atoll_plan_settings, name)

const struct atoll_option atoll_plan_options[] = {
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
    {"samples", 0, ATOLL_OPT_TEXT, FIELD(search.samples), "N", NULL, 0, 0, NULL,
     "Candidates of a task beside its own seeds: best of N with --strategy repeated; 0, as without it, is no "
     "limit."},
    {"seed", 0, ATOLL_OPT_TEXT, FIELD(search.seed), "N", NULL, 0, 0, NULL,
     "Seed of the search; random when not given, and kept in campaign.yaml."},
    {"strategy", 0, ATOLL_OPT_TEXT, FIELD(search.strategy), "NAME", NULL, 0, 0, NULL,
     "How it is searched: islands (populations of elites by behaviour, when nothing is given), beam, tree, "
     "staged "
     "or repeated."},
    {"model", 'm', ATOLL_OPT_TEXT, FIELD(model.model), "NAME", NULL, 0, 0, NULL,
     "Language model (or ensemble) that is asked beside the tuner, as the gateway calls it, or one a role: "
     "planner=A,executor=B,*=C. Roles are writer, planner, executor, analyser, orderer, refiner, extractor, "
     "templater, "
     "summarizer, distiller, prompter, judge and drafter (first drafts; writer where it is not named); "
     "without * "
     "the gateway's own roles say who the others are. writer@0=A is the writer of island 0 alone, @1=B all "
     "roles "
     "of island 1. "
     "Without this "
     "option the "
     "tuner works alone. How often a model is asked: --set ask_share, 0.5 when not given."},
    {"role", 0, ATOLL_OPT_LIST, FIELD(model.role), "ROLE:KEY=VALUE,...", NULL, 0, 0, NULL,
     "Parameters of a role, or of all (*): temperature, top-p, effort, max-tokens, candidates of one ask, "
     "context (tokens of the model, what prompts are cut to) and tools (calls of tools one ask may make, 0 "
     "none), as in "
     "planner:temperature=0.3,effort=high; what is not said is the gateway's."},
    {"embedder", 0, ATOLL_OPT_TEXT, FIELD(model.embedder), "NAME", NULL, 0, 0, NULL,
     "Model of the gateway that makes embeddings: which kernels are similar to a task is then said by these "
     "and by words."},
    {"gateway", 'g', ATOLL_OPT_TEXT, FIELD(model.gateway), "WHERE", NULL, 0, 0, NULL,
     "Where the gateway to models is: http://HOST:PORT, unix:PATH, spool:DIR (files, where no socket passes) "
     "or "
     "replay:FILE (a recording); ATOLL_GATEWAY when not given."},
    {"gateway-token", 0, ATOLL_OPT_TEXT, FIELD(model.token_file), "FILE", NULL, 0, 0, NULL,
     "File with the gateway's token, for http and unix; ATOLL_GATEWAY_TOKEN_FILE when not given."},
    {"ask-deadline", 0, ATOLL_OPT_DURATION, FIELD(model.deadline_s), "TIME", "15m", 1, 604800, NULL,
     "A question to a model that is not answered by then has failed."},
    {"only", 0, ATOLL_OPT_LIST, FIELD(only), "TASK", NULL, 0, 0, NULL, "Only this task, or these: a,b."},
    {"islands", 0, ATOLL_OPT_TEXT, FIELD(search.islands), "N", NULL, 0, 0, NULL, "Islands per task."},
    {"set", 0, ATOLL_OPT_LIST, FIELD(search.set), "NAME=VALUE", NULL, 0, 0, NULL,
     "One setting of the search, of those that --list-settings prints (--set help prints them too)."},
    {"reuse", 0, ATOLL_OPT_LIST, FIELD(reuse), "CAMPAIGN", NULL, 0, 0, NULL,
     "An earlier campaign: for the same tasks on the same backend the tuner begins with what it measured, "
     "and its best "
     "sources that are no seeds are tried again, also for tasks that compute the same on other shapes; "
     "models are shown "
     "its best kernels of tasks like theirs."},
    {"experience", 0, ATOLL_OPT_LIST, FIELD(experience), "FILE", NULL, 0, 0, NULL,
     "Hints that models are told beside Atoll's own: what `atoll experience export` and `import` write."},
    {"knowledge", 0, ATOLL_OPT_LIST, FIELD(knowledge), "DIR", NULL, 0, 0, NULL,
     "A folder of knowledge beside Atoll's own (share/atoll/knowledge), the site's and the user's: what "
     "models are "
     "told of. What "
     "it has under the same path takes the place of theirs. All of it is frozen with the campaign."},
    {"knowledge-except", 0, ATOLL_OPT_LIST, FIELD(knowledge_except), "FAMILY", NULL, 0, 0, NULL,
     "A family of operators of which models are shown no example and no kernel, and whose tasks begin with "
     "their baselines "
     "alone, to see what is found where nothing can be copied."},
    {"threads", 0, ATOLL_OPT_INT, FIELD(threads), "N", "0", 0, 4096, NULL,
     "Threads of a candidate on the cpu backend; 0 is all cores of the device but one."},
    {"sample-seconds", 0, ATOLL_OPT_DURATION, FIELD(sample_seconds), "TIME", "0", 0, 600, NULL,
     "Wall-clock limit of sampling one candidate on one bench variant; 0 takes 0.06 (cuda: 0.1) to 0.4 s, by "
     "how much time the search has for each task."},
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
    {"compile-memory", 0, ATOLL_OPT_TEXT, FIELD(compile_memory), "SIZE", NULL, 0, 0, NULL,
     "Memory that one compilation may take, such as 4G; of a Triton source, beyond what Triton itself has. "
     "By "
     "default 2G."},
    {"include-path", 0, ATOLL_OPT_TEXT, FIELD(include_path), "DIR", NULL, 0, 0, NULL,
     "Backend cuda: a folder of headers that candidates may include, such as CUTLASS."},
    {"python", 0, ATOLL_OPT_TEXT, FIELD(python), "FILE", "auto", 0, 0, NULL,
     "Python with torch, which is oracle of tasks of PyTorch and measures its own times as rivals, or none. "
     "auto: "
     "ATOLL_PYTHON, else the python3 of PATH where that has torch. The same one compiles Triton sources, "
     "where the "
     "setting triton wants some."},
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
    {"counters-budget", 0, ATOLL_OPT_DOUBLE, FIELD(counters_budget), "SHARE", "0.1", 0, 1, NULL,
     "Share of a device's time that counters may take; half of it goes to kernels that are only near. The "
     "best of each task "
     "is counted in any case, and a binary once."},
    {"sanitize", 0, ATOLL_OPT_TEXT, FIELD(sanitize), "WHICH", "auto", 0, 0, NULL,
     "Backend cuda: which kernels must pass compute-sanitizer, where it is installed: those of final duels "
     "(finals), none, or (auto) finals where the time that is kept for them is enough for all tasks."},
    {"sanitize-deadline", 0, ATOLL_OPT_DURATION, FIELD(sanitize_seconds), "TIME", "60", 1, 300, NULL,
     "Wall-clock limit of that for one kernel; what was not looked at by then is said in the duel's detail."},
    {0}};

void atoll_plan_search_defaults(const struct atoll_plan_settings *settings, struct atoll_search *ret_search)
{
    atoll_search_defaults(ret_search);
    ret_search->wall_budget_ns =
        settings->default_seconds > 0 ? settings->default_seconds * 1e9 : WALL_BUDGET_NS;
    if (strcmp(settings->backend, "cuda") == 0)
        ret_search->queue_depth = DEVICE_QUEUE_DEPTH;
    else if (strcmp(settings->backend, "cpu") == 0)
        ret_search->queue_depth = CORES_QUEUE_DEPTH;
}

static int search_choose(struct atoll_plan_settings *settings, struct atoll_search *ret_search,
                         struct atoll_err *err)
{
    atoll_plan_search_defaults(settings, ret_search);
    if (atoll_search_options_apply(&settings->search, ret_search, err) != 0)
        return -1;
    if (!atoll_search_options_has(&settings->search, "seed") &&
        getrandom(&ret_search->seed, sizeof(ret_search->seed), 0) != (ssize_t)sizeof(ret_search->seed)) {
        return atoll_err_errno(err, errno, "no random seed");
    }
    return atoll_model_options_apply(&settings->model, &settings->search, ret_search, err);
}

/* A short search is better off with more candidates than with narrow intervals: what decides between two of them is a duel.
 * So a task gets time for about SAMPLE_EVALUATIONS, of which sampling is SAMPLE_SHARE. */
#define SAMPLE_EVALUATIONS 50.0
#define SAMPLE_SHARE       0.4
#define SAMPLE_LEAST_S     0.1
#define SAMPLE_CPU_LEAST_S 0.06 /* a sample takes less there, now that all cores make it (docs/adr/0033) */
#define SAMPLE_MOST_S      0.4

double atoll_plan_sample_seconds(const char *backend, double wall_budget_ns, size_t task_count,
                                 unsigned ranks)
{
    double evaluators = ranks > 1 ? ranks - 1.0 : 1.0,
           least = strcmp(backend, "cpu") == 0 ? SAMPLE_CPU_LEAST_S : SAMPLE_LEAST_S;
    double seconds =
        wall_budget_ns / 1e9 * evaluators * SAMPLE_SHARE / (SAMPLE_EVALUATIONS * (double)task_count);
    return wall_budget_ns > 0 ? fmin(fmax(seconds, least), SAMPLE_MOST_S) : SAMPLE_MOST_S;
}

/* Four tools take about so long for one kernel (docs/benchmarks/gpu.md). */
#define SANITIZE_SECONDS 4.0

static int is_sanitize_auto(const struct atoll_plan_settings *settings)
{
    return strcmp(settings->sanitize, "auto") == 0;
}

/* "auto", when tasks are known: a run that is too short for it would end without any final duel. */
static int sanitize_choose(struct atoll_campaign_plan *plan, double evaluators, int is_quiet,
                           struct atoll_err *err)
{
    double kept = plan->search.finals_share * plan->search.wall_budget_ns / 1e9 * evaluators;
    int is_short = strcmp(plan->settings->backend, "cuda") == 0 && plan->search.wall_budget_ns > 0 &&
                   kept < SANITIZE_SECONDS * (double)plan->tasks.count;

    if (!is_sanitize_auto(plan->settings))
        return 0;
    if (is_short && !is_quiet) {
        fprintf(stderr,
                "atoll: this run is too short for compute-sanitizer on finalists: %.0f s are kept for %zu of "
                "%.0f s "
                "each; --sanitize finals insists\n",
                kept, plan->tasks.count, SANITIZE_SECONDS);
    }
    plan->settings->sanitize = is_short ? "none" : "finals";
    return atoll_setup_option(&plan->setup, "sanitize", plan->settings->sanitize, err) < 0 ? -1 : 0;
}

/* Checks what evaluators would refuse later, and completes it: the compiler follows the backend. */
static int setup_choose(const struct atoll_plan_settings *settings, struct atoll_setup *ret_setup,
                        struct atoll_err *err)
{
    const char *const given[][2] = {{"compiler", settings->compiler},
                                    {"compile-flags", settings->flags},
                                    {"compile-memory", settings->compile_memory},
                                    {"include-path", settings->include_path},
                                    {"python", settings->python},
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

static void words_put(struct atoll_buffer *out, const char *word)
{
    if (out->length)
        atoll_buffer_put_u8(out, ' ');
    atoll_shell_put(out, word);
}

/* What the campaign is made of and by, for people who read it later; a command line that is too long is left out. */
static int origin_fill(struct atoll_campaign_plan *plan, const char *const *suites, size_t suite_count,
                       struct atoll_err *err)
{
    char line[COMMAND_LINE_BYTES];
    size_t length = 0;
    FILE *own = fopen("/proc/self/cmdline", "re");

    if (own) {
        length = fread(line, 1, sizeof(line), own);
        fclose(own);
    }
    for (size_t at = 0; length < sizeof(line) && at < length; at += strlen(line + at) + 1)
        words_put(&plan->command_line, line + at);
    atoll_buffer_put_u8(&plan->command_line, '\0');
    for (size_t i = 0; i < suite_count; i++)
        words_put(&plan->suites, suites[i]);
    atoll_buffer_put_u8(&plan->suites, '\0');
    return atoll_buffer_check(&plan->command_line, err) != 0 ? -1 : atoll_buffer_check(&plan->suites, err);
}

int atoll_campaign_plan_make(struct atoll_campaign_plan *ret_plan, struct atoll_plan_settings *settings,
                             const char *const *suites, size_t suite_count, double evaluators, int is_quiet,
                             struct atoll_err *err)
{
    *ret_plan = (struct atoll_campaign_plan){.settings = settings};
    atoll_buffer_init(&ret_plan->suites, ORIGIN_LIMIT_BYTES);
    atoll_buffer_init(&ret_plan->command_line, ORIGIN_LIMIT_BYTES);
    atoll_buffer_init(&ret_plan->knowledge, ATOLL_KNOWLEDGE_JSON_BYTES);
    atoll_buffer_init(&ret_plan->except, ORIGIN_LIMIT_BYTES);
    atoll_buffer_init(&ret_plan->seedless, ORIGIN_LIMIT_BYTES);
    if (origin_fill(ret_plan, suites, suite_count, err) != 0 ||
        search_choose(settings, &ret_plan->search, err) != 0 ||
        setup_choose(settings, &ret_plan->setup, err) != 0 ||
        atoll_run_tasks_collect(&ret_plan->tasks, suites, suite_count, &settings->only, settings->backend,
                                ret_plan->search.triton, settings->model.where || settings->reuse.count > 0,
                                err) != 0) {
        return -1;
    }
    if ((settings->model.where || settings->knowledge.count > 0 || settings->experience.count > 0 ||
         settings->knowledge_except.count > 0) && /* nobody else is told of any */
        atoll_plan_knowledge_write(ret_plan, is_quiet, err) != 0) {
        return -1;
    }
    return sanitize_choose(ret_plan, evaluators, is_quiet, err);
}

void atoll_campaign_plan_fini(struct atoll_campaign_plan *plan)
{
    atoll_run_tasks_fini(&plan->tasks);
    atoll_buffer_fini(&plan->suites);
    atoll_buffer_fini(&plan->command_line);
    atoll_buffer_fini(&plan->knowledge);
    atoll_buffer_fini(&plan->except);
    atoll_buffer_fini(&plan->seedless);
    atoll_model_options_fini(&plan->settings->model);
}

void atoll_campaign_plan_log_reuse(const struct atoll_campaign_plan *plan)
{
    const struct atoll_option_list *reuse = &plan->settings->reuse;
    const struct atoll_reuse_counts *counts = &plan->reused;

    if (reuse->count == 0)
        return;
    if (counts->hints + counts->sources == 0) {
        atoll_print(stderr,
                    "atoll: warning: nothing is taken over from %s%s: no result there is of a task of this "
                    "run, or of one that computes "
                    "the same on other shapes, on the same backend\n",
                    reuse->items[0], reuse->count > 1 ? " and the others" : "");
        return;
    }
    fprintf(stderr, "atoll: taken over: %zu results and %zu sources, for %zu of %zu tasks\n", counts->hints,
            counts->sources, counts->tasks, plan->tasks.count);
    if (counts->like_tasks) {
        fprintf(stderr, "atoll: for %zu of them sources of a task that computes the same on other shapes\n",
                counts->like_tasks);
    }
    if (counts->other_models) {
        fprintf(stderr, "atoll: warning: for %zu of them only another device model has results\n",
                counts->other_models);
    }
}

/* What earlier campaigns know of the part's tasks. */
static int reuse_take(struct atoll_campaign_plan *plan, const struct atoll_plan_part *part,
                      struct atoll_buffer *out, struct atoll_err *err)
{
    const struct atoll_plan_settings *settings = plan->settings;
    struct atoll_reuse_counts counts = {0};
    struct atoll_reuse *reuse;
    char model[96];
    int status;

    if (settings->reuse.count == 0)
        return 0;
    atoll_reuse_model(settings->backend, model, sizeof(model));
    reuse = atoll_reuse_create(plan->tasks.tasks + part->first, part->count, settings->backend, model,
                               (const char *)plan->seedless.data, err);
    status = reuse ? 0 : -1;
    for (size_t i = 0; status == 0 && i < settings->reuse.count; i++)
        if (atoll_reuse_add(reuse, settings->reuse.items[i], err) != 0)
            status = atoll_err_add(err, "in --reuse %s", settings->reuse.items[i]);
    status = status == 0 ? atoll_reuse_write(reuse, out, &counts, err) : status;
    atoll_reuse_destroy(reuse);
    plan->reused.hints += counts.hints;
    plan->reused.sources += counts.sources;
    plan->reused.tasks += counts.tasks;
    plan->reused.like_tasks += counts.like_tasks;
    plan->reused.other_models += counts.other_models;
    return status;
}

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

/* Texts that the options of a folder point to. */
struct option_texts {
    char digest[ATOLL_ID_HEX], knowledge[ATOLL_ID_HEX], sweep[ATOLL_ID_HEX], ranks[24], threads[24],
        sample[32], ratio[32], budget[32], sanitize[32], deadline[32], prompts[16];
};

/* "0.32s" */
static void seconds_put(double seconds, char *ret_text, size_t bytes)
{
    char number[32];

    snprintf(ret_text, bytes, "%ss", atoll_number_text(seconds, number, sizeof(number)));
}

static void texts_fill(const struct atoll_campaign_plan *plan, const struct atoll_plan_part *part,
                       const struct atoll_buffer *prior, struct option_texts *texts)
{
    const struct atoll_plan_settings *settings = plan->settings;
    struct atoll_id prior_id = atoll_id_of(prior->data, prior->length),
                    knowledge_id = atoll_id_of(plan->knowledge.data, plan->knowledge.length);

    memset(texts, 0, sizeof(*texts));
    atoll_id_hex(&prior_id, texts->digest);
    atoll_id_hex(&knowledge_id, texts->knowledge);
    if (part->sweep)
        atoll_id_hex(part->sweep, texts->sweep);
    snprintf(texts->ranks, sizeof(texts->ranks), "%u", part->ranks);
    snprintf(texts->threads, sizeof(texts->threads), "%lld", settings->threads);
    seconds_put(settings->sample_seconds > 0
                    ? settings->sample_seconds
                    : atoll_plan_sample_seconds(settings->backend, part->search.wall_budget_ns, part->count,
                                                part->ranks),
                texts->sample, sizeof(texts->sample));
    atoll_number_text(settings->counters_ratio, texts->ratio, sizeof(texts->ratio));
    atoll_number_text(settings->counters_budget, texts->budget, sizeof(texts->budget));
    seconds_put(settings->sanitize_seconds, texts->sanitize, sizeof(texts->sanitize));
    snprintf(texts->prompts, sizeof(texts->prompts), "%d", ATOLL_PROMPT_VERSION);
    seconds_put(settings->model.deadline_s, texts->deadline, sizeof(texts->deadline));
}

/* What a resume needs of the options; returns how many there are. */
static size_t options_fill(const struct atoll_campaign_plan *plan, const struct option_texts *texts,
                           const struct atoll_buffer *prior, struct atoll_config_option *ret_options)
{
    const struct atoll_plan_settings *settings = plan->settings;
    const struct atoll_config_option options[OPTION_ROWS] = {
        {"ranks", texts->ranks},
        {"threads", texts->threads},
        {"sample-wall", texts->sample},
        {"backend", settings->backend},
        {"compiler", plan->setup.compiler},
        {"compile-flags", plan->setup.compile_flags},
        {settings->compile_memory ? "compile-memory" : NULL, settings->compile_memory},
        {"include-path", plan->setup.include_path},
        {"python", plan->setup.python},
        {"timing", settings->timing},
        {"counters", settings->counters},
        {"counters-ratio", texts->ratio},
        {"counters-budget", texts->budget},
        {"sanitize", settings->sanitize},
        {"sanitize-deadline", texts->sanitize},
        {ATOLL_ROLES_MODEL_OPTION, text_or_empty(settings->model.model)},
        {settings->model.roles && *settings->model.roles ? ATOLL_ROLES_OPTION : NULL,
         text_or_empty(settings->model.roles)},
        {"gateway", text_or_empty(settings->model.where)},
        {settings->model.embedder ? ATOLL_EMBEDDER_OPTION : NULL, text_or_empty(settings->model.embedder)},
        {"gateway-token", text_or_empty(settings->model.token)},
        {"ask-deadline", texts->deadline},
        {ATOLL_PROMPT_REPLAY_OPTION, texts->prompts},
        {ATOLL_CONFIG_SUITE, (const char *)plan->suites.data},
        {ATOLL_CONFIG_COMMAND_LINE, (const char *)plan->command_line.data},
        {prior->length ? ATOLL_PRIOR_OPTION : NULL, texts->digest},
        {plan->knowledge.length ? ATOLL_CAMPAIGN_KNOWLEDGE_OPTION : NULL, texts->knowledge},
        {plan->except.length > 1 ? ATOLL_KNOWLEDGE_EXCEPT_OPTION : NULL, (const char *)plan->except.data},
        {plan->seedless.length > 1 ? ATOLL_RESUME_SEEDLESS_OPTION : NULL, (const char *)plan->seedless.data},
        {*texts->sweep ? ATOLL_LLM_QUEUE_ACCOUNT_OPTION : NULL, texts->sweep}};
    size_t count = 0;

    for (size_t i = 0; i < OPTION_ROWS; i++)
        if (options[i].key)
            ret_options[count++] = options[i];
    return count;
}

static int folder_create(const struct atoll_campaign_plan *plan, const struct atoll_plan_part *part,
                         const struct atoll_buffer *prior, const char *dir, struct atoll_err *err)
{
    struct option_texts texts;
    struct atoll_config_option options[OPTION_ROWS];
    int has_file = plan->knowledge.length > 0 && !part->sweep; /* parts have that of the whole */
    struct atoll_config config = {.engine_version = ATOLL_ENGINE_VERSION,
                                  .created_unix_ns = atoll_clock_unix_ns(),
                                  .atoll_version = ATOLL_VERSION,
                                  .search = part->search,
                                  .options = options,
                                  .prior = prior->length ? prior->data : NULL,
                                  .prior_length = prior->length,
                                  .knowledge = has_file ? plan->knowledge.data : NULL,
                                  .knowledge_length = has_file ? plan->knowledge.length : 0,
                                  .task_count = part->count};
    struct atoll_campaign_task *tasks = calloc(part->count, sizeof(*tasks));
    struct atoll_campaign *campaign = NULL;

    if (!tasks)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the campaign");
    texts_fill(plan, part, prior, &texts);
    config.option_count = options_fill(plan, &texts, prior, options);
    for (size_t i = 0; i < part->count; i++) {
        const struct atoll_task *task = plan->tasks.tasks[part->first + i];

        tasks[i] = (struct atoll_campaign_task){task->name, plan->tasks.dirs[part->first + i], task->id};
    }
    config.tasks = tasks;
    if (getrandom(&config.id, sizeof(config.id), 0) != (ssize_t)sizeof(config.id))
        atoll_err_errno(err, errno, "no random id");
    else
        campaign = atoll_campaign_create(dir, &config, NULL, err);
    free(tasks);
    atoll_campaign_close(campaign);
    return campaign ? 0 : -1;
}

struct atoll_plan_part atoll_campaign_plan_whole(const struct atoll_campaign_plan *plan, unsigned ranks)
{
    return (struct atoll_plan_part){.count = plan->tasks.count, .search = plan->search, .ranks = ranks};
}

int atoll_campaign_plan_create(struct atoll_campaign_plan *plan, const struct atoll_plan_part *part,
                               const char *dir, struct atoll_err *err)
{
    struct atoll_buffer prior;
    int status;

    atoll_buffer_init(&prior, ATOLL_PRIOR_LIMIT_BYTES);
    status = atoll_folder_make_parents(dir, err);
    status = status == 0 ? reuse_take(plan, part, &prior, err) : status;
    status = status == 0 ? folder_create(plan, part, &prior, dir, err) : status;
    atoll_buffer_fini(&prior);
    return status;
}
