#include "archive-h5/report/best_curve.h"

#include <stdlib.h>
#include <string.h>

#include "archive-h5/report/task_summary.h"

#include "core/ask.h"
#include "core/decision.h"
#include "core/fitness.h"

static int compare_events(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int compare_answers(const void *a, const void *b)
{
    int64_t x = ((const struct atoll_curve_answer *)a)->answered_ns,
            y = ((const struct atoll_curve_answer *)b)->answered_ns;
    return (x > y) - (x < y);
}

static int compare_ids(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct atoll_id));
}

static void gather_evaluations(struct atoll_curve *curve, const struct atoll_tables *t,
                               struct atoll_rows rows)
{
    const uint64_t *events = atoll_tables_column_named(t, ATOLL_TABLE_EVALUATIONS, "event");
    const uint8_t *verdicts = atoll_tables_column_named(t, ATOLL_TABLE_EVALUATIONS, "verdict");
    for (size_t i = 0; i < rows.count; i++)
        if (verdicts[rows.rows[i]] != ATOLL_V_INFRASTRUCTURE)
            curve->evaluated[curve->evaluated_count++] = events[rows.rows[i]];
    qsort(curve->evaluated, curve->evaluated_count, sizeof(*curve->evaluated), compare_events);
}

/* Of an ask, by its texts: a spool may be answered by somebody who counts nothing. */
static uint64_t estimate_tokens(const struct atoll_tables *t, const struct atoll_row_ask *ask)
{
    return (strlen(atoll_tables_text(t, ask->system)) + strlen(atoll_tables_text(t, ask->prompt)) +
            strlen(atoll_tables_text(t, ask->answer)) + strlen(atoll_tables_text(t, ask->thought))) /
           ATOLL_BYTES_PER_TOKEN;
}

static void gather_answers(struct atoll_curve *curve, const struct atoll_tables *t, struct atoll_rows rows)
{
    for (size_t i = 0; i < rows.count; i++) {
        struct atoll_row_ask ask;
        atoll_tables_get(t, ATOLL_TABLE_ASKS, rows.rows[i], &ask);
        uint64_t tokens = ask.tokens + ask.tool_tokens;
        if (ask.answered_ns > 0)
            curve->answers[curve->answer_count++] = (struct atoll_curve_answer){
                ask.answered_ns, tokens, tokens ? tokens : estimate_tokens(t, &ask)};
    }
    qsort(curve->answers, curve->answer_count, sizeof(*curve->answers), compare_answers);
    for (size_t i = 1; i < curve->answer_count; i++) {
        curve->answers[i].tokens += curve->answers[i - 1].tokens;
        curve->answers[i].tokens_estimated += curve->answers[i - 1].tokens_estimated;
    }
}

static void gather_wrong(struct atoll_curve *curve, const struct atoll_tables *t, struct atoll_rows rows)
{
    for (size_t i = 0; i < rows.count; i++) {
        struct atoll_row_duel duel;
        atoll_tables_get(t, ATOLL_TABLE_DUELS, rows.rows[i], &duel);
        if (duel.verdict != ATOLL_V_CORRECT && duel.verdict != ATOLL_V_INFRASTRUCTURE &&
            duel.verdict != ATOLL_V_UNSTABLE)
            curve->wrong[curve->wrong_count++] = duel.challenger;
    }
    qsort(curve->wrong, curve->wrong_count, sizeof(*curve->wrong), compare_ids);
}

int atoll_curve_init(struct atoll_curve *curve, const struct atoll_query *q, uint64_t task_row,
                     struct atoll_err *err)
{
    const struct atoll_tables *t = atoll_query_tables(q);
    struct atoll_rows evaluations = atoll_query_task_evaluations(q, task_row),
                      asks = atoll_query_task_asks(q, task_row), duels = atoll_query_task_duels(q, task_row);
    struct atoll_task_summary summary;
    atoll_query_task_summary(q, task_row, &summary);
    *curve = (struct atoll_curve){.query = q, .task_row = task_row, .floors_differ = summary.floors_differ};
    atoll_tables_get(t, ATOLL_TABLE_TASKS, task_row, &curve->task);
    curve->evaluated = malloc((evaluations.count + 1) * sizeof(*curve->evaluated));
    curve->answers = malloc((asks.count + 1) * sizeof(*curve->answers));
    curve->wrong = malloc((duels.count + 1) * sizeof(*curve->wrong));
    if (!curve->evaluated || !curve->answers || !curve->wrong) {
        atoll_curve_fini(curve);
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the curve of a task");
    }
    gather_evaluations(curve, t, evaluations);
    gather_answers(curve, t, asks);
    gather_wrong(curve, t, duels);
    return 0;
}

