/* rival_view.h - the rivals of a task, for people and as JSON.  Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_CLI_RIVAL_VIEW_H
#define ATOLL_SCHEDULER_CLI_RIVAL_VIEW_H

#include <jansson.h>
#include <stdio.h>

#include "archive-h5/report/task_rival.h"

/* A line for each rival that was tried: time, one call of it, versions, or why it is none. */
void atoll_rival_view_print(const struct atoll_query *query, uint64_t task_row, FILE *out);
/* An indented line for each that was tried and is none. */
void atoll_rival_view_print_failed(const struct atoll_query *query, uint64_t task_row, FILE *out);
/* [{"name", "mode", "expression", "verdict", "detail", "time_ns", "lo_ns", "hi_ns", "host_ns", "compile_ns", "versions", "times":
 * [{"variant", "median_ns", "lo95_ns", "hi95_ns", "host_ns", "samples"}]}]; new reference. */
json_t *atoll_rival_view_json(const struct atoll_query *query, uint64_t task_row);

#endif
