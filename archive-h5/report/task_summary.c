#include "archive-h5/report/task_summary.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "archive-h5/report/task_rival.h"
#include "archive-h5/report/task_words.h"

#include "core/ask.h"
#include "core/evaluation.h"
#include "core/fitness.h"

const char *atoll_yardstick_name(enum atoll_yardstick yardstick)
{
    static const char *const names[ATOLL_YARDSTICK_COUNT] = {"rival", "eager", "seed"};
    return yardstick < ATOLL_YARDSTICK_COUNT ? names[yardstick] : "unknown";
}

double atoll_task_yardstick_ns(const struct atoll_row_task *task)
{
    return task->rival_ns > 0 ? task->rival_ns : task->baseline_ns;
}

const char *atoll_speedup_text(const struct atoll_speedup *speedup, char *ret_text, size_t bytes)
{
    if (!(speedup->ratio > 0))
        return "-";
    snprintf(ret_text, bytes, "%s%.2fx", speedup->is_final ? "" : "~", speedup->ratio);
    return ret_text;
}

static void add_verdicts(const struct atoll_query *q, uint64_t task_row, struct atoll_task_summary *s)
{
    struct atoll_rows rows = atoll_query_task_evaluations(q, task_row);
    struct atoll_row_candidate c;
    struct atoll_row_evaluation e;
    uint64_t judged = 0;
    for (size_t i = 0; i < rows.count; i++) {
        atoll_tables_get(atoll_query_tables(q), ATOLL_TABLE_EVALUATIONS, rows.rows[i], &e);
        if (e.verdict >= ATOLL_VERDICT_COUNT)
            continue;
        s->verdicts[e.verdict]++;
        judged += e.verdict != ATOLL_V_UNSTABLE && e.verdict != ATOLL_V_INFRASTRUCTURE;
        int64_t candidate = e.verdict == ATOLL_V_CORRECT && e.time_ns > 0
                                ? atoll_query_candidate(q, e.campaign, &e.candidate)
                                : -1;
        if (candidate < 0)
            continue;
        atoll_tables_get(atoll_query_tables(q), ATOLL_TABLE_CANDIDATES, (uint64_t)candidate, &c);
        if (c.operator_ == ATOLL_OPERATOR_SEED && (s->seed_ns <= 0 || e.time_ns < s->seed_ns))
            s->seed_ns = e.time_ns;
    }
    s->correct_share = judged ? (double)s->verdicts[ATOLL_V_CORRECT] / (double)judged : 0;
}

/* The evaluation that counts of a candidate by its id: 1 and ret. */
static int evaluation_of(const struct atoll_query *q, const struct atoll_row_task *task,
                         const struct atoll_id *id, uint64_t *ret_candidate, struct atoll_row_evaluation *ret)
{
    int64_t candidate = atoll_id_is_zero(id) ? -1 : atoll_query_candidate(q, task->campaign, id);
    int64_t row = candidate < 0 ? -1 : atoll_query_best_evaluation(q, (uint64_t)candidate, task->model);
    if (row < 0)
        return 0;
    *ret_candidate = (uint64_t)candidate;
    atoll_tables_get(atoll_query_tables(q), ATOLL_TABLE_EVALUATIONS, (uint64_t)row, ret);
    return 1;
}

const char *atoll_unstable_tries_text(uint64_t tries, char *ret_text, size_t bytes)
{
    snprintf(ret_text, bytes, "its baseline was unstable in all %llu tries (a round has several)",
             (unsigned long long)tries);
    return tries == 0 ? "" : tries == 1 ? "its baseline was unstable in its only try" : ret_text;
}

static void add_best(const struct atoll_query *q, const struct atoll_row_task *task,
                     struct atoll_task_summary *s)
{
    struct atoll_row_evaluation e;
    struct atoll_row_candidate c;
    uint64_t candidate;
    struct atoll_speedup *seed = &s->over[ATOLL_OVER_SEED];
    if (evaluation_of(q, task, &task->baseline, &candidate, &e) && seed->yardstick_lo_ns <= 0) {
        seed->yardstick_lo_ns = e.time_lo_ns;
        seed->yardstick_hi_ns = e.time_hi_ns;
    }
    if (!evaluation_of(q, task, &task->best, &candidate, &e))
        return;
    if (s->best_lo_ns <= 0) {
        s->best_lo_ns = e.time_lo_ns;
        s->best_hi_ns = e.time_hi_ns;
    }
    atoll_tables_get(atoll_query_tables(q), ATOLL_TABLE_CANDIDATES, candidate, &c);
    s->made_by = atoll_query_maker(q, candidate);
    s->origin = atoll_tables_text(atoll_query_tables(q), c.origin);
    if (s->made_by == ATOLL_MAKER_SEED)
        s->gain_over_seeds = 1;
    else if (s->seed_ns > 0 && e.time_ns > 0)
        s->gain_over_seeds = s->seed_ns / e.time_ns;
}

