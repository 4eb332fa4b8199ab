/* task_rival.h - what was measured of a task's rivals.  Layer: archive-h5, pure. */
#ifndef ATOLL_ARCHIVE_H5_REPORT_TASK_RIVAL_H
#define ATOLL_ARCHIVE_H5_REPORT_TASK_RIVAL_H

#include "archive-h5/report/query.h"
#include "core/task/task.h"

/* The newest measurement of every rival of a task on its device model, in the order in which the task names them; a correct one
 * counts before a later one that is not.  Rows in rivals; how many. */
size_t atoll_query_rivals(const struct atoll_query *query, uint64_t task_row,
                          uint64_t ret_rows[ATOLL_TASK_RIVAL_LIMIT]);
/* Rows in rival_timings of one measurement; how many. */
size_t atoll_query_rival_timings(const struct atoll_query *query, uint64_t rival_row,
                                 uint64_t ret_rows[ATOLL_TASK_VARIANT_LIMIT]);

#endif
