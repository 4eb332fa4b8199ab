#include "scheduler/cli/task_table.h"

#include <string.h>

#include "base/print.h"
#include "base/units.h"
#include "core/decision.h"
#include "core/verdict.h"

#include "archive-h5/report/failure.h"
#include "archive-h5/report/query_name.h"
#include "scheduler/cli/rival_view.h"
#include "scheduler/cli/seed_view.h"

#define GROUP_LIMIT 64 /* levels, or categories */
#define MEANS_BYTES 128
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
            for (char *at = ret_text; (at = strchr(at, '\n')) != NULL;) /* of a compiler: a table has lines */
                *at = ' ';
            return;
        }
    }
    if (task.done && task.reason == ATOLL_REASON_NO_BASELINE)
        snprintf(
            ret_text, bytes,
            "%s has no seed, and PyTorch, which could take its place, was not timed: add a seed, or name a "
            "Python with torch (--python)",
            atoll_tables_text(tables, task.name));
}

/* Columns of the table: with a rival in the archive speedups are over it, and over the seed stand second; without one the share of
 * the floor leads. */
struct printing {
    FILE *out;
    int id_digits, has_rivals;
    int name_width; /* of the longest name of a task */
    int is_narrow; /* a terminal on which a whole line does not fit: what a first look does not need is left out */
    int is_lowest;         /* on which intervals and pairs do not fit either: they stand below */
    int has_memory_floors; /* some share is of a floor of memory alone */
};

#define GROUP_COLUMNS 93 /* of a line of levels or categories */
/* Of a line beside the task's name and the kernel's id. */
#define WHOLE_COLUMNS  101u
#define RIVAL_COLUMNS  26u /* so many more with rivals */
#define MIDDLE_COLUMNS 75u /* without what a first look does not need */