/* The quotient of two medians, where there are both. */
static void add_quotient(struct atoll_speedup *speedup, double yardstick_ns, double best_ns)
{
    speedup->yardstick_ns = yardstick_ns;
    if (yardstick_ns > 0 && best_ns > 0)
        speedup->ratio = yardstick_ns / best_ns;
}

/* How far the lower, or upper, ends of two intervals lie from their medians together. */
static double distance(double one_end, double one, double other_end, double other)
{
    return exp(hypot(log(one_end / one), log(other_end / other)));
}

void atoll_quotient_interval(const struct atoll_interval *over, const struct atoll_interval *of,
                             double *ret_lo, double *ret_hi)
{
    *ret_lo = *ret_hi = 0;
    if (!(over->median > 0) || !(over->lo > 0) || !(of->median > 0) || !(of->lo > 0))
        return;
    *ret_lo = over->median / of->median / distance(over->lo, over->median, of->hi, of->median);
    *ret_hi = over->median / of->median * distance(over->hi, over->median, of->lo, of->median);
}

void atoll_query_speedup_of(const struct atoll_query *q, const struct atoll_row_task *task,
                            const struct atoll_row_evaluation *e, enum atoll_yardstick over,
                            struct atoll_speedup *ret)
{
    int is_rival = over == ATOLL_OVER_RIVAL;
    struct atoll_row_evaluation baseline;
    uint64_t candidate;
    *ret = (struct atoll_speedup){.ratio = 0};
    add_quotient(ret, is_rival ? task->rival_ns : task->baseline_ns, e->time_ns);
    if (is_rival) {
        ret->yardstick_lo_ns = task->rival_lo_ns;
        ret->yardstick_hi_ns = task->rival_hi_ns;
    } else if (evaluation_of(q, task, &task->baseline, &candidate, &baseline) &&
               !atoll_id_equal(&e->candidate, &task->baseline)) {
        ret->yardstick_lo_ns = baseline.time_lo_ns;
        ret->yardstick_hi_ns = baseline.time_hi_ns;
    }
    const struct atoll_interval over_time = {ret->yardstick_ns, ret->yardstick_lo_ns, ret->yardstick_hi_ns};
    const struct atoll_interval time = {e->time_ns, e->time_lo_ns, e->time_hi_ns};
    atoll_quotient_interval(&over_time, &time, &ret->lo, &ret->hi);
}

/* Over the baseline, and with it the best kernel's time. */
static void add_seed(const struct atoll_row_task *row, struct atoll_task_summary *s)
{
    struct atoll_speedup *seed = &s->over[ATOLL_OVER_SEED];
    seed->yardstick_ns = row->baseline_ns;
    seed->p_value = row->final_p;
    seed->is_final = row->final_ratio > 0;
    if (!seed->is_final) {
        add_quotient(seed, row->baseline_ns, row->best_ns);
        return;
    }
    seed->ratio = row->final_ratio;
    seed->lo = row->final_lo;
    seed->hi = row->final_hi;
    seed->pair_count = row->final_pairs;
    if (row->final_baseline_ns > 0 && row->final_best_ns > 0) {
        seed->yardstick_ns = row->final_baseline_ns;
        seed->yardstick_lo_ns = row->final_baseline_lo_ns;
        seed->yardstick_hi_ns = row->final_baseline_hi_ns;
        s->best_ns = row->final_best_ns;
        s->best_lo_ns = row->final_best_lo_ns;
        s->best_hi_ns = row->final_best_hi_ns;
    }
}

/* Of torch, as the first of the correct rivals was measured with. */
static const char *versions_of(const struct atoll_query *q, uint64_t task_row)
{
    const struct atoll_tables *t = atoll_query_tables(q);
    uint64_t rows[ATOLL_TASK_RIVAL_LIMIT];
    struct atoll_row_rival rival;
    size_t count = atoll_query_rivals(q, task_row, rows);
    for (size_t i = 0; i < count; i++) {
        atoll_tables_get(t, ATOLL_TABLE_RIVALS, rows[i], &rival);
        if (rival.verdict == ATOLL_V_CORRECT)
            return atoll_tables_text(t, rival.versions);
    }
    return "";
}

