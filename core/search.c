#include "core/search.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/spelling.h"
#include "core/ask.h"
#include "core/tool_turn.h"

const char *atoll_language_name(enum atoll_language language)
{
    static const char *const names[ATOLL_LANGUAGE_COUNT] = {[ATOLL_LANGUAGE_C] = "c",
                                                            [ATOLL_LANGUAGE_CUDA] = "cuda",
                                                            [ATOLL_LANGUAGE_TRITON] = "triton",
                                                            [ATOLL_LANGUAGE_CUDA_TRITON] = "cuda"};
    return (unsigned)language < ATOLL_LANGUAGE_COUNT ? names[language] : "unknown";
}

int atoll_language_takes(enum atoll_language language, const char *name)
{
    return strcmp(name, atoll_language_name(language)) == 0 ||
           (language == ATOLL_LANGUAGE_CUDA_TRITON && strcmp(name, "triton") == 0);
}

enum atoll_language atoll_language_of_backend(const char *backend, enum atoll_triton triton)
{
    static const enum atoll_language device[ATOLL_TRITON_COUNT] = {
        ATOLL_LANGUAGE_CUDA, ATOLL_LANGUAGE_CUDA_TRITON, ATOLL_LANGUAGE_TRITON};
    if (strcmp(backend, "cuda") != 0)
        return ATOLL_LANGUAGE_C;
    return (unsigned)triton < ATOLL_TRITON_COUNT ? device[triton] : ATOLL_LANGUAGE_CUDA;
}

const char *atoll_language_of_ask(enum atoll_language language, const char *parent, uint64_t ask)
{
    static const char *const both[] = {"cuda", "triton"};
    if (parent && atoll_language_takes(language, parent))
        for (size_t i = 0; i < sizeof(both) / sizeof(*both); i++)
            if (strcmp(both[i], parent) == 0)
                return both[i];
    return language == ATOLL_LANGUAGE_CUDA_TRITON ? both[ask % 2] : atoll_language_name(language);
}

static const char *const form_names[] = {"log", "clipped"};
static const char *const strategy_names[ATOLL_STRATEGY_COUNT] = {
    [ATOLL_STRATEGY_ISLANDS] = "islands",   [ATOLL_STRATEGY_BEAM] = "beam",
    [ATOLL_STRATEGY_TREE] = "tree",         [ATOLL_STRATEGY_STAGED] = "staged",
    [ATOLL_STRATEGY_REPEATED] = "repeated",
};
static const char *const topology_names[ATOLL_TOPOLOGY_COUNT] = {"none", "ring", "random"};
static const char *const policy_names[ATOLL_TREE_POLICY_COUNT] = {"greedy", "uct"};
static const char *const triton_names[ATOLL_TRITON_COUNT] = {"none", "beside", "alone"};
static const char *const judge_names[ATOLL_JUDGE_MODE_COUNT] = {"off", "finals", "all"};
static const char *const prompt_share_names[ATOLL_PROMPT_SHARE_COUNT] = {"own", "shared"};
static const char *const sharing_names[ATOLL_SHARING_COUNT] = {"improvement", "equal"};

const char *atoll_strategy_name(unsigned strategy)
{
    return strategy < ATOLL_STRATEGY_COUNT ? strategy_names[strategy] : "unknown";
}

int atoll_search_leaves_params(const struct atoll_search *search)
{
    return search->ask_share >= 1 &&
           (search->strategy == ATOLL_STRATEGY_BEAM || search->strategy == ATOLL_STRATEGY_TREE);
}

