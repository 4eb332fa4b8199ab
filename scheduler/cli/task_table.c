#include "scheduler/cli/task_table.h"

#include <string.h>

#include "base/print.h"
#include "base/units.h"
#include "core/decision.h"
#include "core/verdict.h"

#include "archive-h5/report/failure.h"
#include "archive-h5/report/query_name.h"
#include "base/json.h"

#define NAMED_TASKS 4 /* behind a reason; the others are counted */

/* Calls row for each task summary that is wanted. */
typedef void summary_row(void *context, const struct atoll_query *query,
                         const struct atoll_task_summary *summary, const struct atoll_row_task *task);

static void each_task(const struct atoll_query *query, const char *only, summary_row *row, void *context)
{
    const struct atoll_tables *tables = atoll_query_tables(query);

    for (uint64_t i = 0; i < atoll_tables_count(tables, ATOLL_TABLE_TASKS); i++) {
        struct atoll_task_summary summary;
        struct atoll_row_task task;

        atoll_query_task_summary(query, i, &summary);
        atoll_tables_get(tables, ATOLL_TABLE_TASKS, i, &task);
        if (!only || strcmp(only, summary.name) == 0)
            row(context, query, &summary, &task);
    }
}

/* Name of the seed or source an evaluation was made from. */
static const char *origin_of(const struct atoll_query *query, const struct atoll_row_evaluation *e)
{
    const struct atoll_tables *tables = atoll_query_tables(query);
    int64_t row = atoll_query_candidate(query, e->campaign, &e->candidate);
    struct atoll_row_candidate candidate;

    if (row < 0)
        return "candidate";
    atoll_tables_get(tables, ATOLL_TABLE_CANDIDATES, (uint64_t)row, &candidate);
    return atoll_tables_text(tables, candidate.origin);
}

void atoll_task_table_failure(const struct atoll_query *query, uint64_t task_row, char *ret_text,
                              size_t bytes)
{
    const struct atoll_tables *tables = atoll_query_tables(query);
    struct atoll_row_task task;

    *ret_text = '\0';
    atoll_tables_get(tables, ATOLL_TABLE_TASKS, task_row, &task);
    for (uint64_t i = 0; i < atoll_tables_count(tables, ATOLL_TABLE_EVALUATIONS); i++) {
        struct atoll_row_evaluation e;

        atoll_tables_get(tables, ATOLL_TABLE_EVALUATIONS, i, &e);
        if (e.campaign == task.campaign && e.task == task.task && e.model == task.model &&
            e.verdict != ATOLL_V_CORRECT) {
            snprintf(ret_text, bytes, "%s, seed %s: %s: %.300s", atoll_tables_text(tables, task.name),
                     origin_of(query, &e), atoll_verdict_name((enum atoll_verdict)e.verdict),
                     atoll_tables_text(tables, e.detail));
            return;
        }
    }
}

struct printing {
    FILE *out;
    int id_digits;
};

/* "6.37 ms 3%": half the 95 % interval behind the time, where it is known. */
static const char *time_text(double ns, double lo, double hi, char *ret_text, size_t bytes)
{
    char time[32];

    if (!(ns > 0))
        return "-";
    atoll_duration_text(ns, time, sizeof(time));
    if (hi > 0)
        snprintf(ret_text, bytes, "%s %3.0f%%", time, 50 * (hi - lo) / ns);
    else
        snprintf(ret_text, bytes, "%s     ", time);
    return ret_text;
}

/* "2 wrong, 1 compile_error"; "" when nothing failed. */
static void failures_text(const struct atoll_task_summary *s, char *ret_text, size_t bytes)
{
    size_t at = 0;

    *ret_text = '\0';
    for (unsigned v = ATOLL_V_CORRECT + 1; v < ATOLL_VERDICT_COUNT && at < bytes; v++) {
        if (!s->verdicts[v])
            continue;
        at += (size_t)snprintf(ret_text + at, bytes - at, "%s%llu %s", at ? ", " : "",
                               (unsigned long long)s->verdicts[v], atoll_verdict_name((enum atoll_verdict)v));
    }
}

static void print_dead_templates(FILE *out, const struct atoll_query *query, uint64_t task_row)
{
    const struct atoll_tables *tables = atoll_query_tables(query);
    struct atoll_dead_template dead[8];
    size_t count = atoll_query_dead_templates(query, task_row, dead, sizeof(dead) / sizeof(dead[0]));

    for (size_t i = 0; i < count; i++) {
        struct atoll_row_candidate c;
        struct atoll_row_evaluation e;

        atoll_tables_get(tables, ATOLL_TABLE_CANDIDATES, dead[i].candidate, &c);
        atoll_tables_get(tables, ATOLL_TABLE_EVALUATIONS, dead[i].evaluation, &e);
        atoll_print(out, "    %s: none of the %llu combinations that were tried compiles: %.300s\n",
                    atoll_tables_text(tables, c.origin), (unsigned long long)dead[i].combinations,
                    atoll_tables_text(tables, e.detail));
    }
}

