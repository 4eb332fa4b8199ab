#include "scheduler/cli/seed_view.h"

#include <stdio.h>

#include "archive-h5/report/task_words.h"
#include "archive-h5/table/table.h"
#include "core/ask.h"
#include "core/decision.h"

#define NOTHING_SAID "the task has none in a language of this campaign"

void atoll_seed_view_none(const struct atoll_query *query, uint64_t task_row, char *ret_text, size_t bytes)
{
    const struct atoll_tables *tables = atoll_query_tables(query);
    struct atoll_row_candidate candidate;
    struct atoll_row_task task;
    int is_begun;

    *ret_text = '\0';
    atoll_tables_get(tables, ATOLL_TABLE_TASKS, task_row, &task);
    /* What ended for another reason may have ended before its seeds were asked for. */
    is_begun = task.done && task.reason == ATOLL_REASON_NO_BASELINE;
    for (uint64_t i = 0; i < atoll_tables_count(tables, ATOLL_TABLE_CANDIDATES); i++) {
        atoll_tables_get(tables, ATOLL_TABLE_CANDIDATES, i, &candidate);
        if (candidate.campaign != task.campaign || candidate.task != task.task)
            continue;
        if (candidate.operator_ == ATOLL_OPERATOR_SEED)
            return;
        is_begun = 1;
    }
    if (!is_begun)
        return;

    char why[1000];
    int is_said = atoll_task_word(tables, &task, "unseeded", NULL, why, sizeof(why));
    snprintf(ret_text, bytes, "none: %s", is_said ? why : NOTHING_SAID);
}
