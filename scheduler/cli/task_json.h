/* task_json.h - the result of a run as JSON: tasks, and their sums.  Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_CLI_TASK_JSON_H
#define ATOLL_SCHEDULER_CLI_TASK_JSON_H

#include <jansson.h>

#include "archive-h5/report/archive_summary.h"
#include "archive-h5/report/ask_summary.h"

/* An object per task.  only: name of one task, NULL = all.  "speedup", its interval, pairs and p-value are over the rival where one
 * was measured, else over the seed ("speedup_over" says which); "speedup_seed" is over the seed in any case.  New reference. */
json_t *atoll_task_json(const struct atoll_query *query, const char *only);
/* {"all", "levels": [...], "categories": [...]}: of each "tasks", "correct", "correct_rate", "floor_share", and over "rival",
 * "eager" and "seed" "tasks", "timed", "geometric_mean", "arithmetic_mean", "final", "fast": {"1", "1.5", "2", "3", "5"}; null
 * where none was measured.  New reference. */
json_t *atoll_task_json_sums(const struct atoll_query *query);
/* {"tries", "correct", "share", "interval"} of the kernels of models' asks; null where there was none.  New reference. */
json_t *atoll_first_tries_json(const struct atoll_role_sum *sum);

#endif
