/* diff.c - `atoll diff`: what tells two candidates apart. */
#include "scheduler/cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/json.h"
#include "base/line_diff.h"
#include "base/print.h"
#include "base/units.h"
#include "core/ask.h"
#include "core/verdict.h"
#include "archive-h5/report/query_name.h"
#include "archive-h5/report/task_summary.h"
#include "scheduler/cli/archive_view.h"
#include "scheduler/cli/kernel_file.h"

#define DIFF_BYTES ((size_t)4 << 20)

struct diff_settings {
    long long context;
    int json;
};

#define FIELD(name) offsetof(struct diff_settings, name)

static const struct atoll_option diff_options[] = {
    {"context", 'U', ATOLL_OPT_INT, FIELD(context), "N", "3", 0, 100000, NULL,
     "So many equal lines around each difference of the sources."},
    {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL, "One JSON object."},
    {0}};

static const struct atoll_command diff_command = {
    "diff",
    "DIR|ARCHIVE A B",
    "what tells two candidates apart: plan, parameters, source, times",
    "A and B are the starts of candidates' ids, or TASK for a task's best kernel, TASK/baseline for its "
    "baseline. Prints who they are, "
    "their times at "
    "each shape, every comparison in which both ran side by side, the parameters and lines of the plan that "
    "differ, and a "
    "unified diff of the sources. Of several evaluations the best one counts.",
    "atoll diff my-campaign softmax_rows/baseline softmax_rows\natoll diff my-campaign 3fa9c12 77e01b4 -U 0",
    diff_options,
    NULL};

/* One of the two. */
struct side {
    uint64_t row;
    struct atoll_row_candidate candidate;
    char id[ATOLL_ID_HEX];
    const char *task;
    int64_t evaluation;                         /* -1: none yet */
    struct atoll_row_evaluation of;             /* where there is one */
    struct atoll_speedup over_rival, over_seed; /* of its task; ratio 0 unknown */
    int has_rival;
    json_t *plan; /* owned; NULL where its text is no JSON */
};

static double time_of(const struct side *side)
{
    return side->evaluation >= 0 && side->of.verdict == ATOLL_V_CORRECT ? side->of.time_ns : 0;
}

static int side_find(const struct atoll_archive_view *view, const char *word, struct side *ret,
                     struct atoll_err *err)
{
    struct atoll_row_task task;
    int64_t task_row;

    *ret = (struct side){.task = "", .evaluation = -1};
    if (atoll_query_find(view->query, word, &ret->row, err) != 0)
        return -1;
    atoll_tables_get(view->tables, ATOLL_TABLE_CANDIDATES, ret->row, &ret->candidate);
    atoll_id_hex(&ret->candidate.id, ret->id);
    ret->evaluation = atoll_query_best_evaluation(view->query, ret->row, ATOLL_QUERY_ANY_MODEL);
    if (ret->evaluation >= 0)
        atoll_tables_get(view->tables, ATOLL_TABLE_EVALUATIONS, (uint64_t)ret->evaluation, &ret->of);
    task_row = atoll_query_task_row(view->query, ret->candidate.campaign, ret->candidate.task, ret->of.model);
    if (task_row >= 0) {
        atoll_tables_get(view->tables, ATOLL_TABLE_TASKS, (uint64_t)task_row, &task);
        ret->has_rival = task.rival_ns > 0;
        if (time_of(ret) > 0) {
            atoll_query_speedup_of(view->query, &task, &ret->of, ATOLL_OVER_RIVAL, &ret->over_rival);
            atoll_query_speedup_of(view->query, &task, &ret->of, ATOLL_OVER_SEED, &ret->over_seed);
        }
        ret->task = atoll_tables_text(view->tables, task.name);
    }
    ret->plan = json_loads(atoll_tables_text(view->tables, ret->candidate.plan), 0, NULL);
    return 0;
}

static const char *verdict_of(const struct side *side)
{
    return side->evaluation < 0 ? "open" : atoll_verdict_name((enum atoll_verdict)side->of.verdict);
}

