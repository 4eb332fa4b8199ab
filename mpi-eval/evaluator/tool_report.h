/* tool_report.h - what a compilation or a check that a model asked for gave, as text for it.
 * Layer: mpi-eval.  Pure. */
#ifndef ATOLL_MPI_EVAL_EVALUATOR_TOOL_REPORT_H
#define ATOLL_MPI_EVAL_EVALUATOR_TOOL_REPORT_H

#include "core/tool.h"
#include "mpi-eval/evaluator/object_cache.h"
#include "mpi-eval/referee/backend.h"

/* The candidate that a source is: the first legal combination of a template.  Texts: the order's.  A plan that is
 * none is no error: preparing it says why.  Errors: MEMORY. */
int atoll_tool_candidate(const struct atoll_task *task, const struct atoll_tool_order *order,
                         struct atoll_order_candidate *ret_candidate, struct atoll_err *err);
/* Of an object that is READY.  pattern: lines of its listing that are wanted; "" none. */
void atoll_tool_report_compiled(const struct atoll_backend *backend, const struct atoll_prepared *prepared,
                                const struct atoll_object *object, const struct atoll_device_info *device,
                                const char *pattern, struct atoll_buffer *out);
/* Of a verdict.  prepared: whose plan may have several paths, of which the taken ones are told; NULL: not known.  Returns what the call's
 * status is. */
enum atoll_tool_status atoll_tool_report_verdict(enum atoll_tool tool,
                                                 const struct atoll_evaluation *evaluation,
                                                 const struct atoll_prepared *prepared,
                                                 struct atoll_buffer *out);

#endif
