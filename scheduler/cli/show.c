/* show.c - `atoll show`: one candidate with its evidence, resources and counters. */
#include "scheduler/cli/command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/print.h"
#include "base/units.h"
#include "core/ask.h"
#include "core/behaviour/behaviour.h"
#include "core/evaluation.h"
#include "core/verdict.h"
#include "archive-h5/report/maker.h"
#include "archive-h5/report/query_name.h"
#include "archive-h5/report/task_summary.h"
#include "archive-h5/report/task_words.h"
#include "scheduler/cli/archive_view.h"
#include "scheduler/cli/diagnosis_view.h"
#include "scheduler/cli/kernel_file.h"
#include "scheduler/cli/rival_view.h"
#include "scheduler/cli/seed_view.h"
#include "scheduler/cli/show_ask.h"
#include "scheduler/cli/show_campaign.h"

struct show_settings {
    int samples, prompt, json;
};

#define FIELD(name)   offsetof(struct show_settings, name)
#define LINEAGE_LIMIT 64

static const struct atoll_option show_options[] = {
    {"samples", 0, ATOLL_OPT_FLAG, FIELD(samples), NULL, NULL, 0, 0, NULL, "Every raw sample too."},
    {"prompt", 0, ATOLL_OPT_FLAG, FIELD(prompt), NULL, NULL, 0, 0, NULL,
     "What was said to the language model that wrote its source, section by section, what it called and what "
     "that gave, and what it answered, exactly; nothing else."},
    {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL, "One JSON object, samples included."},
    {0}};

static const struct atoll_command show_command = {
    "show",
    "DIR|ARCHIVE [CANDIDATE|TASK|ask:N]",
    "everything about one candidate, or how a campaign was made",
    "Of DIR alone: suites, command line, strategy, seed, budgets, options with the compiler's flags, all "
    "settings, machines and compilers, how many kernels of models were correct at once, where the time of "
    "the devices went and which tasks took most of it. "
    "Of a candidate: source, plan, parameters, who made it, verdict with "
    "its evidence, timings and which path of the plan each shape took, samples, comparisons and lineage. "
    "CANDIDATE is the start of its id, four digits or more that no other has: `atoll best`, `atoll list` and "
    "the report print enough of them. TASK means the best kernel of that task, TASK/baseline what that is "
    "compared with. ask:N is an ask of a language model by its number in the table asks, whatever was "
    "wanted: "
    "the same as --prompt tells of a candidate's.",
    "atoll show my-campaign\natoll show my-campaign 3fa9c12\natoll show my-campaign softmax_rows",
    show_options,
    NULL};

/* ---- the profile of an evaluation ---- */

/* Resources in the order in which they are printed. */
static const struct {
    const char *name, *unit;
    size_t offset;
} resources[] = {
#define RESOURCE(field, unit)                                                                                \
    {                                                                                                        \
        #field, unit, offsetof(struct atoll_row_profile, field)                                              \
    }
    RESOURCE(kernel_count, ""),
    RESOURCE(registers, ""),
    RESOURCE(static_shared_bytes, "bytes"),
    RESOURCE(dynamic_shared_bytes, "bytes"),
    RESOURCE(stack_bytes, "bytes"),
    RESOURCE(spill_store_bytes, "bytes"),
    RESOURCE(spill_load_bytes, "bytes"),
#undef RESOURCE
};
#define RESOURCE_COUNT (sizeof(resources) / sizeof(*resources))

static uint32_t resource(const struct atoll_row_profile *p, size_t index)
{
    return *(const uint32_t *)(const void *)((const char *)p + resources[index].offset);
}

/* A processor's binary tells how many kernels there are, and of none of the others. */
static int is_told(const struct atoll_row_profile *p, size_t index)
{
    return p->registers > 0 || index == 0;
}

static const char *limiter_name(const struct atoll_archive_view *view, uint64_t evaluation,
                                const struct atoll_row_profile *profile)
{
    struct atoll_row_evaluation e;

    atoll_tables_get(view->tables, ATOLL_TABLE_EVALUATIONS, evaluation, &e);
    return atoll_limiter_name(atoll_row_limiter(&e, profile));
}

