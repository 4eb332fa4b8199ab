/* project_decision.c - decisions into rows: candidates, elites, migrations, and how tasks and campaign stand.
 */
#include <string.h>

#include "archive-h5/table/project_state.h"

static int add_elite(struct atoll_projection *p, const struct atoll_decision *d, struct atoll_err *err)
{
    struct atoll_row_elite row = {.event = p->event,
                                  .ordinal = p->ordinal,
                                  .task = d->task,
                                  .island = d->island,
                                  .memory = d->cell.memory,
                                  .algorithm = d->cell.algorithm,
                                  .coordination = d->cell.coordination,
                                  .candidate = d->candidate,
                                  .replaced = d->elite,
                                  .time_ns = d->time_ns,
                                  .fitness = d->fitness,
                                  .campaign_ns = p->campaign_ns,
                                  .model = d->model};
    return atoll_tables_append(p->tables, ATOLL_TABLE_ELITES, &row, err);
}

static int add_migration(struct atoll_projection *p, const struct atoll_decision *d, struct atoll_err *err)
{
    struct atoll_row_migration row = {.event = p->event,
                                      .ordinal = p->ordinal,
                                      .task = d->task,
                                      .from_island = d->island,
                                      .to_island = d->other_island,
                                      .candidate = d->candidate,
                                      .campaign_ns = p->campaign_ns,
                                      .model = d->model};
    return atoll_tables_append(p->tables, ATOLL_TABLE_MIGRATIONS, &row, err);
}

static int add_decision(struct atoll_projection *p, const struct atoll_decision *d, struct atoll_err *err)
{
    struct atoll_row_decision row = {.event = p->event,
                                     .ordinal = p->ordinal,
                                     .type = (uint8_t)d->type,
                                     .task = d->task,
                                     .evaluation = d->evaluation,
                                     .candidate = d->candidate,
                                     .time_ns = d->time_ns,
                                     .reason = (uint8_t)d->reason,
                                     .campaign_ns = p->campaign_ns,
                                     .model = d->model};
    return atoll_tables_append(p->tables, ATOLL_TABLE_DECISIONS, &row, err);
}

static int find_final(const struct atoll_projection *p, const struct atoll_row_task *task,
                      struct atoll_row_duel *ret_duel)
{
    for (uint64_t i = atoll_tables_count(p->tables, ATOLL_TABLE_DUELS); i-- > 0;) {
        atoll_tables_get(p->tables, ATOLL_TABLE_DUELS, i, ret_duel);
        if (ret_duel->task == task->task && ret_duel->model == task->model &&
            ret_duel->purpose == ATOLL_DUEL_FINAL && atoll_id_equal(&ret_duel->challenger, &task->best))
            return 1;
    }
    return 0;
}

/* The last BEST of a done task concludes its finals: the row tells of the final of that candidate, not of the
 * one that came last.  Where nobody is confirmed the baseline is the best, with a ratio of 1. */
static void conclude_finals(const struct atoll_projection *p, struct atoll_row_task *row)
{
    struct atoll_row_duel duel = {.ratio = 0};
    if (atoll_id_equal(&row->best, &row->baseline))
        duel = (struct atoll_row_duel){
            .ratio = 1, .p_value = 1, .elite_ns = row->baseline_ns, .challenger_ns = row->best_ns};
    else if (!find_final(p, row, &duel))
        memset(&duel, 0, sizeof duel);
    row->final_ratio = duel.verdict == ATOLL_V_CORRECT ? duel.ratio : 0;
    row->final_p = duel.p_value;
    row->final_baseline_ns = duel.elite_ns;
    row->final_best_ns = duel.challenger_ns;
    row->final_pairs = duel.pair_count;
    row->final_verdict = duel.verdict;
}

/* BASELINE, BEST, TASK_DONE. */
static int update_task(struct atoll_projection *p, const struct atoll_decision *d, struct atoll_err *err)
{
    struct atoll_row_task row;
    uint64_t task_row;
    int known = atoll_projection_task_row(p, d->task, d->model, &task_row, err);
    if (known != 1)
        return known;
    atoll_tables_get(p->tables, ATOLL_TABLE_TASKS, task_row, &row);
    int64_t candidate = atoll_projection_find_candidate(p, &d->candidate);
    if (d->type == ATOLL_DECIDE_TASK_DONE) {
        row.done = 1;
        row.reason = (uint8_t)d->reason;
    } else if (d->type == ATOLL_DECIDE_BASELINE) {
        row.baseline = d->candidate;
        row.baseline_ns = d->time_ns;
    } else {
        row.best = d->candidate;
        row.best_ns = d->time_ns;
        row.best_fitness = d->fitness;
        row.floor_ns =
            candidate >= 0 ? ((struct atoll_projection_floor *)p->floors.items)[candidate].ns[d->model] : 0;
        if (row.done)
            conclude_finals(p, &row);
    }
    atoll_tables_set(p->tables, ATOLL_TABLE_TASKS, task_row, &row);
    return 0;
}

static void update_campaign(struct atoll_projection *p, const struct atoll_decision *d)
{
    struct atoll_row_campaign row;
    atoll_tables_get(p->tables, ATOLL_TABLE_CAMPAIGN, 0, &row);
    row.stop_reason = (uint8_t)d->reason;
    atoll_tables_set(p->tables, ATOLL_TABLE_CAMPAIGN, 0, &row);
}

static int project_decision(struct atoll_projection *p, const struct atoll_decision *d, struct atoll_err *err)
{
    switch (d->type) {
    case ATOLL_DECIDE_EVALUATE:
        atoll_projection_accept(p, d->answers_ask);
        return atoll_projection_add_dispatch(p, d, err) != 0 ? -1 : atoll_projection_add_candidate(p, d, err);
    case ATOLL_DECIDE_DUEL: return atoll_projection_add_dispatch(p, d, err);
    case ATOLL_DECIDE_ELITE: return add_elite(p, d, err);
    case ATOLL_DECIDE_MIGRATE: return add_migration(p, d, err);
    case ATOLL_DECIDE_BASELINE:
    case ATOLL_DECIDE_BEST:
    case ATOLL_DECIDE_TASK_DONE: return update_task(p, d, err);
    case ATOLL_DECIDE_ASK: return atoll_projection_ask(p, d, err);
    case ATOLL_DECIDE_STOP: update_campaign(p, d); return 0;
    default: return 0;
    }
}

int atoll_projection_decision(struct atoll_projection *p, uint64_t event, const struct atoll_decision *d,
                              struct atoll_err *err)
{
    p->event = event;
    if (project_decision(p, d, err) != 0 || add_decision(p, d, err) != 0)
        return -1;
    p->ordinal++;
    return 0;
}