void atoll_search_defaults(struct atoll_search *ret_search)
{
    *ret_search = (struct atoll_search){
        .seed = 1,
        .islands = 2,
        .generation_size = 8,
        .migration_interval = 4,
        .selection_share = {[ATOLL_SELECT_UNIFORM] = 0.1, [ATOLL_SELECT_FITNESS] = 0.9},
        .fitness_form = ATOLL_FITNESS_LOG,
        .finals_share = 0.12,
        .finals_tries = 3,
        .queue_depth = 3,
        .alpha = 0.05,
        .margin = 0.01,
        .pair_limit = 16,
        .noop_interval = 10,
        .stagnation_limit = 60,
        .grid = 1,
        .gradients = 1,
        .roles = 1,
        .inspirations = 2,
        .topology = ATOLL_TOPOLOGY_RING,
        .stagnation_migration = 0.5,
        .stagnation_generations = 5,
        .tuners = UINT32_MAX,
        .racing = 1,
        .sharing = ATOLL_SHARING_IMPROVEMENT,
        .asks = 2,
        .beam_width = 6,
        .beam_plans = 12,
        .beam_attempts = 2,
        .beam_iterations = 16,
        .tree_drafts = 10,
        .tree_policy = ATOLL_TREE_UCT,
        .tree_exploration = 1.4,
        .tree_children = 8,
        .stage_rounds = 5,
        .staged_runs = 1,
        .error_control = ATOLL_ERROR_RECYCLING,
        .memory = 1,
        .memory_top = 8,
        .memory_size = 16,
        .memory_gain = 1.04,
        .memory_loss = 1.15,
        .hints = 1,
        .trajectory = 1,
        .tools = 8,
        .template_rounds = 2,
        .template_count = 8,
        .ask_candidates = 1,
        .distil = 1,
        .knowledge = 2,
        .judge_limit = 0.5,
        .prompt_evolution = 1,
        .prompt_interval = 10,
        .prompt_archive = 16,
        .shapes = 3,
        .translate = 1,
        .baseline_rounds = 5,
        .analyses = 16,
    };
}

void atoll_search_unsaid(struct atoll_search *ret_search)
{
    atoll_search_defaults(ret_search);
    ret_search->baseline_rounds = 0; /* of earlier journals: their searches gave an unstable baseline up */
    ret_search->analyses = 0;        /* and stages alone had an analyser */
}

double atoll_search_log_margin(const struct atoll_search *s)
{
    return log1p(s->margin);
}

/* The order is the order of the bytes. */
#define FIELD(name, kind, min, max, summary)                                                                 \
    {                                                                                                        \
        #name, ATOLL_SEARCH_##kind, offsetof(struct atoll_search, name), min, max, NULL, NULL, summary       \
    }
/* A whole number whose highest value has a word of its own. */
#define COUNT(name, min, top, summary)                                                                       \
    {                                                                                                        \
        #name, ATOLL_SEARCH_U32, offsetof(struct atoll_search, name), min, COUNT_MAX, NULL, top, summary     \
    }
#define NAMES(name, table, summary)                                                                          \
    {                                                                                                        \
        #name, ATOLL_SEARCH_NAME, offsetof(struct atoll_search, name), 0,                                    \
            (int)(sizeof(table) / sizeof(*table)) - 1, table, NULL, summary                                  \
    }
#define SHARE(name, rule, summary)                                                                           \
    {                                                                                                        \
        #name, ATOLL_SEARCH_F64, offsetof(struct atoll_search, selection_share) + (rule) * sizeof(double),   \
            0, 1e6, NULL, NULL, summary                                                                      \
    }
#define COUNT_MAX 4294967295.0
#define NS_MAX    1e18 /* thirty years */

