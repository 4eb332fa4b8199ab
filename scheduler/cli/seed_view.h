/* seed_view.h - a task that began without a seed says so.  Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_CLI_SEED_VIEW_H
#define ATOLL_SCHEDULER_CLI_SEED_VIEW_H

#include <stddef.h>

#include "archive-h5/report/query.h"

/* "none: why" where a task of the archive got as far as an evaluation, or to its end, and no seed of it was ever a candidate; else
 * "".  why: what its task.yaml says. */
void atoll_seed_view_none(const struct atoll_query *query, uint64_t task_row, char *ret_text, size_t bytes);

#endif
