/* task_table.h - one line or one JSON object per task: the result of a run.  Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_TASK_TABLE_H
#define ATOLL_SCHEDULER_TASK_TABLE_H

#include <jansson.h>
#include <stdio.h>

#include "archive-h5/query.h"

/* only: name of one task, NULL = all. */
void atoll_task_table_print(const struct atoll_query *query, const char *only, FILE *out);
json_t *atoll_task_table_json(const struct atoll_query *query, const char *only); /* new reference */

#endif