static const struct atoll_search_field fields[] = {
    FIELD(seed, U64, 0, HUGE_VAL, "seed of all choices"),
    FIELD(islands, U32, 1, ATOLL_ISLAND_LIMIT, "populations per task"),
    COUNT(generation_size, 1, "unlimited", "evaluated candidates of an island that make a generation"),
    COUNT(migration_interval, 0, "unlimited", "generations between migrations, 0 = never"),
    SHARE(share_uniform, ATOLL_SELECT_UNIFORM, "parents: every occupied cell alike"),
    SHARE(share_fitness, ATOLL_SELECT_FITNESS, "parents: by fitness above the worst of the island"),
    SHARE(share_curiosity, ATOLL_SELECT_CURIOSITY, "parents: by the magnitude of the cell's gradient"),
    SHARE(share_island, ATOLL_SELECT_ISLAND, "parents: by the island's role"),
    NAMES(fitness_form, form_names, "form of the fitness"),
    FIELD(evaluation_budget, U64, 0, HUGE_VAL, "evaluations of the run, 0 = no limit"),
    FIELD(device_budget_ns, F64, 0, NS_MAX, "occupied device time of the run, 0 = no limit"),
    FIELD(wall_budget_ns, F64, 0, NS_MAX, "wall time of the run, 0 = no limit"),
    FIELD(finals_share, F64, 0, 0.9, "of the time budgets kept for final duels, at least"),
    FIELD(finals_tries, U32, 1, 16, "finalists of a task"),
    FIELD(queue_depth, U32, 1, 1024, "proposals under way per evaluator slot"),
    FIELD(alpha, F64, 1e-12, 0.4999, "error of all promotions of a run together"),
    FIELD(margin, F64, 0, 1, "improvement a promotion promises, as a ratio"),
    FIELD(pair_limit, U32, 4, 4096, "pairs of a duel, at most"),
    COUNT(noop_interval, 0, "unlimited", "promotions per null control, 0 = never"),
    COUNT(stagnation_limit, 0, "unlimited", "evaluations without a new elite after which a task yields"),
    NAMES(strategy, strategy_names, "search strategy"),
    FIELD(grid, U32, 0, 1, "elites per behaviour cell; 0: one per island"),
    FIELD(gradients, U32, 0, 1, "gradients in behaviour space: curiosity and advice"),
    FIELD(roles, U32, 0, 1, "islands have roles"),
    FIELD(inspirations, U32, 0, 4, "elites of other cells told with an ask"),
    NAMES(topology, topology_names, "graph of migration"),
    FIELD(stagnation_migration, F64, 0, 1, "probability that a stagnating island receives a migrant"),
    COUNT(stagnation_generations, 1, "unlimited", "generations without a new elite: the island stagnates"),
    COUNT(tuners, 1, "all", "bit per strategy of the tuner"),
    FIELD(racing, U32, 0, 1, "hopeless samples are stopped early"),
    NAMES(sharing, sharing_names, "which task gets a free device"),
    FIELD(token_budget, U64, 0, HUGE_VAL, "tokens of the run, 0 = no limit"),
    FIELD(money_budget_usd, F64, 0, 1e9, "dollars of the run, 0 = no limit"),
    FIELD(floor_goal, F64, 0, 100, "percent of floor at which a task is done, 0 = none"),
    FIELD(ask_share, F64, 0, 1, "of proposals asked of operators outside; 0: the tuner answers all"),
    FIELD(asks, U32, 1, 1024, "asks under way per task, at most"),
    FIELD(beam_width, U32, 1, 64, "beam: candidates that go on"),
    FIELD(beam_plans, U32, 1, 64, "beam: plans per candidate"),
    FIELD(beam_attempts, U32, 1, 64, "beam: attempts per plan"),
    COUNT(beam_iterations, 1, "unlimited", "beam: iterations"),
    FIELD(tree_drafts, U32, 1, 1024, "tree: independent drafts before the first expansion"),
    NAMES(tree_policy, policy_names, "tree: which node is expanded"),
    FIELD(tree_exploration, F64, 0, 100, "tree: weight of rarely tried nodes"),
    FIELD(tree_children, U32, 1, 1024, "tree: children of a node, at most"),
    FIELD(stage_rounds, U32, 1, 255, "staged: rounds of a stage, at most"),
    FIELD(staged_runs, U32, 1, 1024, "staged: runs of all stages, of which the best counts"),
    NAMES(error_control, atoll_error_rule_names, "rule that keeps the error of all promotions at alpha"),
    COUNT(samples, 0, "unlimited", "candidates of a task beside its seeds, 0 = no limit"),
    FIELD(repeated_parent, U32, 0, 1, "repeated: prompts show the baseline and its profile; 0: no kernel"),
    NAMES(triton, triton_names, "backend cuda: sources in Triton not at all, beside CUDA's, or alone"),
    FIELD(memory, U32, 0, 1, "models: what made tries faster or slower is summarised and told"),
    FIELD(memory_top, U32, 1, 64, "models: tries summarised per iteration, at most"),
    FIELD(memory_size, U32, 1, 32, "models: summaries remembered per task, the newest"),
    FIELD(memory_gain, F64, 1, 100, "models: a try is told as a success from so many times the speed"),
    FIELD(memory_loss, F64, 1, 100, "models: a try is told as a failure from so many times the time"),
    FIELD(hints, U32, 0, 1, "models: hints of the experience library are told"),
    FIELD(trajectory, U32, 0, 1, "models: ancestors, siblings, slower tries and the task's best are told"),
    FIELD(tools, U32, 0, ATOLL_TOOL_CALL_LIMIT, "models: calls of tools that an ask may make, 0 = none"),
    FIELD(template_rounds, U32, 0, 16,
          "models: asks for templates of a task's best kernel at the end, 0 = none"),
    FIELD(template_count, U32, 1, ATOLL_ASK_COUNT_LIMIT, "models: candidates of each of them"),
    FIELD(distil, U32, 0, 1, "models: hints are learnt from what improved"),
    FIELD(ask_candidates, U32, 1, ATOLL_ASK_COUNT_LIMIT,
          "models: kernels that an ask wants, where the strategy says no number"),
    FIELD(knowledge, U32, 0, 2, "models: entries of knowledge are told, not hints; 2 = similar kernels, too"),
    NAMES(judge, judge_names, "models: who is asked about as a possible cheat: finalists, or elites too"),
    FIELD(judge_limit, F64, 0, 1, "models: likelihood of a cheat above which a candidate is discarded"),
    FIELD(prompt_evolution, U32, 0, 1, "models: prompt texts evolve; 0: they stay as they came"),
    COUNT(prompt_interval, 1, "unlimited", "models: generations between two asks for edits of a prompt text"),
    FIELD(prompt_archive, U32, 2, 16, "models: versions of a language's prompt text that are kept"),
    NAMES(prompt_share, prompt_share_names, "models: whose versions of prompt texts a task is asked with"),
    FIELD(shapes, U32, 0, 12, "first trials of a template that follow from shapes and device, 0 = none"),
    FIELD(translate, U32, 0, 1, "models: elites of another language or device model are translated"),
    FIELD(baseline_rounds, U32, 0, 16, "rounds in which an unstable baseline is tried again later, 0 = none"),
    FIELD(analyses, U32, 0, 1024, "models: bests of a task that an analyser reads, 0 = none"),
};