static int find_profile(const struct atoll_archive_view *view, uint64_t evaluation,
                        struct atoll_row_profile *ret)
{
    int64_t row = atoll_query_profile(view->query, evaluation);

    if (row < 0)
        return -1;
    atoll_tables_get(view->tables, ATOLL_TABLE_PROFILES, (uint64_t)row, ret);
    return 0;
}

static void print_line(const char *name, double value, const char *unit)
{
    atoll_print(stdout, "    %-24s %14.10g %s\n", name, value, unit[0] == '1' ? "" : unit);
}

static void print_profile(const struct atoll_archive_view *view, uint64_t evaluation)
{
    struct atoll_row_profile p;
    const char *reason;

    if (find_profile(view, evaluation, &p) != 0)
        return;
    reason = atoll_tables_text(view->tables, p.reason);
    atoll_print(stdout, "  profile      %s, limited by: %s%s%s\n", atoll_tier_name((enum atoll_tier)p.tier),
                limiter_name(view, evaluation, &p),
                !*reason                        ? ""
                : p.tier == ATOLL_TIER_COUNTERS ? "; "
                                                : "; no more: ",
                reason);
    if (p.clock_hz > 0)
        print_line("clock", p.clock_hz * 1e-6, "MHz");
    if (p.throttle_reasons)
        atoll_print(stdout, "    %-24s %#14llx\n", "throttle_reasons",
                    (unsigned long long)p.throttle_reasons);
    for (size_t i = 0; p.kernel_count && i < RESOURCE_COUNT; i++)
        if (is_told(&p, i))
            print_line(resources[i].name, resource(&p, i), resources[i].unit);
    if (p.kernel_count && p.theoretical_occupancy > 0)
        print_line("theoretical_occupancy", 100 * p.theoretical_occupancy, "%");
    for (unsigned m = 0; p.kernel_count && m < ATOLL_MIX_COUNT; m++)
        if (p.mix[m])
            print_line(atoll_mix_name((enum atoll_mix)m), p.mix[m], "instructions");
    for (unsigned c = 0; c < ATOLL_COUNTER_COUNT; c++) {
        if (isfinite(p.counters[c])) {
            print_line(atoll_counter_name((enum atoll_counter)c), p.counters[c],
                       atoll_counter_unit((enum atoll_counter)c));
        }
    }
    if (p.intensity_flops_per_byte > 0)
        print_line("intensity", p.intensity_flops_per_byte, "operations per byte");
}

static json_t *profile_json(const struct atoll_archive_view *view, uint64_t evaluation)
{
    struct atoll_row_profile p;
    json_t *object, *counters;

    if (find_profile(view, evaluation, &p) != 0)
        return json_null();
    object =
        json_pack("{s:s, s:s, s:o, s:f, s:I, s:f, s:f}", "tier", atoll_tier_name((enum atoll_tier)p.tier),
                  "limiter", limiter_name(view, evaluation, &p), "reason",
                  atoll_json_text(atoll_tables_text(view->tables, p.reason)), "clock_hz", p.clock_hz,
                  "throttle_reasons", (json_int_t)p.throttle_reasons, "intensity_flops_per_byte",
                  p.intensity_flops_per_byte, "wall_ns", p.wall_ns);
    json_object_set_new(object, "resources", json_null());
    if (p.kernel_count) {
        json_t *used = json_object(), *mix = json_object();

        for (size_t i = 0; i < RESOURCE_COUNT; i++)
            json_object_set_new(used, resources[i].name,
                                is_told(&p, i) ? json_integer(resource(&p, i)) : json_null());
        json_object_set_new(used, "theoretical_occupancy", json_real(p.theoretical_occupancy));
        for (unsigned m = 0; m < ATOLL_MIX_COUNT; m++)
            json_object_set_new(mix, atoll_mix_name((enum atoll_mix)m), json_integer(p.mix[m]));
        json_object_set_new(used, "mix", mix);
        json_object_set_new(object, "resources", used);
    }
    counters = json_object();
    for (unsigned c = 0; c < ATOLL_COUNTER_COUNT; c++) {
        if (isfinite(p.counters[c])) {
            json_object_set_new(counters, atoll_counter_name((enum atoll_counter)c),
                                json_pack("{s:f, s:s}", "value", p.counters[c], "unit",
                                          atoll_counter_unit((enum atoll_counter)c)));
        }
    }
    json_object_set_new(object, "counters", counters);
    return object;
}

