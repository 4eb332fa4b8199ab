/* seed_view.h - a task that began without a seed says so.  Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_CLI_SEED_VIEW_H
#define ATOLL_SCHEDULER_CLI_SEED_VIEW_H

#include <stddef.h>

#include "archive-h5/report/query.h"

/* "none: why" where a task of the archive had a candidate, or ended for want of a baseline, and no seed of it was ever one; else
 * "": what ended before its seeds were asked for says nothing of them.  why: what its task.yaml says. */
void atoll_seed_view_none(const struct atoll_query *query, uint64_t task_row, char *ret_text, size_t bytes);

#endif