#define FIELD_COUNT (sizeof(fields) / sizeof(*fields))
#define OLD_COUNT   20 /* rows that every engine wrote */
#define KEPT_COUNT  49 /* rows that every engine since version 7 writes; later ones where they are used */

const struct atoll_search_field *atoll_search_fields(size_t *ret_count)
{
    *ret_count = FIELD_COUNT;
    return fields;
}

const struct atoll_search_field *atoll_search_field(const char *name)
{
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}

static const void *at(const struct atoll_search *s, const struct atoll_search_field *f)
{
    return (const char *)s + f->offset;
}

/* The values as one type, with full precision for what has more bits than a double. */
static uint64_t get_whole(const struct atoll_search *s, const struct atoll_search_field *f)
{
    uint32_t narrow;
    uint64_t wide;
    memcpy(&narrow, at(s, f), sizeof(narrow));
    if (f->kind != ATOLL_SEARCH_U64)
        return narrow;
    memcpy(&wide, at(s, f), sizeof(wide));
    return wide;
}

static double get_real(const struct atoll_search *s, const struct atoll_search_field *f)
{
    double v;
    memcpy(&v, at(s, f), sizeof(v));
    return v;
}

static void put_whole(struct atoll_search *s, const struct atoll_search_field *f, uint64_t v)
{
    uint32_t narrow = (uint32_t)v;
    char *to = (char *)s + f->offset;
    if (f->kind == ATOLL_SEARCH_U64)
        memcpy(to, &v, sizeof(v));
    else
        memcpy(to, &narrow, sizeof(narrow));
}