/* "2 wrong, 1 compile_error; 3 without a verdict"; "" when nothing failed.  Failures of the infrastructure are no candidate's. */
static void failures_text(const struct atoll_task_summary *s, char *ret_text, size_t bytes)
{
    size_t at = 0;

    *ret_text = '\0';
    for (unsigned v = ATOLL_V_CORRECT + 1; v < ATOLL_VERDICT_COUNT && at < bytes; v++) {
        if (!s->verdicts[v] || v == ATOLL_V_INFRASTRUCTURE)
            continue;
        at += (size_t)snprintf(ret_text + at, bytes - at, "%s%llu %s", at ? ", " : "",
                               (unsigned long long)s->verdicts[v], atoll_verdict_name((enum atoll_verdict)v));
    }
    if (s->verdicts[ATOLL_V_INFRASTRUCTURE] && at < bytes)
        snprintf(ret_text + at, bytes - at, "%s%llu without a verdict, by a failure of the infrastructure",
                 at ? "; " : "", (unsigned long long)s->verdicts[ATOLL_V_INFRASTRUCTURE]);
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

/* "  ~2.31x     2.20-2.45    16 ": a speedup with its interval and pairs. */
static void print_speedup(FILE *out, const struct atoll_speedup *s)
{
    char ratio[32], interval[32] = "-", pairs[16] = "-";

    if (s->hi > 0)
        snprintf(interval, sizeof(interval), "%.2f-%.2f", s->lo, s->hi);
    if (s->pair_count)
        snprintf(pairs, sizeof(pairs), "%u", s->pair_count);
    atoll_print(out, "%9s %13s %5s ", atoll_speedup_text(s, ratio, sizeof(ratio)), interval, pairs);
}

/* "    95 % interval 2.20-2.45, 16 pairs" */
static void print_interval_below(FILE *out, const struct atoll_speedup *s)
{
    if (s->hi > 0)
        atoll_print(out, "    95 %% interval %.2f-%.2f", s->lo, s->hi);
    if (s->pair_count)
        atoll_print(out, "%s%u pairs", s->hi > 0 ? ", " : "    ", s->pair_count);
    if (s->hi > 0 || s->pair_count)
        fputc('\n', out);
}

/* * of a floor of memory alone. */
static void print_share(FILE *out, const struct atoll_task_summary *s)
{
    if (s->floor_share > 0)
        fprintf(out, "%7.1f %%%c", 100 * s->floor_share, s->is_memory_floor ? '*' : ' ');
    else
        atoll_print(out, "%9s ", "-");
}

/* What is compared with what, up to the share of the floor. */
static void print_figures(const struct printing *printing, const struct atoll_task_summary *s)
{
    const struct atoll_speedup *seed = &s->over[ATOLL_OVER_SEED], *rival = &s->over[ATOLL_OVER_RIVAL];
    const struct atoll_speedup *first = printing->has_rivals ? rival : seed;
    char other[48], best[48], ratio[32];
    const char *best_text =
        atoll_duration_interval_text(s->best_ns, s->best_lo_ns, s->best_hi_ns, best, sizeof(best));
    const char *other_text = atoll_duration_interval_text(first->yardstick_ns, first->yardstick_lo_ns,
                                                          first->yardstick_hi_ns, other, sizeof(other));

    if (!printing->has_rivals)
        print_share(printing->out, s);
    else if (!printing->is_narrow)
        atoll_print(printing->out, "%-12.12s ", *s->rival ? s->rival : "-");
    if (!printing->is_narrow)
        atoll_print(printing->out, "%13s ", other_text);
    atoll_print(printing->out, "%13s ", best_text);
    if (printing->is_lowest)
        atoll_print(printing->out, "%9s ", atoll_speedup_text(first, ratio, sizeof(ratio)));
    else
        print_speedup(printing->out, first);
    if (printing->has_rivals) {
        atoll_print(printing->out, "%12s ",
                    atoll_ratio_interval_text(!seed->is_final, seed->ratio, seed->lo, seed->hi, ratio,
                                              sizeof(ratio)));
        if (printing->is_narrow)
            return;
        print_share(printing->out, s);
    }
}

static void print_row(void *context, const struct atoll_query *query, const struct atoll_task_summary *s,
                      const struct atoll_row_task *task)
{
    const struct printing *printing = context;
    FILE *out = printing->out;
    char failures[256], gain[32] = "-", id[ATOLL_ID_HEX] = "-";

    if (!atoll_id_is_zero(&task->best))
        atoll_id_hex(&task->best, id);
    atoll_print(out, "%-*s ", printing->name_width, s->name);
    print_figures(printing, s);
    if (s->gain_over_seeds > 0)
        snprintf(gain, sizeof(gain), "%.2fx", s->gain_over_seeds);
    if (!printing->is_narrow)
        atoll_print(out, "%6llu %7llu ", (unsigned long long)s->evaluated, (unsigned long long)s->correct);
    atoll_print(out, "%7s %-7s  ", gain, s->made_by ? atoll_maker_name(s->made_by) : "-");
    atoll_print(out, "%-*.*s%s%s\n", *s->model ? printing->id_digits : 0, printing->id_digits, id,
                *s->model ? "  " : "", s->model);
    if (printing->is_lowest)
        print_interval_below(out, &s->over[printing->has_rivals ? ATOLL_OVER_RIVAL : ATOLL_OVER_SEED]);
    atoll_rival_view_print_failed(query, s->row, out);
    failures_text(s, failures, sizeof(failures));
    if (*failures)
        atoll_print_line(out, 6, "    %s", failures);
    print_dead_templates(out, query, s->row);
    if (s->unstable_tries)
        atoll_print_line(out, 6, "    %s",
                         atoll_unstable_tries_text(s->unstable_tries, failures, sizeof(failures)));
    if (s->over[ATOLL_OVER_SEED].yardstick_ns <= 0) {
        char failure[512], none[512];

        atoll_seed_view_none(query, s->row, none, sizeof(none));
        if (*none)
            atoll_print_line(out, 6, "    seeds: %s", none);

        atoll_task_table_failure(query, s->row, failure, sizeof(failure));
        if (*failure)
            atoll_print_line(out, 6, "    %s", failure);
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

/* "geometric mean 1.03x, arithmetic 1.21x over the rival" of one yardstick. */
static const char *means_text(const char *before, const struct atoll_speedup_sums *sums, const char *over,
                              char ret_text[MEANS_BYTES])
{
    char interval[48] = "";

    *ret_text = '\0';
    if (sums->geometric_hi > 0)
        snprintf(interval, sizeof(interval), " (%.2f-%.2f)", sums->geometric_lo, sums->geometric_hi);
    if (sums->timed_count > 0)
        snprintf(ret_text, MEANS_BYTES, "%sgeometric mean %s%.2fx%s, arithmetic %.2fx over %s", before,
                 sums->are_final ? "" : "~", sums->geometric_mean, interval, sums->arithmetic_mean, over);
    return ret_text;
}

/* The headline: over the rival first; without one the share of the floor. */
static void print_headline(FILE *out, const struct atoll_task_sums *s)
{
    const struct atoll_speedup_sums *rival = &s->over[ATOLL_OVER_RIVAL], *eager = &s->over[ATOLL_OVER_EAGER],
                                    *seed = &s->over[ATOLL_OVER_SEED];
    char means[3][MEANS_BYTES] = {""};

    if (s->headline != ATOLL_OVER_SEED) {
        atoll_print_line(
            out, 0, "%llu of %llu tasks timed beside a rival%s%s%s", (unsigned long long)rival->timed_count,
            (unsigned long long)s->task_count, means_text(": ", rival, "the rival", means[0]),
            means_text("; ", eager, "eager", means[1]), means_text("; ", seed, "the seed", means[2]));
        atoll_print(out, "more than 1x the rival: %.0f of %.0f tasks; more than 1.5x: %.0f\n",
                    rival->fast_share[0] * (double)rival->task_count, (double)rival->task_count,
                    rival->fast_share[1] * (double)rival->task_count);
    } else if (seed->timed_count > 0) {
        if (s->floor_count > 0)
            snprintf(means[0], MEANS_BYTES, ", geometric mean %.1f %% of the floor%s", 100 * s->floor_mean,
                     !s->memory_floor_count                    ? ""
                     : s->memory_floor_count == s->floor_count ? " (of memory alone)"
                                                               : " (some of memory alone)");
        atoll_print_line(out, 0, "no rival measured; %llu of %llu tasks timed%s%s",
                         (unsigned long long)seed->timed_count, (unsigned long long)s->task_count, means[0],
                         means_text(", ", seed, "the seed", means[1]));
    }
    if (!rival->are_final || !seed->are_final)
        atoll_print(out, "~ the quotient of two times measured apart: no final comparison confirmed it\n");
}

/* Of the tasks of each level, or category. */
static void print_groups(FILE *out, const struct atoll_query *query, enum atoll_grouping by)
{
    struct atoll_task_group groups[GROUP_LIMIT];
    size_t count = atoll_query_groups(query, by, groups, GROUP_LIMIT);
    unsigned columns = atoll_print_columns(out);
    int has_several = 0, is_narrow, name_columns;

    for (size_t i = 0; i < count; i++)
        has_several |= groups[i].sums.task_count > 1;
    if (count == 0 || (by == ATOLL_BY_CATEGORY && !has_several)) /* then the tasks' own lines say it */
        return;
    is_narrow = columns > 0 && columns < GROUP_COLUMNS;
    name_columns = is_narrow ? 16 : 18;
    atoll_print(out, "\n%-*s %5s %7s  %-8s %6s %8s %9s %13s%s\n", name_columns,
                by == ATOLL_BY_LEVEL ? "level" : "category", "tasks", "correct", "over", "fast_1", "fast_1.5",
                "geometric", "95 % interval", is_narrow ? "" : " arithmetic");
    for (size_t i = 0; i < count; i++) {
        const struct atoll_task_sums *s = &groups[i].sums;
        char name[64];

        if (by == ATOLL_BY_LEVEL && groups[i].level)
            snprintf(name, sizeof(name), "%u", groups[i].level);
        else
            snprintf(name, sizeof(name), "%.60s", *groups[i].category ? groups[i].category : "-");
        for (int y = 0, is_first = 1; y < ATOLL_YARDSTICK_COUNT; y++) {
            const struct atoll_speedup_sums *over = &s->over[y];
            char correct[16], fast[2][16], means[2][32], interval[48] = "-";

            if (y == ATOLL_OVER_SEED ? !over->timed_count && !is_first : !over->task_count)
                continue;
            snprintf(correct, sizeof(correct), "%.0f %%",
                     100.0 * (double)s->solved_count / (double)s->task_count);
            for (size_t k = 0; k < 2; k++)
                snprintf(fast[k], sizeof(fast[k]), "%.0f %%", 100 * over->fast_share[k]);
            snprintf(means[0], sizeof(means[0]), "%s%.2fx", over->are_final ? "" : "~", over->geometric_mean);
            snprintf(means[1], sizeof(means[1]), "%s%.2fx", over->are_final ? "" : "~",
                     over->arithmetic_mean);
            if (over->geometric_hi > 0)
                snprintf(interval, sizeof(interval), "%.2f-%.2f", over->geometric_lo, over->geometric_hi);
            if (is_first)
                atoll_print(out, "%-*.*s %5llu %7s  ", name_columns, is_narrow ? name_columns : 60, name,
                            (unsigned long long)s->task_count, correct);
            else
                atoll_print(out, "%-*s %5s %7s  ", name_columns, "", "", "");
            atoll_print(out, "%-8s %6s %8s %9s %13s", atoll_yardstick_name((enum atoll_yardstick)y), fast[0],
                        fast[1], over->timed_count ? means[0] : "-", interval);
            if (is_narrow)
                fputc('\n', out);
            else
                atoll_print(out, " %10s\n", over->timed_count ? means[1] : "-");
            is_first = 0;
        }
    }
}

static void print_head(const struct printing *printing)
{
    FILE *out = printing->out;

    atoll_print(out, "%-*s ", printing->name_width, "task");
    if (printing->is_narrow) {
        if (!printing->has_rivals)
            atoll_print(out, "%9s ", "of floor");
        atoll_print(out, "%13s %9s ", "best +-", printing->has_rivals ? "speedup" : "over seed");
        if (!printing->is_lowest)
            atoll_print(out, "%13s %5s ", "95 % interval", "pairs");
        if (printing->has_rivals)
            atoll_print(out, "%12s ", "over seed +-");
        atoll_print(out, "%7s %-7s  kernel\n", "gain", "made by");
        return;
    }
    if (printing->has_rivals) {
        atoll_print(out, "%-12s %13s %13s %9s %13s %5s %12s %9s ", "rival", "its time +-", "best +-",
                    "speedup", "95 % interval", "pairs", "over seed +-", "of floor");
    } else {
        atoll_print(out, "%9s %13s %13s %9s %13s %5s ", "of floor", "seed +-", "best +-", "over seed",
                    "95 % interval", "pairs");
    }
    atoll_print(out, "%6s %7s %7s %-7s  %s\n", "evals", "correct", "gain", "made by", "kernel");
}

void atoll_task_table_print(const struct atoll_query *query, const char *only, FILE *out)
{
    struct printing printing = {.out = out, .id_digits = atoll_query_id_digits(query), .name_width = 12};
    struct atoll_archive_summary summary;
    int floors_differ = 0;

    for (uint64_t i = 0; i < atoll_tables_count(atoll_query_tables(query), ATOLL_TABLE_TASKS); i++) {
        struct atoll_task_summary task;

        atoll_query_task_summary(query, i, &task);
        floors_differ |= task.floors_differ;
        printing.has_rivals |= task.headline != ATOLL_OVER_SEED;
        if ((!only || strcmp(only, task.name) == 0) && (int)strlen(task.name) > printing.name_width)
            printing.name_width = (int)strlen(task.name);
        printing.has_memory_floors |= task.is_memory_floor && task.floor_share > 0;
    }
    unsigned columns = atoll_print_columns(out);
    unsigned own_columns = (unsigned)(printing.name_width + printing.id_digits);
    printing.is_narrow =
        columns > 0 && columns < own_columns + WHOLE_COLUMNS + (printing.has_rivals ? RIVAL_COLUMNS : 0u);
    printing.is_lowest = printing.is_narrow && columns < own_columns + MIDDLE_COLUMNS;
    print_head(&printing);
    each_task(query, only, print_row, &printing);
    if (printing.is_narrow)
        atoll_print_line(
            out, 0,
            "(gain: over the best of the seeds; a wider terminal shows times compared with%s and "
            "evaluations; so does --json)",
            printing.has_rivals ? ", shares of floors" : "");
    if (printing.has_memory_floors && !(printing.is_narrow && printing.has_rivals))
        atoll_print_line(out, 0,
                         "* of a floor of memory alone: how many operations the task needs is not known");
    if (floors_differ)
        fprintf(out, "no shares of floors: they were made in different ways (column floor_model) and cannot "
                     "be compared\n");
    if (!only) {
        atoll_query_summary(query, &summary);
        print_headline(out, &summary.tasks);
    }
    print_reasons(query, only, out);
    if (!only) {
        print_groups(out, query, ATOLL_BY_LEVEL);
        print_groups(out, query, ATOLL_BY_CATEGORY);
    }
}