/* Behind the launch plan's comment, which is compared as a plan. */
static const char *body_of(const struct atoll_archive_view *view, const struct side *side)
{
    const char *source = atoll_tables_text(view->tables, side->candidate.source), *end;
    const char *at = source + strspn(source, " \t\r\n");

    if (strncmp(at, "# atoll-plan", strlen("# atoll-plan")) == 0) { /* of Triton: lines */
        while (*at == '#')
            at += strcspn(at, "\n") + (at[strcspn(at, "\n")] == '\n');
        return at + strspn(at, " \t\r\n");
    }
    if (strncmp(source + strspn(source, " \t\r\n"), "/* atoll-plan", strlen("/* atoll-plan")) != 0)
        return source;
    end = strstr(source, "*/");
    return end ? end + 2 + strspn(end + 2, " \t\r\n") : source;
}

/* [{"name", "a", "b"}] of those that are not the same; null where one has none of the name. */
static json_t *parameters_compare(const struct atoll_archive_view *view, const struct side *a,
                                  const struct side *b)
{
    json_t *one = atoll_kernel_parameters(atoll_tables_text(view->tables, a->candidate.choice));
    json_t *other = atoll_kernel_parameters(atoll_tables_text(view->tables, b->candidate.choice));
    json_t *list = json_array(), *value;
    const char *name;

    json_object_foreach(one, name, value)
    {
        json_t *there = json_object_get(other, name);

        if (!there || !json_equal(there, value)) {
            json_array_append_new(
                list, json_pack("{s:o, s:O, s:O?}", "name", atoll_json_text(name), "a", value, "b", there));
        }
    }
    json_object_foreach(other, name, value)
    {
        if (!json_object_get(one, name))
            json_array_append_new(
                list, json_pack("{s:o, s:n, s:O}", "name", atoll_json_text(name), "a", "b", value));
    }
    json_decref(one);
    json_decref(other);
    return list;
}

/* ---- times ---- */

static json_t *time_at(const json_t *times, const json_t *variant)
{
    json_t *row;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)times, i, row)
    {
        if (json_equal(json_object_get(row, "variant"), variant))
            return row;
    }
    return NULL;
}

/* [{"variant", "a", "b"}] of the shapes of either; null where one was not timed. */
static json_t *times_compare(const struct atoll_archive_view *view, const struct side *a,
                             const struct side *b)
{
    json_t *times[] = {atoll_kernel_times(view, a->evaluation), atoll_kernel_times(view, b->evaluation)};
    json_t *list = json_array(), *row;
    size_t i;

    for (size_t s = 0; s < 2; s++) {
        json_array_foreach(times[s], i, row)
        {
            json_t *variant = json_object_get(row, "variant"), *other = time_at(times[1 - s], variant);

            if (s == 0 || !other) {
                json_array_append_new(list, json_pack("{s:O, s:O?, s:O?}", "variant", variant, "a",
                                                      s ? other : row, "b", s ? row : other));
            }
        }
    }
    json_decref(times[0]);
    json_decref(times[1]);
    return list;
}

/* A ratio or an end of its interval, turned where the comparison is; null where there is none. */
static json_t *end_json(double end, int is_turned)
{
    return end > 0 ? json_real(is_turned ? 1 / end : end) : json_null();
}

/* Comparisons in which both ran side by side; "ratio" is the time of A over that of B, null where there is none. */
static json_t *duels_find(const struct atoll_archive_view *view, const struct side *a, const struct side *b)
{
    json_t *list = json_array();

    for (uint64_t i = 0; i < atoll_tables_count(view->tables, ATOLL_TABLE_DUELS); i++) {
        struct atoll_row_duel d;
        int is_turned;

        atoll_tables_get(view->tables, ATOLL_TABLE_DUELS, i, &d);
        is_turned =
            atoll_id_equal(&d.challenger, &a->candidate.id) && atoll_id_equal(&d.elite, &b->candidate.id);
        if (!(d.ratio > 0) || (!is_turned && !(atoll_id_equal(&d.challenger, &b->candidate.id) &&
                                               atoll_id_equal(&d.elite, &a->candidate.id)))) {
            continue;
        }
        int is_decided = d.verdict == ATOLL_V_CORRECT;
        json_array_append_new(
            list,
            json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:i}", "verdict",
                      atoll_verdict_name((enum atoll_verdict)d.verdict), "detail",
                      is_decided ? json_null() : atoll_json_text(atoll_tables_text(view->tables, d.detail)),
                      "ratio", end_json(is_decided ? d.ratio : 0, is_turned), "ratio_lo",
                      end_json(!is_decided ? 0
                               : is_turned ? d.ratio_hi
                                           : d.ratio_lo,
                               is_turned),
                      "ratio_hi",
                      end_json(!is_decided ? 0
                               : is_turned ? d.ratio_lo
                                           : d.ratio_hi,
                               is_turned),
                      "p_value", is_decided ? json_real(d.p_value) : json_null(), "pairs",
                      (int)d.pair_count));
    }
    return list;
}