/* ---- the candidate ---- */

/* ", path 2 of 3"; "" for a plan with one way. */
static const char *path_text(const json_t *plan, unsigned path, char *ret_text, size_t bytes)
{
    size_t count = json_array_size(json_object_get(plan, "paths"));

    ret_text[0] = '\0';
    if (path > 0)
        snprintf(ret_text, bytes, ", path %u of %zu", path, count);
    return ret_text;
}

static void print_timings(const struct atoll_archive_view *view, const json_t *plan, uint64_t evaluation,
                          int with_samples)
{
    struct atoll_rows rows = atoll_query_timings(view->query, evaluation);
    struct atoll_rows samples = atoll_query_samples(view->query, evaluation);
    char median[32], low[32], high[32], path[48];

    for (size_t i = 0; i < rows.count; i++) {
        struct atoll_row_timing t;

        atoll_tables_get(view->tables, ATOLL_TABLE_TIMINGS, rows.rows[i], &t);
        atoll_print_line(stdout, 15, "  %-12s median %s, 95 %% interval %s to %s, %u samples, %u discarded%s",
                         atoll_tables_text(view->tables, t.variant_name),
                         atoll_duration_text(t.median_ns, median, sizeof(median)),
                         atoll_duration_text(t.lo95_ns, low, sizeof(low)),
                         atoll_duration_text(t.hi95_ns, high, sizeof(high)), t.sample_count,
                         t.discarded_count, path_text(plan, t.path, path, sizeof(path)));
    }
    for (size_t i = 0; with_samples && i < samples.count; i++) {
        struct atoll_row_sample s;

        atoll_tables_get(view->tables, ATOLL_TABLE_SAMPLES, samples.rows[i], &s);
        printf("  sample %4u.%-4u %12.0f ns\n", s.variant, s.number, s.time_ns);
    }
}

static void print_evaluations(const struct atoll_archive_view *view, uint64_t candidate, int with_samples)
{
    struct atoll_rows rows = atoll_query_evaluations(view->query, candidate);
    struct atoll_row_candidate of;
    json_t *plan;

    atoll_tables_get(view->tables, ATOLL_TABLE_CANDIDATES, candidate, &of);
    plan = json_loads(atoll_tables_text(view->tables, of.plan), 0, NULL);

    for (size_t i = 0; i < rows.count; i++) {
        struct atoll_row_evaluation e;
        char diagnosis[ATOLL_DIAGNOSIS_BYTES];

        atoll_tables_get(view->tables, ATOLL_TABLE_EVALUATIONS, rows.rows[i], &e);
        atoll_print_line(
            stdout, 2,
            "evaluation %llu: %s (level %u), fitness %.3f, cell %u %u %u, worst error %.3g of the "
            "tolerance, %u draws, "
            "%u fully compared",
            (unsigned long long)e.evaluation, atoll_verdict_name((enum atoll_verdict)e.verdict), e.level,
            e.fitness, e.memory, e.algorithm, e.coordination, e.worst_error, e.draw_count,
            e.fully_compared_count);
        if (*atoll_tables_text(view->tables, e.detail))
            atoll_print_line(stdout, 2, "  %s", atoll_tables_text(view->tables, e.detail));
        print_timings(view, plan, rows.rows[i], with_samples);
        print_profile(view, rows.rows[i]);
        if (*atoll_diagnosis_view_text(view->query, rows.rows[i], diagnosis, sizeof(diagnosis)))
            atoll_print_line(stdout, 15, "  diagnosis    %s", diagnosis);
    }
    json_decref(plan);
}

