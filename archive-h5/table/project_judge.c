/* project_judge.c - what judges said of candidates, and what became of those that they called cheats. */
#include "archive-h5/table/project_state.h"

int atoll_projection_put_judgement(struct atoll_projection *p, const struct atoll_row_ask *ask,
                                   const struct atoll_reply *reply, struct atoll_err *err)
{
    struct atoll_row_judgement row = {.ask = ask->number,
                                      .event = p->event,
                                      .task = ask->task,
                                      .model = ask->model,
                                      .candidate = ask->parent,
                                      .status = (uint8_t)(1 + (unsigned)reply->status)};
    int64_t candidate = atoll_projection_find_candidate(p, &ask->parent);
    struct atoll_row_candidate of;
    if (ask->kind != ATOLL_ASK_JUDGE)
        return 0;
    if (candidate >= 0) {
        atoll_tables_get(p->tables, ATOLL_TABLE_CANDIDATES, (uint64_t)candidate, &of);
        row.source_id = of.source_id;
    }
    for (uint32_t i = 0; reply->status == ATOLL_REPLY_OK && i < reply->item_count; i++) {
        const struct atoll_reply_item *item = &reply->items[i];
        if (item->kind != ATOLL_ITEM_JUDGEMENT || item->gain_low < row.likelihood)
            continue;
        row.likelihood = item->gain_low;
        row.discarded = item->gain_low > p->judge_limit;
        if (item->text && atoll_projection_put_text(p, item->text, &row.reason, err) != 0)
            return -1;
    }
    return atoll_tables_append(p->tables, ATOLL_TABLE_JUDGEMENTS, &row, err);
}

/* Where it was the best nobody is until the next BEST. */
int atoll_projection_discard(struct atoll_projection *p, const struct atoll_decision *d,
                             struct atoll_err *err)
{
    static const struct atoll_id none;
    struct atoll_row_task row;
    uint64_t task_row;
    int known = atoll_projection_task_row(p, d->task, d->model, &task_row, err);
    if (known != 1)
        return known;
    atoll_tables_get(p->tables, ATOLL_TABLE_TASKS, task_row, &row);
    if (!atoll_id_equal(&row.best, &d->candidate))
        return 0;
    row.best = none;
    row.best_ns = row.best_fitness = 0;
    atoll_tables_set(p->tables, ATOLL_TABLE_TASKS, task_row, &row);
    return 0;
}
