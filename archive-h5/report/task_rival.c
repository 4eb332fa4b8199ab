#include "archive-h5/report/task_rival.h"

#include "core/verdict.h"

size_t atoll_query_rivals(const struct atoll_query *q, uint64_t task_row,
                          uint64_t ret_rows[ATOLL_TASK_RIVAL_LIMIT])
{
    const struct atoll_tables *t = atoll_query_tables(q);
    struct atoll_rows rows = atoll_query_task_rivals(q, task_row);
    const uint32_t *numbers = atoll_tables_column_named(t, ATOLL_TABLE_RIVALS, "number");
    const uint8_t *verdicts = atoll_tables_column_named(t, ATOLL_TABLE_RIVALS, "verdict");
    int64_t newest[ATOLL_TASK_RIVAL_LIMIT];
    size_t count = 0;
    for (size_t n = 0; n < ATOLL_TASK_RIVAL_LIMIT; n++)
        newest[n] = -1;
    for (size_t i = 0; i < rows.count; i++) {
        uint32_t row = rows.rows[i], number = numbers[row];
        if (number < ATOLL_TASK_RIVAL_LIMIT && (newest[number] < 0 || verdicts[row] == ATOLL_V_CORRECT ||
                                                verdicts[newest[number]] != ATOLL_V_CORRECT)) {
            newest[number] = row;
        }
    }
    for (size_t n = 0; n < ATOLL_TASK_RIVAL_LIMIT; n++)
        if (newest[n] >= 0)
            ret_rows[count++] = (uint64_t)newest[n];
    return count;
}

size_t atoll_query_rival_timings(const struct atoll_query *q, uint64_t rival_row,
                                 uint64_t ret_rows[ATOLL_TASK_VARIANT_LIMIT])
{
    const struct atoll_tables *t = atoll_query_tables(q);
    const uint64_t *events = atoll_tables_column_named(t, ATOLL_TABLE_RIVAL_TIMINGS, "event");
    const uint32_t *campaigns = atoll_tables_column_named(t, ATOLL_TABLE_RIVAL_TIMINGS, "campaign");
    struct atoll_row_rival rival;
    size_t count = 0;
    atoll_tables_get(t, ATOLL_TABLE_RIVALS, rival_row, &rival);
    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_RIVAL_TIMINGS); i++)
        if (events[i] == rival.event && campaigns[i] == rival.campaign && count < ATOLL_TASK_VARIANT_LIMIT)
            ret_rows[count++] = i;
    return count;
}
