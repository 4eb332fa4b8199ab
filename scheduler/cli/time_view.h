/* time_view.h - where the time of an archive's devices went, for people and programs.  Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_CLI_TIME_VIEW_H
#define ATOLL_SCHEDULER_CLI_TIME_VIEW_H

#include <jansson.h>
#include <stdio.h>

#include "archive-h5/report/query.h"

/* A line a device, or one for all where they are many: "device 0: candidates 41 %, ..."; nothing where the archive does not say. */
void atoll_time_view_print(const struct atoll_query *query, FILE *out);
/* The tasks that took most, in shares of the time of all devices. */
void atoll_time_view_print_tasks(const struct atoll_query *query, FILE *out);

/* A list: per task "task", "model" and the members of device_time_json.h; empty where the archive does not say.  New reference. */
json_t *atoll_time_view_tasks_json(const struct atoll_query *query);
/* Rows of device_time: "attempt", "job", "device" (number in the list of devices; null: none of them), "task" (null: of none), "time"
 * (device_time_json.h).  New reference. */
json_t *atoll_time_view_rows_json(const struct atoll_query *query);

#endif