static void print_duels(const struct atoll_archive_view *view, const struct atoll_id *id)
{
    static const char *const purposes[] = {"promotion", "no-op", "final", "final over the rival"};
    int digits = atoll_query_id_digits(view->query);

    for (uint64_t i = 0; i < atoll_tables_count(view->tables, ATOLL_TABLE_DUELS); i++) {
        struct atoll_row_duel d;
        char other[ATOLL_ID_HEX], interval[64] = "";
        int challenged;

        atoll_tables_get(view->tables, ATOLL_TABLE_DUELS, i, &d);
        challenged = atoll_id_equal(&d.challenger, id);
        if (!challenged && !atoll_id_equal(&d.elite, id))
            continue;
        atoll_id_hex(challenged ? &d.elite : &d.challenger, other);
        if (d.purpose == ATOLL_DUEL_RIVAL)
            snprintf(other, sizeof(other), "%s", atoll_tables_text(view->tables, d.rival));
        if (d.ratio_hi > 0)
            snprintf(interval, sizeof(interval), " (95 %% interval %.4f to %.4f)", d.ratio_lo, d.ratio_hi);
        atoll_print(stdout, "%s %s %.*s: ", d.purpose < 4 ? purposes[d.purpose] : "duel",
                    challenged ? "against" : "defended against",
                    d.purpose == ATOLL_DUEL_RIVAL ? ATOLL_ID_HEX : digits, other);
        if (d.verdict != ATOLL_V_CORRECT)
            atoll_print(stdout, "%s, no ratio\n", atoll_verdict_name((enum atoll_verdict)d.verdict));
        else
            atoll_print(stdout, "ratio %.4f%s, p %.2g, %u pairs, %s\n", d.ratio, interval, d.p_value,
                        d.pair_count, d.better ? "challenger confirmed" : "not confirmed");
        if ((d.purpose == ATOLL_DUEL_RIVAL || d.verdict != ATOLL_V_CORRECT) &&
            *atoll_tables_text(view->tables, d.detail))
            atoll_print_line(stdout, 2, "  %s", atoll_tables_text(view->tables, d.detail));
    }
}

/* What a judge said of its source, who was asked because of its place. */
static void print_judgement(const struct atoll_archive_view *view, const struct atoll_row_candidate *c)
{
    struct atoll_row_judgement j;

    if (!atoll_query_judgement(view->query, c, &j))
        return;
    if (j.status != 1 + ATOLL_REPLY_OK) {
        atoll_print(stdout, "judge    ask %llu had no usable answer (%s): it stays\n",
                    (unsigned long long)j.ask,
                    atoll_reply_status_name((enum atoll_reply_status)(j.status ? j.status - 1 : 0)));
        return;
    }
    atoll_print_line(stdout, 9, "judge    %.0f %% likely a cheat%s (ask %llu): %s", 100 * j.likelihood,
                     j.discarded ? ", so it was discarded" : "", (unsigned long long)j.ask,
                     atoll_tables_text(view->tables, j.reason));
}

static json_t *judgement_json(const struct atoll_archive_view *view, const struct atoll_row_candidate *c)
{
    struct atoll_row_judgement j;

    if (!atoll_query_judgement(view->query, c, &j))
        return json_null();
    return json_pack("{s:I, s:o, s:b, s:o}", "ask", (json_int_t)j.ask, "likelihood",
                     j.status != 1 + ATOLL_REPLY_OK ? json_null() : json_real(j.likelihood), "discarded",
                     (int)j.discarded, "reason", atoll_json_text(atoll_tables_text(view->tables, j.reason)));
}

