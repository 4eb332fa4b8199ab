#include "scheduler/cli/task_table.h"

#include <string.h>

#include "base/print.h"
#include "base/units.h"
#include "core/decision.h"
#include "core/verdict.h"

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

static void print_row(void *context, const struct atoll_query *query, const struct atoll_task_summary *s,
                      const struct atoll_row_task *task)
{
    const struct printing *printing = context;
    FILE *out = printing->out;
    char baseline[32], best[32], id[ATOLL_ID_HEX] = "-";

    if (!atoll_id_is_zero(&task->best))
        atoll_id_hex(&task->best, id);

    atoll_print(out, "%-20s %12s %12s ", s->name,
                s->baseline_ns > 0 ? atoll_duration_text(s->baseline_ns, baseline, sizeof(baseline)) : "-",
                s->best_ns > 0 ? atoll_duration_text(s->best_ns, best, sizeof(best)) : "-");
    if (s->speedup > 0)
        atoll_print(out, "%8.2fx%s ", s->speedup, s->speedup_is_final ? " " : "*");
    else
        atoll_print(out, "%8s   ", "-");
    if (s->floor_share > 0)
        fprintf(out, "%9.1f %%", 100 * s->floor_share);
    else
        atoll_print(out, "%11s", "-");
    atoll_print(out, " %8llu %8llu  %-*.*s%s%s\n", (unsigned long long)s->evaluated,
                (unsigned long long)s->correct, *s->model ? printing->id_digits : 0, printing->id_digits, id,
                *s->model ? "  " : "", s->model);
    if (s->baseline_ns <= 0) {
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
                            "ended as %s:", atoll_reason_text(atoll_reason_name((enum atoll_reason)reason)));
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
    int are_final = 1, floors_differ = 0;

    atoll_print(out, "%-20s %12s %12s %9s  %11s %8s %8s  %s\n", "task", "baseline", "best", "speedup",
                "of floor", "evals", "correct", "kernel");
    each_task(query, only, print_row, &printing);
    for (uint64_t i = 0; i < atoll_tables_count(atoll_query_tables(query), ATOLL_TABLE_TASKS); i++) {
        struct atoll_task_summary task;

        atoll_query_task_summary(query, i, &task);
        are_final &= !(task.speedup > 0) || task.speedup_is_final;
        floors_differ |= task.floors_differ;
    }
    if (floors_differ)
        fprintf(out, "no shares of floors: they were made in different ways (column floor_model) and cannot "
                     "be compared\n");
    atoll_query_summary(query, &summary);
    if (!only && summary.timed_count > 0) {
        atoll_print(out, "%llu of %llu tasks timed, geometric mean %.2fx%s\n",
                    (unsigned long long)summary.timed_count, (unsigned long long)summary.task_count,
                    summary.geometric_mean, are_final ? "" : " (* not from an interleaved final comparison)");
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

static void add_row(void *context, const struct atoll_query *query, const struct atoll_task_summary *s,
                    const struct atoll_row_task *task)
{
    char names[128];
    char best[ATOLL_ID_HEX] = "";

    if (!atoll_id_is_zero(&task->best))
        atoll_id_hex(&task->best, best);
    json_array_append_new(
        context,
        json_pack(
            "{s:s, s:o, s:s, s:f, s:f, s:f, s:f, s:b, s:f, s:f, s:s, s:s, s:I, s:I, s:s, s:o}", "task",
            s->name, "model", atoll_json_text(atoll_tables_text(atoll_query_tables(query), task->model_name)),
            "candidate", best, "baseline_ns", s->baseline_ns, "best_ns", s->best_ns, "floor_ns", s->floor_ns,
            "speedup", s->speedup, "final", s->speedup_is_final, "p_value", s->p_value, "floor_share",
            s->floor_share, "floor_model", s->floor_model, "beyond_precisions",
            atoll_mix_names(s->beyond_precisions, names, sizeof(names)), "evaluations",
            (json_int_t)s->evaluated, "correct", (json_int_t)s->correct, "limiter", limiter_of(query, task),
            "ended",
            task->done ? json_string(atoll_reason_name((enum atoll_reason)task->reason)) : json_null()));
}

json_t *atoll_task_table_json(const struct atoll_query *query, const char *only)
{
    json_t *rows = json_array();

    each_task(query, only, add_row, rows);
    return rows;
}