/* Over the rival and over eager, and with the final comparison the best kernel's time. */
static void add_rival(const struct atoll_query *q, const struct atoll_row_task *row,
                      struct atoll_task_summary *s)
{
    const struct atoll_tables *t = atoll_query_tables(q);
    struct atoll_speedup *rival = &s->over[ATOLL_OVER_RIVAL], *eager = &s->over[ATOLL_OVER_EAGER];
    s->rival = atoll_tables_text(t, row->rival);
    s->rival_mode = atoll_tables_text(t, row->rival_mode);
    s->rival_host_ns = row->rival_host_ns;
    if (!(row->rival_ns > 0))
        return;
    s->rival_versions = versions_of(q, s->row);
    s->headline = ATOLL_OVER_RIVAL;
    add_quotient(rival, row->rival_ns, s->best_ns); /* the time that stands beside it */
    rival->yardstick_lo_ns = row->rival_lo_ns;
    rival->yardstick_hi_ns = row->rival_hi_ns;
    if (row->final_rival_ratio > 0) {
        *rival = (struct atoll_speedup){.yardstick_ns = row->final_rival_ns,
                                        .yardstick_lo_ns = row->final_rival_lo_ns,
                                        .yardstick_hi_ns = row->final_rival_hi_ns,
                                        .ratio = row->final_rival_ratio,
                                        .lo = row->final_rival_lo,
                                        .hi = row->final_rival_hi,
                                        .is_final = 1,
                                        .pair_count = row->final_rival_pairs,
                                        .p_value = row->final_rival_p};
        s->best_ns = row->final_rival_best_ns;
        s->best_lo_ns = row->final_rival_best_lo_ns;
        s->best_hi_ns = row->final_rival_best_hi_ns;
    }
    if (row->eager_ns > 0 && row->eager_ns <= row->rival_ns)
        *eager = *rival; /* it is the rival */
    else
        add_quotient(eager, row->eager_ns, s->best_ns);
}

static int says_no_operations(const struct atoll_tables *t, const struct atoll_row_task *row)
{
    char word[16];
    return strstr(atoll_tables_text(t, row->definition),
                  "unknown") && /* most tasks: no need to look closer */
           atoll_task_word(t, row, "work", "flops", word, sizeof(word)) &&
           strcmp(word, "unknown") == 0;
}

static void add_floor(const struct atoll_query *q, const struct atoll_row_task *row,
                      struct atoll_task_summary *s)
{
    const struct atoll_tables *t = atoll_query_tables(q);
    const uint8_t *models = atoll_tables_column_named(t, ATOLL_TABLE_TASKS, "floor_model");
    const double *floors = atoll_tables_column_named(t, ATOLL_TABLE_TASKS, "floor_ns");
    const uint32_t *tasks = atoll_tables_column_named(t, ATOLL_TABLE_TASKS, "name");
    s->floor_ns = atoll_floor_trusted_ns(row->floor_ns, s->best_ns);
    s->floor_model = atoll_floor_model_name((enum atoll_floor_model)row->floor_model);
    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_TASKS); i++)
        if (floors[i] > 0 && row->floor_ns > 0)
            s->floors_differ |=
                !models[i] != !row->floor_model || (tasks[i] == row->name && models[i] != row->floor_model);
    s->is_memory_floor = s->floor_ns > 0 && says_no_operations(t, row);
    if (s->floor_ns > 0 && s->best_ns > 0 && !s->floors_differ)
        s->floor_share = s->floor_ns / s->best_ns;
}

void atoll_query_task_summary(const struct atoll_query *q, uint64_t task_row, struct atoll_task_summary *ret)
{
    const struct atoll_tables *t = atoll_query_tables(q);
    struct atoll_row_task row;
    atoll_tables_get(t, ATOLL_TABLE_TASKS, task_row, &row);
    *ret = (struct atoll_task_summary){.row = task_row,
                                       .name = atoll_tables_text(t, row.name),
                                       .model = "",
                                       .headline = ATOLL_OVER_SEED,
                                       .rival_versions = "",
                                       .level = row.level,
                                       .category = atoll_tables_text(t, row.category),
                                       .tags = atoll_tables_text(t, row.tags),
                                       .best_ns = row.best_ns,
                                       .beyond_precisions = row.best_beyond_precisions,
                                       .evaluated = row.evaluated,
                                       .correct = row.correct,
                                       .origin = ""};
    /* Worth showing only where a table has tasks of more than one. */
    const uint32_t *names = atoll_tables_column_named(t, ATOLL_TABLE_TASKS, "model_name");
    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_TASKS); i++)
        if (names[i] != row.model_name)
            ret->model = atoll_tables_text(t, row.model_name);
    ret->is_baseline_best = !atoll_id_is_zero(&row.best) && atoll_id_equal(&row.best, &row.baseline);
    add_seed(&row, ret);
    add_rival(q, &row, ret);
    add_floor(q, &row, ret);
    add_verdicts(q, task_row, ret);
    if (!ret->verdicts[ATOLL_V_CORRECT] && !(row.rival_ns > 0))
        ret->unstable_tries = ret->verdicts[ATOLL_V_UNSTABLE];
    add_best(q, &row, ret);
}