static void print_lineage(const struct atoll_archive_view *view, uint64_t candidate)
{
    uint64_t rows[LINEAGE_LIMIT];
    size_t count = atoll_query_lineage(view->query, candidate, rows, LINEAGE_LIMIT);
    int digits = atoll_query_id_digits(view->query);

    for (size_t i = 0; i < count; i++) {
        struct atoll_row_candidate c;
        char id[ATOLL_ID_HEX];

        atoll_tables_get(view->tables, ATOLL_TABLE_CANDIDATES, rows[i], &c);
        atoll_id_hex(&c.id, id);
        atoll_print_line(stdout, 9, "%s%.*s  %s  island %u generation %u  %s", i ? "from     " : "lineage  ",
                         digits, id, atoll_operator_name((enum atoll_operator)c.operator_), c.island,
                         c.generation, atoll_tables_text(view->tables, c.choice));
    }
}

/* The task of a candidate. */
struct shown_task {
    uint64_t row;
    struct atoll_row_task task;
    struct atoll_task_summary summary;
    int is_best; /* the candidate is its best */
};

/* How the campaign of a candidate timed: "cold" or "warm". */
static const char *timing_of(const struct atoll_archive_view *view, const struct atoll_row_candidate *c)
{
    struct atoll_row_campaign campaign;

    atoll_tables_get(view->tables, ATOLL_TABLE_CAMPAIGN, c->campaign, &campaign);
    return campaign.timing ? "warm" : "cold";
}

/* Over one yardstick: of the final comparison where the candidate is the task's best, else of two medians. */
static struct atoll_speedup speedup_over(const struct atoll_archive_view *view,
                                         const struct shown_task *shown, enum atoll_yardstick yardstick,
                                         uint64_t row)
{
    struct atoll_speedup speedup = {.ratio = 0};
    struct atoll_row_evaluation e;
    int64_t evaluation = atoll_query_best_evaluation(view->query, row, shown->task.model);
    double ns = yardstick == ATOLL_OVER_RIVAL ? shown->task.rival_ns : shown->task.baseline_ns;

    if (shown->is_best)
        return shown->summary.over[yardstick];
    if (evaluation < 0)
        return speedup;
    atoll_tables_get(view->tables, ATOLL_TABLE_EVALUATIONS, (uint64_t)evaluation, &e);
    if (e.verdict == ATOLL_V_CORRECT && e.time_ns > 0 && ns > 0)
        speedup.ratio = ns / e.time_ns;
    return speedup;
}

static int shown_task_find(const struct atoll_archive_view *view, const struct atoll_row_candidate *c,
                           struct shown_task *ret)
{
    int64_t row = atoll_query_task_row(view->query, c->campaign, c->task, c->model);

    if (row < 0)
        return -1;
    ret->row = (uint64_t)row;
    atoll_tables_get(view->tables, ATOLL_TABLE_TASKS, ret->row, &ret->task);
    atoll_query_task_summary(view->query, ret->row, &ret->summary);
    ret->is_best = atoll_id_equal(&ret->task.best, &c->id);
    return 0;
}

/* Over the rival first, over the seed second; and what the rivals of the task are. */
static void print_speedups(const struct atoll_archive_view *view, const struct atoll_row_candidate *c,
                           uint64_t row)
{
    static const enum atoll_yardstick order[] = {ATOLL_OVER_RIVAL, ATOLL_OVER_SEED};
    struct shown_task shown;
    char none[512], from[400];

    if (shown_task_find(view, c, &shown) != 0)
        return;
    for (size_t i = 0; i < 2; i++) {
        struct atoll_speedup s = speedup_over(view, &shown, order[i], row);
        char text[32];

        if (!(s.ratio > 0))
            continue;
        atoll_print(stdout, "speedup %s", atoll_speedup_text(&s, text, sizeof(text)));
        if (s.hi > 0)
            printf(" (95 %% interval %.2f to %.2f)", s.lo, s.hi);
        if (order[i] == ATOLL_OVER_RIVAL)
            atoll_print(stdout, " over the rival %s\n", shown.summary.rival);
        else
            atoll_print(stdout, " over the seed\n");
    }
    atoll_rival_view_print(view->query, shown.row, stdout);
    atoll_seed_view_none(view->query, shown.row, none, sizeof(none));
    if (*none)
        atoll_print(stdout, "seeds %s\n", none);
    if (atoll_task_word(view->tables, &shown.task, "tolerance", "from", from, sizeof(from)))
        atoll_print_line(stdout, 0, "tolerance from %s", from);
}

