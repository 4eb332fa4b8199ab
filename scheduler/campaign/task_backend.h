/* task_backend.h - whether a task has what a backend needs: a source in its language and something to time.
 * Layer: scheduler.  Pure. */
#ifndef ATOLL_SCHEDULER_CAMPAIGN_TASK_BACKEND_H
#define ATOLL_SCHEDULER_CAMPAIGN_TASK_BACKEND_H

#include "core/task/task.h"

/* 1 when the task can be evolved with a backend ("cpu", "cuda"); 0 with a clause on what is missing and what to do. */
int atoll_task_fits_backend(const struct atoll_task *task, const char *backend, char *ret_why,
                            size_t why_bytes);

#endif