static void print_row(void *context, const struct atoll_query *query, const struct atoll_task_summary *s,
                      const struct atoll_row_task *task)
{
    const struct printing *printing = context;
    FILE *out = printing->out;
    const struct atoll_speedup *seed = &s->over[ATOLL_OVER_SEED];
    char baseline[48], best[48], interval[32] = "-", pairs[16] = "-", failures[256], id[ATOLL_ID_HEX] = "-";

    if (!atoll_id_is_zero(&task->best))
        atoll_id_hex(&task->best, id);
    if (seed->hi > 0)
        snprintf(interval, sizeof(interval), "%.2f-%.2f", seed->lo, seed->hi);
    if (seed->pair_count)
        snprintf(pairs, sizeof(pairs), "%u", seed->pair_count);
    atoll_print(out, "%-20s %13s %13s ", s->name,
                time_text(seed->yardstick_ns, seed->yardstick_lo_ns, seed->yardstick_hi_ns, baseline,
                          sizeof(baseline)),
                time_text(s->best_ns, s->best_lo_ns, s->best_hi_ns, best, sizeof(best)));
    if (seed->ratio > 0)
        atoll_print(out, "%8.2fx%s %13s %5s ", seed->ratio, seed->is_final ? " " : "*", interval, pairs);
    else
        atoll_print(out, "%8s   %13s %5s ", "-", interval, pairs);
    if (s->floor_share > 0)
        fprintf(out, "%7.1f %%", 100 * s->floor_share);
    else
        atoll_print(out, "%9s", "-");
    atoll_print(out, " %6llu %7llu  %-7s  %-*.*s%s%s\n", (unsigned long long)s->evaluated,
                (unsigned long long)s->correct, s->made_by ? atoll_maker_name(s->made_by) : "-",
                *s->model ? printing->id_digits : 0, printing->id_digits, id, *s->model ? "  " : "",
                s->model);
    failures_text(s, failures, sizeof(failures));
    if (*failures)
        atoll_print(out, "    %s\n", failures);
    print_dead_templates(out, query, s->row);
    if (seed->yardstick_ns <= 0) {
        char failure[512];

        atoll_task_table_failure(query, s->row, failure, sizeof(failure));
        if (*failure)
            atoll_print(out, "    %s\n", failure);
    }
    if (s->beyond_precisions) {
        char names[128];

        atoll_print(out, "    the best computes with %s, less exactly than the task's precisions\n",
                    atoll_mix_names(s->beyond_precisions, names, sizeof(names)));
    }
}

/* Why the search of the tasks ended, a line for each reason with its tasks. */
static void print_reasons(const struct atoll_query *query, const char *only, FILE *out)
{
    const struct atoll_tables *tables = atoll_query_tables(query);
    uint64_t task_count = atoll_tables_count(tables, ATOLL_TABLE_TASKS);
    struct atoll_row_task task;

    for (unsigned reason = ATOLL_REASON_NONE + 1; reason < ATOLL_REASON_COUNT; reason++) {
        uint64_t count = 0;

        for (uint64_t i = 0; i < task_count; i++) {
            atoll_tables_get(tables, ATOLL_TABLE_TASKS, i, &task);
            if (!task.done || task.reason != reason ||
                (only && strcmp(only, atoll_tables_text(tables, task.name)) != 0)) {
                continue;
            }
            if (count++ == 0)
                atoll_print(out,
                            "ended, %s:", atoll_reason_text(atoll_reason_name((enum atoll_reason)reason)));
            if (count <= NAMED_TASKS)
                atoll_print(out, " %s", atoll_tables_text(tables, task.name));
        }
        if (count > NAMED_TASKS)
            fprintf(out, " and %llu more", (unsigned long long)count - NAMED_TASKS);
        if (count > 0)
            fputs(reason == ATOLL_REASON_FLOOR
                      ? " (by times measured alone; the shares above are of the final comparisons)\n"
                      : "\n",
                  out);
    }
}

void atoll_task_table_print(const struct atoll_query *query, const char *only, FILE *out)
{
    struct printing printing = {out, atoll_query_id_digits(query)};
    struct atoll_archive_summary summary;
    const struct atoll_speedup_sums *sums = &summary.tasks.over[ATOLL_OVER_SEED];
    int floors_differ = 0;

    atoll_print(out, "%-20s %13s %13s %9s  %13s %5s %9s %6s %7s  %-7s  %s\n", "task", "baseline +-",
                "best +-", "speedup", "95 % interval", "pairs", "of floor", "evals", "correct", "made by",
                "kernel");
    each_task(query, only, print_row, &printing);
    for (uint64_t i = 0; i < atoll_tables_count(atoll_query_tables(query), ATOLL_TABLE_TASKS); i++) {
        struct atoll_task_summary task;

        atoll_query_task_summary(query, i, &task);
        floors_differ |= task.floors_differ;
    }
    if (floors_differ)
        fprintf(out, "no shares of floors: they were made in different ways (column floor_model) and cannot "
                     "be compared\n");
    atoll_query_summary(query, &summary);
    if (!only && sums->timed_count > 0) {
        atoll_print(out, "%llu of %llu tasks timed, geometric mean %.2fx%s\n",
                    (unsigned long long)sums->timed_count, (unsigned long long)sums->task_count,
                    sums->geometric_mean,
                    sums->are_final ? "" : " (* not from an interleaved final comparison)");
    }
    print_reasons(query, only, out);
}