static void print_candidate(const struct atoll_archive_view *view, uint64_t row, int with_samples)
{
    struct atoll_row_candidate c;
    char id[ATOLL_ID_HEX];

    atoll_tables_get(view->tables, ATOLL_TABLE_CANDIDATES, row, &c);
    atoll_id_hex(&c.id, id);
    atoll_print(
        stdout, "candidate %s\ntask %s\nparameters %s\nmade by %s, source: %s\ntimed with %s caches\n", id,
        atoll_query_task_name(view->query, c.campaign, c.task), atoll_tables_text(view->tables, c.choice),
        atoll_maker_name(atoll_query_maker(view->query, row)), atoll_tables_text(view->tables, c.origin),
        timing_of(view, &c));
    print_judgement(view, &c);
    atoll_show_analysis_print(view, &c);
    print_speedups(view, &c, row);
    print_evaluations(view, row, with_samples);
    print_duels(view, &c.id);
    print_lineage(view, row);
    atoll_print(stdout, "\n%s", atoll_tables_text(view->tables, c.source));
}

static json_t *evaluations_json(const struct atoll_archive_view *view, uint64_t candidate)
{
    struct atoll_rows rows = atoll_query_evaluations(view->query, candidate);
    json_t *array = json_array();

    for (size_t i = 0; i < rows.count; i++) {
        struct atoll_rows of_evaluation = atoll_query_samples(view->query, rows.rows[i]);
        json_t *samples = json_array();
        struct atoll_row_evaluation e;

        atoll_tables_get(view->tables, ATOLL_TABLE_EVALUATIONS, rows.rows[i], &e);
        for (size_t k = 0; k < of_evaluation.count; k++) {
            struct atoll_row_sample sample;

            atoll_tables_get(view->tables, ATOLL_TABLE_SAMPLES, of_evaluation.rows[k], &sample);
            json_array_append_new(
                samples, json_pack("{s:i, s:f}", "variant", (int)sample.variant, "time_ns", sample.time_ns));
        }
        json_array_append_new(
            array,
            json_pack("{s:I, s:s, s:o, s:f, s:o, s:f, s:[i,i,i], s:o, s:o, s:o, s:o}", "evaluation",
                      (json_int_t)e.evaluation, "verdict", atoll_verdict_name((enum atoll_verdict)e.verdict),
                      "detail", atoll_json_text(atoll_tables_text(view->tables, e.detail)), "time_ns",
                      e.time_ns, "time_interval_ns",
                      e.time_hi_ns > 0 ? json_pack("[f, f]", e.time_lo_ns, e.time_hi_ns) : json_null(),
                      "fitness", e.fitness, "cell", (int)e.memory, (int)e.algorithm, (int)e.coordination,
                      "timings", atoll_kernel_times(view, (int64_t)rows.rows[i]), "samples", samples,
                      "profile", profile_json(view, rows.rows[i]), "diagnosis",
                      atoll_diagnosis_view_json(view->query, rows.rows[i])));
    }
    return array;
}

static void add_speedups(const struct atoll_archive_view *view, const struct atoll_row_candidate *c,
                         uint64_t row, json_t *object)
{
    struct atoll_speedup first, seed;
    struct shown_task shown;
    json_t *more;

    if (shown_task_find(view, c, &shown) != 0)
        return;
    first = speedup_over(view, &shown, shown.summary.headline, row);
    seed = speedup_over(view, &shown, ATOLL_OVER_SEED, row);
    more = json_pack("{s:f, s:s, s:o, s:b, s:f, s:o}", "speedup", first.ratio, "speedup_over",
                     atoll_yardstick_name(shown.summary.headline), "speedup_interval",
                     first.hi > 0 ? json_pack("[f, f]", first.lo, first.hi) : json_null(), "final",
                     first.is_final, "speedup_seed", seed.ratio, "rivals",
                     atoll_rival_view_json(view->query, shown.row));
    json_object_update(object, more);
    json_decref(more);
}

