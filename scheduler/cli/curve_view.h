/* curve_view.h - how the best times of tasks came down, for a spreadsheet or a script.  Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_CLI_CURVE_VIEW_H
#define ATOLL_SCHEDULER_CLI_CURVE_VIEW_H

#include <jansson.h>
#include <stdio.h>

#include "archive-h5/report/query.h"

/* An object per point of archive-h5/report/best_curve.h, task by task.  only: name of one task, NULL = all.  What is not known is null.
 * New reference; NULL without memory. */
json_t *atoll_curve_view_json(const struct atoll_query *query, const char *only, struct atoll_err *err);
/* The same as CSV (RFC 4180) with a line of names, which are those of the members; what is not known is empty. */
int atoll_curve_view_csv(const struct atoll_query *query, const char *only, FILE *out, struct atoll_err *err);

#endif