/* What the best candidate is limited by; "unknown" where nothing was counted. */
static const char *limiter_of(const struct atoll_query *query, const struct atoll_row_task *task)
{
    struct atoll_row_profile profile;
    uint64_t evaluation;
    int64_t candidate = atoll_query_candidate(query, task->campaign, &task->best), row = -1;

    if (candidate >= 0)
        row = atoll_query_candidate_profile(query, (uint64_t)candidate, task->model, &evaluation);
    if (row < 0)
        return atoll_limiter_name(ATOLL_LIMITER_UNKNOWN);
    atoll_tables_get(atoll_query_tables(query), ATOLL_TABLE_PROFILES, (uint64_t)row, &profile);
    return atoll_limiter_name((enum atoll_limiter)profile.limiter);
}

/* [lo, hi]; null where it is not known. */
static json_t *interval_json(double lo, double hi)
{
    return hi > 0 ? json_pack("[f, f]", lo, hi) : json_null();
}

/* What the numbers rest on, and who made the best kernel. */
static void add_evidence(json_t *row, const struct atoll_task_summary *s)
{
    const struct atoll_speedup *seed = &s->over[ATOLL_OVER_SEED];
    json_t *verdicts = json_object(), *more;

    for (unsigned v = 0; v < ATOLL_VERDICT_COUNT; v++)
        if (s->verdicts[v])
            json_object_set_new(verdicts, atoll_verdict_name((enum atoll_verdict)v),
                                json_integer((json_int_t)s->verdicts[v]));
    more = json_pack("{s:s, s:o, s:o, s:o, s:I, s:b, s:f, s:o, s:s, s:o, s:f, s:f}", "speedup_over",
                     atoll_yardstick_name(s->headline), "baseline_interval_ns",
                     interval_json(seed->yardstick_lo_ns, seed->yardstick_hi_ns), "best_interval_ns",
                     interval_json(s->best_lo_ns, s->best_hi_ns), "speedup_interval",
                     interval_json(seed->lo, seed->hi), "pairs", (json_int_t)seed->pair_count,
                     "baseline_is_best", s->is_baseline_best, "correct_rate", s->correct_share, "verdicts",
                     verdicts, "made_by", atoll_maker_name(s->made_by), "origin", atoll_json_text(s->origin),
                     "best_seed_ns", s->seed_ns, "gain_over_seeds", s->gain_over_seeds);
    json_object_update(row, more);
    json_decref(more);
}

static void add_row(void *context, const struct atoll_query *query, const struct atoll_task_summary *s,
                    const struct atoll_row_task *task)
{
    char names[128];
    char best[ATOLL_ID_HEX] = "";
    const struct atoll_speedup *seed = &s->over[ATOLL_OVER_SEED];
    json_t *row;

    if (!atoll_id_is_zero(&task->best))
        atoll_id_hex(&task->best, best);
    row = json_pack(
        "{s:o, s:o, s:s, s:f, s:f, s:f, s:f, s:b, s:o, s:f, s:s, s:s, s:I, s:I, s:s, s:o}", "task",
        atoll_json_text(s->name), "model",
        atoll_json_text(atoll_tables_text(atoll_query_tables(query), task->model_name)), "candidate", best,
        "baseline_ns", seed->yardstick_ns, "best_ns", s->best_ns, "floor_ns", s->floor_ns, "speedup",
        seed->ratio, "final", seed->is_final, "p_value",
        seed->pair_count ? json_real(seed->p_value) : json_null(), "floor_share", s->floor_share,
        "floor_model", s->floor_model, "beyond_precisions",
        atoll_mix_names(s->beyond_precisions, names, sizeof(names)), "evaluations", (json_int_t)s->evaluated,
        "correct", (json_int_t)s->correct, "limiter", limiter_of(query, task), "ended",
        task->done ? json_string(atoll_reason_name((enum atoll_reason)task->reason)) : json_null());
    add_evidence(row, s);
    json_array_append_new(context, row);
}

json_t *atoll_task_table_json(const struct atoll_query *query, const char *only)
{
    json_t *rows = json_array();

    each_task(query, only, add_row, rows);
    return rows;
}