static void print_candidate_json(const struct atoll_archive_view *view, uint64_t row)
{
    uint64_t ancestors[LINEAGE_LIMIT];
    size_t count = atoll_query_lineage(view->query, row, ancestors, LINEAGE_LIMIT);
    json_t *lineage = json_array(), *object;
    struct atoll_row_candidate c, ancestor;
    char id[ATOLL_ID_HEX];

    for (size_t i = 0; i < count; i++) {
        atoll_tables_get(view->tables, ATOLL_TABLE_CANDIDATES, ancestors[i], &ancestor);
        atoll_id_hex(&ancestor.id, id);
        json_array_append_new(lineage, json_string(id));
    }
    atoll_tables_get(view->tables, ATOLL_TABLE_CANDIDATES, row, &c);
    atoll_id_hex(&c.id, id);
    object =
        json_pack("{s:s, s:o, s:s, s:o, s:s, s:s, s:i, s:i, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "candidate",
                  id, "task", atoll_json_text(atoll_query_task_name(view->query, c.campaign, c.task)),
                  "made_by", atoll_maker_name(atoll_query_maker(view->query, row)), "origin",
                  atoll_json_text(atoll_tables_text(view->tables, c.origin)), "operator",
                  atoll_operator_name((enum atoll_operator)c.operator_), "choice",
                  atoll_tables_text(view->tables, c.choice), "island", (int)c.island, "generation",
                  (int)c.generation, "language", atoll_tables_text(view->tables, c.language), "timing",
                  timing_of(view, &c), "source", atoll_json_text(atoll_tables_text(view->tables, c.source)),
                  "evaluations", evaluations_json(view, row), "lineage", lineage, "judgement",
                  judgement_json(view, &c), "analysis", atoll_show_analysis_json(view, &c));
    add_speedups(view, &c, row, object);
    atoll_json_print(object, JSON_INDENT(2), stdout);
}

static int run_show(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    const struct show_settings *settings = given;
    struct atoll_archive_view view;
    uint64_t row;
    int status;

    if (atoll_archive_view_open(arguments[0], &view, err) != 0)
        return -1;
    if (count == 1 && (settings->samples || settings->prompt)) {
        atoll_archive_view_close(&view);
        return atoll_err_set(err, ATOLL_E_USAGE,
                             "--samples and --prompt are of a candidate: name one, or a task");
    }
    if (count == 1) {
        if (settings->json)
            atoll_json_print(atoll_show_campaign_json(&view), JSON_INDENT(2), stdout);
        else
            atoll_show_campaign_print(&view);
        atoll_archive_view_close(&view);
        return 0;
    }
    int64_t ask = atoll_show_ask_named(&view, arguments[1], err);
    int is_ask = strncmp(arguments[1], "ask:", 4) == 0;
    status = is_ask ? (ask < 0 ? -1 : 0) : atoll_query_find(view.query, arguments[1], &row, err);
    if (status == 0 && (settings->prompt || is_ask)) {
        if (!is_ask)
            ask = atoll_show_ask_find(&view, row);
        if (ask < 0) {
            status = atoll_err_set(
                err, ATOLL_E_NOTFOUND,
                "no model wrote candidate %s: there is no prompt; `atoll export ... --csv asks` "
                "has the numbers of asks, for ask:N in its place",
                arguments[1]);
        } else if (settings->json) {
            atoll_json_print(atoll_show_ask_json(&view, (uint64_t)ask), JSON_INDENT(2), stdout);
        } else {
            atoll_show_ask_print(&view, (uint64_t)ask);
        }
    } else if (status == 0 && settings->json) {
        print_candidate_json(&view, row);
    } else if (status == 0) {
        print_candidate(&view, row, settings->samples);
    }
    atoll_archive_view_close(&view);
    return status;
}

const struct atoll_subcommand atoll_command_show = {.command = &show_command,
                                                    .settings_bytes = sizeof(struct show_settings),
                                                    .least = 1,
                                                    .most = 2,
                                                    .missing = "name a campaign or an archive",
                                                    .run = run_show};