static void field_encode(const struct atoll_search_field *f, const struct atoll_search *s,
                         struct atoll_buffer *out)
{
    switch (f->kind) {
    case ATOLL_SEARCH_U64: atoll_buffer_put_u64(out, get_whole(s, f)); break;
    case ATOLL_SEARCH_U32: atoll_buffer_put_u32(out, (uint32_t)get_whole(s, f)); break;
    case ATOLL_SEARCH_NAME: atoll_buffer_put_u8(out, (uint8_t)get_whole(s, f)); break;
    case ATOLL_SEARCH_F64: atoll_buffer_put_f64(out, get_real(s, f)); break;
    }
}

static int field_decode(const struct atoll_search_field *f, struct atoll_reader *r, struct atoll_search *s,
                        struct atoll_err *err)
{
    double value = 0;
    uint64_t whole = 0;
    switch (f->kind) {
    case ATOLL_SEARCH_U64: whole = atoll_reader_u64(r); break;
    case ATOLL_SEARCH_U32: whole = atoll_reader_u32(r); break;
    case ATOLL_SEARCH_NAME: whole = atoll_reader_u8(r); break;
    case ATOLL_SEARCH_F64: value = atoll_reader_f64(r); break;
    }
    if (r->failed)
        return 0;
    if (f->kind != ATOLL_SEARCH_F64)
        value = (double)whole;
    if (!(value >= f->min && value <= f->max)) {
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "search settings: %s is %g, must be %g to %g", f->name,
                             value, f->min, f->max);
    }
    if (f->kind == ATOLL_SEARCH_F64)
        memcpy((char *)s + f->offset, &value, sizeof(value));
    else
        put_whole(s, f, whole);
    return 0;
}

static size_t field_bytes(const struct atoll_search_field *f)
{
    return f->kind == ATOLL_SEARCH_U64 || f->kind == ATOLL_SEARCH_F64 ? sizeof(uint64_t) : sizeof(uint32_t);
}

/* Up to the last row that has to be told: a setting that is not used leaves journals and saved states as they were. */
static size_t row_count(const struct atoll_search *s)
{
    struct atoll_search plain;
    size_t count = FIELD_COUNT;
    atoll_search_unsaid(&plain);
    while (count > KEPT_COUNT && !memcmp(at(s, &fields[count - 1]), at(&plain, &fields[count - 1]),
                                         field_bytes(&fields[count - 1])))
        count--;
    return count;
}

void atoll_search_encode(const struct atoll_search *s, struct atoll_buffer *out)
{
    size_t count = row_count(s);
    for (size_t i = 0; i < OLD_COUNT; i++)
        field_encode(&fields[i], s, out);
    atoll_buffer_put_u8(out, (uint8_t)s->language);
    atoll_buffer_put_u8(out, (uint8_t)(count - OLD_COUNT));
    for (size_t i = OLD_COUNT; i < count; i++)
        field_encode(&fields[i], s, out);
}

/* Older engines end after the first rows, or with one byte more, a language that is not c. */
static int take_rest(struct atoll_reader *r, struct atoll_search *s, struct atoll_err *err)
{
    unsigned language = atoll_reader_u8(r);
    if (language >= ATOLL_LANGUAGE_COUNT || (language == ATOLL_LANGUAGE_C && r->offset == r->length))
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "search settings: language is %u", language);
    s->language = (enum atoll_language)language;
    if (r->offset == r->length)
        return 0;
    uint8_t rows = atoll_reader_u8(r);
    if (!rows || rows > FIELD_COUNT - OLD_COUNT) {
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "search settings: %u rows are more than this Atoll knows",
                             rows);
    }
    for (size_t i = OLD_COUNT; i < OLD_COUNT + (size_t)rows && !r->failed; i++)
        if (field_decode(&fields[i], r, s, err))
            return -1;
    return 0;
}