void atoll_curve_fini(struct atoll_curve *curve)
{
    free(curve->evaluated);
    free(curve->answers);
    free(curve->wrong);
    *curve = (struct atoll_curve){.query = NULL};
}

/* The next time that a faster kernel, which is one to this day, became the best: 1, the decision and the candidate's row. */
static int next_improvement(struct atoll_curve *curve, struct atoll_row_decision *ret,
                            uint64_t *ret_candidate)
{
    const struct atoll_tables *t = atoll_query_tables(curve->query);
    const uint8_t *types = atoll_tables_column_named(t, ATOLL_TABLE_DECISIONS, "type");
    struct atoll_rows rows = atoll_query_task_decisions(curve->query, curve->task_row);
    while (curve->next < rows.count) {
        uint64_t row = rows.rows[curve->next++];
        struct atoll_row_candidate c;
        struct atoll_row_judgement judgement;
        if (types[row] != ATOLL_DECIDE_BEST)
            continue;
        atoll_tables_get(t, ATOLL_TABLE_DECISIONS, row, ret);
        if (!(ret->time_ns > 0) || (curve->best_ns > 0 && ret->time_ns >= curve->best_ns))
            continue;
        int64_t candidate = atoll_query_candidate(curve->query, ret->campaign, &ret->candidate);
        if (candidate < 0 ||
            bsearch(&ret->candidate, curve->wrong, curve->wrong_count, sizeof(*curve->wrong), compare_ids))
            continue;
        *ret_candidate = (uint64_t)candidate;
        atoll_tables_get(t, ATOLL_TABLE_CANDIDATES, *ret_candidate, &c);
        c.model = curve->task.model; /* the row says the first that it was proposed on */
        if (!atoll_query_discarded(curve->query, &c, &judgement))
            return 1;
    }
    return 0;
}

/* Of the kernel until the decision: the last correct one. */
static void add_evaluation(const struct atoll_curve *curve, const struct atoll_row_decision *d,
                           uint64_t candidate, struct atoll_curve_point *p)
{
    const struct atoll_tables *t = atoll_query_tables(curve->query);
    struct atoll_rows rows = atoll_query_evaluations(curve->query, candidate);
    for (size_t i = 0; i < rows.count; i++) {
        struct atoll_row_evaluation e;
        atoll_tables_get(t, ATOLL_TABLE_EVALUATIONS, rows.rows[i], &e);
        if (e.model != curve->task.model || e.verdict != ATOLL_V_CORRECT || e.event > d->event)
            continue;
        p->evaluation = e.evaluation;
        if (!curve->floors_differ)
            p->floor_share = atoll_floor_trusted_ns(e.floor_ns, p->best_ns) / p->best_ns;
    }
}

/* How many of the sorted are not behind it. */
static uint64_t evaluations_until(const struct atoll_curve *curve, uint64_t event)
{
    size_t low = 0, high = curve->evaluated_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (curve->evaluated[middle] <= event)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The last answer until then, with the tokens of all until it; NULL: none. */
static const struct atoll_curve_answer *answer_until(const struct atoll_curve *curve, int64_t campaign_ns)
{
    size_t low = 0, high = curve->answer_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (curve->answers[middle].answered_ns <= campaign_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &curve->answers[low - 1] : NULL;
}

int atoll_curve_next(struct atoll_curve *curve, struct atoll_curve_point *ret)
{
    const struct atoll_tables *t = atoll_query_tables(curve->query);
    struct atoll_row_decision d;
    struct atoll_row_candidate c;
    uint64_t candidate;
    if (!next_improvement(curve, &d, &candidate))
        return 0;
    atoll_tables_get(t, ATOLL_TABLE_CANDIDATES, candidate, &c);
    curve->best_ns = d.time_ns;
    const struct atoll_curve_answer *answer = answer_until(curve, d.campaign_ns);
    *ret = (struct atoll_curve_point){.evaluations = evaluations_until(curve, d.event),
                                      .campaign_ns = d.campaign_ns,
                                      .tokens = answer ? answer->tokens : 0,
                                      .tokens_estimated = answer ? answer->tokens_estimated : 0,
                                      .best_ns = d.time_ns,
                                      .maker = atoll_query_maker(curve->query, candidate),
                                      .origin = atoll_tables_text(t, c.origin),
                                      .candidate = d.candidate};
    if (curve->task.baseline_ns > 0)
        ret->seed_ratio = curve->task.baseline_ns / d.time_ns;
    if (curve->task.rival_ns > 0)
        ret->rival_ratio = curve->task.rival_ns / d.time_ns;
    add_evaluation(curve, &d, candidate, ret);
    return 1;
}