/* ---- texts ---- */

static int texts_compare(const char *a, const char *b, long long context, char **ret_text,
                         struct atoll_err *err)
{
    struct atoll_buffer out;
    int status;

    atoll_buffer_init(&out, DIFF_BYTES);
    status = atoll_line_diff("A", a, "B", b, (size_t)context, &out, err);
    if (status >= 0) {
        atoll_buffer_put_u8(&out, 0);
        *ret_text = strdup(status ? (char *)out.data : "");
        status = *ret_text ? 0 : atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a diff");
    }
    atoll_buffer_fini(&out);
    return status < 0 ? -1 : 0;
}

/* A line for each launch, parameter, requirement and scratch. */
static void plan_lines(const json_t *plan, struct atoll_buffer *out)
{
    const char *key, *name;
    json_t *value, *item;
    char *text;
    size_t i;

    json_object_foreach((json_t *)(uintptr_t)plan, key, value)
    {
        json_array_foreach(value, i, item)
        {
            text = json_dumps(item, JSON_COMPACT | JSON_ENCODE_ANY);
            atoll_buffer_printf(out, "%s %s\n", key, text ? text : "");
            free(text);
        }
        json_object_foreach(value, name, item)
        {
            text = json_dumps(item, JSON_COMPACT | JSON_ENCODE_ANY);
            atoll_buffer_printf(out, "%s %s %s\n", key, name, text ? text : "");
            free(text);
        }
    }
    atoll_buffer_put_u8(out, 0);
}

static int plans_compare(const struct side *a, const struct side *b, char **ret_text, struct atoll_err *err)
{
    struct atoll_buffer one, other;
    int status = -1;

    atoll_buffer_init(&one, DIFF_BYTES);
    atoll_buffer_init(&other, DIFF_BYTES);
    plan_lines(a->plan, &one);
    plan_lines(b->plan, &other);
    if (atoll_buffer_check(&one, err) == 0 && atoll_buffer_check(&other, err) == 0)
        status = texts_compare((char *)one.data, (char *)other.data, 0, ret_text, err);
    atoll_buffer_fini(&one);
    atoll_buffer_fini(&other);
    return status;
}

/* ---- what is printed ---- */

#define SPEEDUPS_BYTES 160

/* "1.234 (1.201 to 1.267)"; "1.234" where the interval is not known. */
static const char *ratio_text(double ratio, double lo, double hi, char *ret_text, size_t bytes)
{
    int length = snprintf(ret_text, bytes, "%.3f", ratio);
    if (lo > 0 && hi > 0 && (size_t)length < bytes)
        snprintf(ret_text + length, bytes - (size_t)length, " (%.3f to %.3f)", lo, hi);
    return ret_text;
}

static int speedup_put(const struct atoll_speedup *s, const char *over, char *at, size_t bytes)
{
    char ratio[64];
    if (!(s->ratio > 0))
        return 0;
    return snprintf(at, bytes, "  %s%sx over the %s", s->is_final ? "" : "~",
                    ratio_text(s->ratio, s->lo, s->hi, ratio, sizeof(ratio)), over);
}

