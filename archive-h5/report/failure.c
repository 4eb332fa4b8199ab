#include "archive-h5/report/failure.h"

#include "core/verdict.h"

#define SOURCES_LOOKED_AT 64 /* of a task, for those none of whose combinations compiles */

size_t atoll_query_failures(const struct atoll_query *q, uint64_t task_row, uint64_t *ret_rows, size_t limit)
{
    struct atoll_rows rows = atoll_query_task_evaluations(q, task_row);
    const uint8_t *verdicts =
        atoll_tables_column_named(atoll_query_tables(q), ATOLL_TABLE_EVALUATIONS, "verdict");
    size_t count = 0;
    for (size_t i = rows.count; i-- > 0 && count < limit;) {
        uint8_t v = verdicts[rows.rows[i]];
        if (v != ATOLL_V_CORRECT && v != ATOLL_V_UNSTABLE && v != ATOLL_V_INFRASTRUCTURE)
            ret_rows[count++] = rows.rows[i];
    }
    return count;
}

/* Refused before anything of it could run. */
static int is_stillborn(uint8_t verdict)
{
    return verdict == ATOLL_V_BAD_PLAN || verdict == ATOLL_V_FORBIDDEN || verdict == ATOLL_V_COMPILE_ERROR;
}

/* How many combinations of a source were judged; 0 when one of them got further than its compiler. */
static uint64_t count_stillborn(const struct atoll_query *q, struct atoll_rows rows,
                                const struct atoll_id *source)
{
    struct atoll_row_evaluation e;
    struct atoll_row_candidate c;
    uint64_t count = 0;
    for (size_t i = 0; i < rows.count; i++) {
        atoll_tables_get(atoll_query_tables(q), ATOLL_TABLE_EVALUATIONS, rows.rows[i], &e);
        int64_t row = atoll_query_candidate(q, e.campaign, &e.candidate);
        if (row < 0 || e.verdict == ATOLL_V_INFRASTRUCTURE)
            continue;
        atoll_tables_get(atoll_query_tables(q), ATOLL_TABLE_CANDIDATES, (uint64_t)row, &c);
        if (!atoll_id_equal(&c.source_id, source))
            continue;
        if (!is_stillborn(e.verdict))
            return 0;
        count++;
    }
    return count;
}

size_t atoll_query_dead_templates(const struct atoll_query *q, uint64_t task_row,
                                  struct atoll_dead_template *ret_templates, size_t limit)
{
    struct atoll_rows rows = atoll_query_task_evaluations(q, task_row);
    struct atoll_id seen[SOURCES_LOOKED_AT];
    size_t seen_count = 0, count = 0;
    for (size_t i = rows.count; i-- > 0 && count < limit && seen_count < SOURCES_LOOKED_AT;) {
        struct atoll_row_evaluation e;
        struct atoll_row_candidate c;
        atoll_tables_get(atoll_query_tables(q), ATOLL_TABLE_EVALUATIONS, rows.rows[i], &e);
        int64_t row = is_stillborn(e.verdict) ? atoll_query_candidate(q, e.campaign, &e.candidate) : -1;
        if (row < 0)
            continue;
        atoll_tables_get(atoll_query_tables(q), ATOLL_TABLE_CANDIDATES, (uint64_t)row, &c);
        size_t k = 0;
        while (k < seen_count && !atoll_id_equal(&seen[k], &c.source_id))
            k++;
        if (k < seen_count)
            continue;
        seen[seen_count++] = c.source_id;
        uint64_t combinations = count_stillborn(q, rows, &c.source_id);
        if (combinations > 1)
            ret_templates[count++] = (struct atoll_dead_template){(uint64_t)row, rows.rows[i], combinations};
    }
    return count;
}