int atoll_search_decode(const void *bytes, size_t length, struct atoll_search *ret_search,
                        struct atoll_err *err)
{
    struct atoll_reader r;
    struct atoll_search s;
    atoll_reader_init(&r, bytes, length);
    atoll_search_unsaid(&s);
    for (size_t i = 0; i < OLD_COUNT && !r.failed; i++)
        if (field_decode(&fields[i], &r, &s, err))
            return -1;
    if (!r.failed && r.offset < r.length && take_rest(&r, &s, err))
        return -1;
    if (atoll_reader_finish(&r, "search settings", err))
        return -1;
    double sum = 0;
    for (size_t i = 0; i < ATOLL_SELECTION_COUNT; i++)
        sum += s.selection_share[i];
    if (!(sum > 0)) {
        return atoll_err_set(err, ATOLL_E_PROTOCOL,
                             "search settings: the shares of all selection rules are 0");
    }
    *ret_search = s;
    return 0;
}

static int set_name(struct atoll_search *s, const struct atoll_search_field *f, const char *value,
                    struct atoll_err *err)
{
    char allowed[256] = "";
    for (uint32_t i = 0; i <= (uint32_t)f->max; i++) {
        if (strcmp(f->names[i], value) == 0) {
            put_whole(s, f, i);
            return 0;
        }
        size_t used = strlen(allowed);
        snprintf(allowed + used, sizeof(allowed) - used, "%s%s", i ? ", " : "", f->names[i]);
    }
    char hint[ATOLL_SPELLING_HINT_BYTES];
    atoll_spelling_hint_in(value, allowed, "", hint);
    return atoll_err_set(err, ATOLL_E_INPUT, "%s: \"%.64s\" is none of: %s%s%s", f->name, value, allowed,
                         *hint ? "; " : "", hint);
}

int atoll_search_set(struct atoll_search *search, const struct atoll_search_field *field, const char *value,
                     struct atoll_err *err)
{
    uint64_t whole = 0;
    double real;
    char *end;
    if (field->kind == ATOLL_SEARCH_NAME)
        return set_name(search, field, value, err);
    errno = 0;
    if (field->top && strcmp(value, field->top) == 0) {
        put_whole(search, field, (uint64_t)field->max);
        return 0;
    }
    if (field->kind == ATOLL_SEARCH_F64) {
        real = strtod(value, &end);
    } else { /* without a detour over double: a seed has 64 bits */
        whole = strtoull(value, &end, 10);
        real = (double)whole;
    }
    if (!*value || *end || errno || *value == '-' || *value == ' ' ||
        !(real >= field->min && real <= field->max)) {
        return atoll_err_set(err, ATOLL_E_INPUT, "%s: \"%.64s\" is no %snumber of %g to %g%s%s", field->name,
                             value, field->kind == ATOLL_SEARCH_F64 ? "" : "whole ", field->min, field->max,
                             field->top ? ", nor " : "", field->top ? field->top : "");
    }
    if (field->kind == ATOLL_SEARCH_F64)
        memcpy((char *)search + field->offset, &real, sizeof(real));
    else
        put_whole(search, field, whole);
    return 0;
}

/* As short as reads back the same. */
static void print_real(double value, struct atoll_buffer *out)
{
    char text[32];
    int digits = 15;
    do {
        snprintf(text, sizeof(text), "%.*g", digits, value);
    } while (strtod(text, NULL) != value && ++digits <= 17);
    atoll_buffer_printf(out, "%s", text);
}

void atoll_search_print(const struct atoll_search *search, const struct atoll_search_field *field,
                        struct atoll_buffer *out)
{
    if (field->top && (double)get_whole(search, field) == field->max) {
        atoll_buffer_printf(out, "%s", field->top);
        return;
    }
    switch (field->kind) {
    case ATOLL_SEARCH_F64: print_real(get_real(search, field), out); break;
    case ATOLL_SEARCH_NAME: atoll_buffer_printf(out, "%s", field->names[get_whole(search, field)]); break;
    default: atoll_buffer_printf(out, "%" PRIu64, get_whole(search, field));
    }
}