/* "  ~1.200 (1.180 to 1.220)x over the rival  ..."; "" where nothing is known. */
static const char *speedups_text(const struct side *side, char ret_text[SPEEDUPS_BYTES])
{
    int length;

    ret_text[0] = '\0';
    length = speedup_put(&side->over_rival, "rival", ret_text, SPEEDUPS_BYTES);
    if (length < SPEEDUPS_BYTES)
        speedup_put(&side->over_seed, "seed", ret_text + length, SPEEDUPS_BYTES - (size_t)length);
    return ret_text;
}

static void print_side(const struct atoll_archive_view *view, char mark, const struct side *side, int digits)
{
    char time[48], speedups[SPEEDUPS_BYTES];
    atoll_print_line(stdout, 3, "%c  %.*s  %s  %s  %s  %s%s%s%s", mark, digits, side->id, side->task,
                     verdict_of(side),
                     atoll_duration_interval_text(time_of(side), side->of.time_lo_ns, side->of.time_hi_ns,
                                                  time, sizeof(time)),
                     atoll_operator_name((enum atoll_operator)side->candidate.operator_),
                     *atoll_tables_text(view->tables, side->candidate.origin) ? " of " : "",
                     atoll_tables_text(view->tables, side->candidate.origin), speedups_text(side, speedups));
}

/* "  16x1024        A 9.08 ms   2%  B 728 us  <1%  A/B ~12.472 (12.301 to 12.645)" */
static void print_time(const char *variant, const json_t *row)
{
    const json_t *sides[] = {json_object_get(row, "a"), json_object_get(row, "b")};
    struct atoll_interval at[2] = {{.median = 0}, {.median = 0}};
    char times[2][48], text[64], ratio[80] = "";

    for (size_t i = 0; i < 2; i++) {
        at[i] = (struct atoll_interval){json_number_value(json_object_get(sides[i], "median_ns")),
                                        json_number_value(json_object_get(sides[i], "lo95_ns")),
                                        json_number_value(json_object_get(sides[i], "hi95_ns"))};
        snprintf(times[i], sizeof(times[i]), "%s",
                 atoll_duration_interval_text(at[i].median, at[i].lo, at[i].hi, text, sizeof(text)));
    }
    if (at[0].median > 0 && at[1].median > 0) {
        double lo = 0, hi = 0;
        if (!json_equal(sides[0], sides[1])) /* else both are one evaluation */
            atoll_quotient_interval(&at[0], &at[1], &lo, &hi);
        snprintf(ratio, sizeof(ratio), "  A/B ~%s",
                 ratio_text(at[0].median / at[1].median, lo, hi, text, sizeof(text)));
    }
    atoll_print_line(stdout, 17, "  %-14s A %13s  B %13s%s", variant, times[0], times[1], ratio);
}

static void print_diff(const struct atoll_archive_view *view, const struct side *a, const struct side *b,
                       const json_t *times, const json_t *duels, const json_t *parameters, const char *plan,
                       const char *source)
{
    int digits = atoll_query_id_digits(view->query);
    const json_t *row;
    size_t i;

    print_side(view, 'A', a, digits);
    print_side(view, 'B', b, digits);
    if (strcmp(a->task, b->task) != 0)
        puts("they are of different tasks: their times cannot be compared");
    puts("\ntimes (median, 95 % interval)");
    if (json_array_size(times) == 0)
        puts("  neither was timed");
    json_array_foreach(times, i, row)
    {
        print_time(json_string_value(json_object_get(row, "variant")), row);
    }
    json_array_foreach(duels, i, row)
    {
        const json_t *lo = json_object_get(row, "ratio_lo"), *hi = json_object_get(row, "ratio_hi");
        const char *detail = json_string_value(json_object_get(row, "detail"));
        char ratio[64];

        if (detail) {
            atoll_print_line(stdout, 17, "  side by side   %s, no ratio%s%s",
                             json_string_value(json_object_get(row, "verdict")), *detail ? ": " : "", detail);
            continue;
        }
        atoll_print_line(stdout, 17, "  side by side   A/B %s, p %.2g, %d pairs",
                         ratio_text(json_number_value(json_object_get(row, "ratio")), json_number_value(lo),
                                    json_number_value(hi), ratio, sizeof(ratio)),
                         json_number_value(json_object_get(row, "p_value")),
                         (int)json_integer_value(json_object_get(row, "pairs")));
    }
    atoll_print(stdout, "\nparameters%s\n", json_array_size(parameters) ? "" : ": the same");
    json_array_foreach(parameters, i, row)
    {
        atoll_print(stdout, "  %-14s", json_string_value(json_object_get(row, "name")));
        for (size_t s = 0; s < 2; s++) {
            const json_t *value = json_object_get(row, s ? "b" : "a");

            printf(" %c ", s ? 'B' : 'A');
            if (json_is_integer(value))
                printf("%lld", (long long)json_integer_value(value));
            else
                putchar('-');
        }
        putchar('\n');
    }
    atoll_print(stdout, "\nplan%s\n%s", *plan ? "" : ": the same", plan);
    atoll_print(stdout, "\nsource%s\n%s", *source ? "" : ": the same", source);
}

