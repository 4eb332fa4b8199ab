/* task_table.h - one line per task, and their sums: the result of a run.  Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_CLI_TASK_TABLE_H
#define ATOLL_SCHEDULER_CLI_TASK_TABLE_H

#include <stdio.h>

#include "archive-h5/report/archive_summary.h"

/* only: name of one task, NULL = all. */
void atoll_task_table_print(const struct atoll_query *query, const char *only, FILE *out);

/* Why a task has no baseline: its first failure with the seed's name, "" when nothing failed.  task: row of
 * tasks. */
void atoll_task_table_failure(const struct atoll_query *query, uint64_t task_row, char *ret_text,
                              size_t bytes);

#endif
