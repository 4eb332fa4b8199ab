/* failure.h - what failed of a task.  Layer: archive-h5, pure. */
#ifndef ATOLL_ARCHIVE_H5_REPORT_FAILURE_H
#define ATOLL_ARCHIVE_H5_REPORT_FAILURE_H

#include "archive-h5/report/query.h"

/* The newest evaluations of a task that were neither correct nor unstable nor infrastructure, rows in evaluations,
 * newest first; how many, at most limit. */
size_t atoll_query_failures(const struct atoll_query *query, uint64_t task_row, uint64_t *ret_rows,
                            size_t limit);
/* Templates (sources of a task with at least two combinations judged) of which none compiled or was accepted. */
struct atoll_dead_template {
    uint64_t candidate, evaluation; /* rows of the newest of its combinations and of what became of it */
    uint64_t combinations;
};
size_t atoll_query_dead_templates(const struct atoll_query *query, uint64_t task_row,
                                  struct atoll_dead_template *ret_templates, size_t limit);

#endif