static json_t *ends_json(const struct atoll_speedup *s)
{
    return s->hi > 0 ? json_pack("[f, f]", s->lo, s->hi) : json_null();
}

static json_t *side_json(const struct atoll_archive_view *view, const struct side *side)
{
    const struct atoll_speedup *over = side->over_rival.ratio > 0 ? &side->over_rival : &side->over_seed;

    return json_pack("{s:s, s:o, s:s, s:f, s:f, s:o, s:s, s:f, s:o, s:s, s:o, s:o}", "candidate", side->id,
                     "task", atoll_json_text(side->task), "verdict", verdict_of(side), "time_ns",
                     time_of(side), "speedup", over->ratio, "speedup_interval", ends_json(over),
                     "speedup_over", side->has_rival ? "rival" : "seed", "speedup_seed",
                     side->over_seed.ratio, "speedup_seed_interval", ends_json(&side->over_seed), "operator",
                     atoll_operator_name((enum atoll_operator)side->candidate.operator_), "origin",
                     atoll_json_text(atoll_tables_text(view->tables, side->candidate.origin)), "choice",
                     atoll_json_text(atoll_tables_text(view->tables, side->candidate.choice)));
}

static int diff_view(const struct atoll_archive_view *view, const struct diff_settings *settings,
                     const char *const *words, struct atoll_err *err)
{
    struct side a = {0}, b = {0};
    char *plan = NULL, *source = NULL;
    int status = -1;

    if (side_find(view, words[0], &a, err) == 0 && side_find(view, words[1], &b, err) == 0 &&
        plans_compare(&a, &b, &plan, err) == 0 &&
        texts_compare(body_of(view, &a), body_of(view, &b), settings->context, &source, err) == 0) {
        json_t *times = times_compare(view, &a, &b), *duels = duels_find(view, &a, &b);
        json_t *parameters = parameters_compare(view, &a, &b);

        if (settings->json) {
            atoll_json_print(json_pack("{s:o, s:o, s:O, s:O, s:O, s:o, s:o}", "a", side_json(view, &a), "b",
                                       side_json(view, &b), "times", times, "comparisons", duels,
                                       "parameters", parameters, "plan", atoll_json_text(plan), "source",
                                       atoll_json_text(source)),
                             JSON_INDENT(2), stdout);
        } else {
            print_diff(view, &a, &b, times, duels, parameters, plan, source);
        }
        json_decref(times);
        json_decref(duels);
        json_decref(parameters);
        status = 0;
    }
    json_decref(a.plan);
    json_decref(b.plan);
    free(plan);
    free(source);
    return status;
}

static int run_diff(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    struct atoll_archive_view view;
    int status;

    if (atoll_archive_view_open(arguments[0], &view, err) != 0)
        return -1;
    status = diff_view(&view, given, arguments + 1, err);
    atoll_archive_view_close(&view);
    return status;
}

const struct atoll_subcommand atoll_command_diff = {.command = &diff_command,
                                                    .settings_bytes = sizeof(struct diff_settings),
                                                    .least = 3,
                                                    .most = 3,
                                                    .missing = "name an archive and two candidates or tasks",
                                                    .run = run_diff};
