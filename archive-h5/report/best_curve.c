#include "archive-h5/report/best_curve.h"

#include "archive-h5/report/task_summary.h"

#include "core/decision.h"
#include "core/fitness.h"

void atoll_curve_begin(struct atoll_curve *curve, const struct atoll_query *q, uint64_t task_row)
{
    struct atoll_task_summary summary;
    atoll_query_task_summary(q, task_row, &summary);
    *curve = (struct atoll_curve){.query = q, .task_row = task_row, .floors_differ = summary.floors_differ};
    atoll_tables_get(atoll_query_tables(q), ATOLL_TABLE_TASKS, task_row, &curve->task);
}

/* Whether a comparison that it was sent into found it wrong. */
static int is_proved_wrong(const struct atoll_curve *curve, const struct atoll_id *candidate)
{
    const struct atoll_tables *t = atoll_query_tables(curve->query);
    const uint32_t *tasks = atoll_tables_column_named(t, ATOLL_TABLE_DUELS, "task");
    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_DUELS); i++) {
        struct atoll_row_duel duel;
        if (tasks[i] != curve->task.task)
            continue;
        atoll_tables_get(t, ATOLL_TABLE_DUELS, i, &duel);
        if (duel.campaign == curve->task.campaign && duel.model == curve->task.model &&
            atoll_id_equal(&duel.challenger, candidate) && duel.verdict != ATOLL_V_CORRECT &&
            duel.verdict != ATOLL_V_INFRASTRUCTURE && duel.verdict != ATOLL_V_UNSTABLE) {
            return 1;
        }
    }
    return 0;
}

/* The next time that a faster kernel, which is one to this day, became the best: 1, the decision and the candidate's row. */
static int next_improvement(struct atoll_curve *curve, struct atoll_row_decision *ret,
                            uint64_t *ret_candidate)
{
    const struct atoll_tables *t = atoll_query_tables(curve->query);
    const uint8_t *types = atoll_tables_column_named(t, ATOLL_TABLE_DECISIONS, "type");
    while (curve->next < atoll_tables_count(t, ATOLL_TABLE_DECISIONS)) {
        uint64_t row = curve->next++;
        struct atoll_row_candidate c;
        struct atoll_row_judgement judgement;
        if (types[row] != ATOLL_DECIDE_BEST)
            continue;
        atoll_tables_get(t, ATOLL_TABLE_DECISIONS, row, ret);
        if (ret->campaign != curve->task.campaign || ret->task != curve->task.task ||
            ret->model != curve->task.model || !(ret->time_ns > 0) ||
            (curve->best_ns > 0 && ret->time_ns >= curve->best_ns)) {
            continue;
        }
        int64_t candidate = atoll_query_candidate(curve->query, ret->campaign, &ret->candidate);
        if (candidate < 0 || is_proved_wrong(curve, &ret->candidate))
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

static uint64_t evaluations_until(const struct atoll_curve *curve, uint64_t event)
{
    const struct atoll_tables *t = atoll_query_tables(curve->query);
    const uint64_t *events = atoll_tables_column_named(t, ATOLL_TABLE_EVALUATIONS, "event");
    const uint8_t *verdicts = atoll_tables_column_named(t, ATOLL_TABLE_EVALUATIONS, "verdict");
    struct atoll_rows rows = atoll_query_task_evaluations(curve->query, curve->task_row);
    uint64_t count = 0;
    for (size_t i = 0; i < rows.count; i++)
        count += events[rows.rows[i]] <= event && verdicts[rows.rows[i]] != ATOLL_V_INFRASTRUCTURE;
    return count;
}

static uint64_t tokens_until(const struct atoll_curve *curve, int64_t campaign_ns)
{
    const struct atoll_tables *t = atoll_query_tables(curve->query);
    const uint32_t *tasks = atoll_tables_column_named(t, ATOLL_TABLE_ASKS, "task");
    uint64_t tokens = 0;
    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_ASKS); i++) {
        struct atoll_row_ask ask;
        if (tasks[i] != curve->task.task)
            continue;
        atoll_tables_get(t, ATOLL_TABLE_ASKS, i, &ask);
        if (ask.campaign == curve->task.campaign && ask.model == curve->task.model && ask.answered_ns > 0 &&
            ask.answered_ns <= campaign_ns) {
            tokens += ask.tokens + ask.tool_tokens;
        }
    }
    return tokens;
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
    *ret = (struct atoll_curve_point){.evaluations = evaluations_until(curve, d.event),
                                      .campaign_ns = d.campaign_ns,
                                      .tokens = tokens_until(curve, d.campaign_ns),
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
