/* task_describe.h - a task at one variant as JSON, for processes that run Python (docs/spec/task.md, "As JSON").
 * Layer: core.  Pure. */
#ifndef ATOLL_CORE_TASK_TASK_DESCRIBE_H
#define ATOLL_CORE_TASK_TASK_DESCRIBE_H

#include <jansson.h>

#include "core/task/task.h"

/* Every extent is a number.  ret_json: the caller's to json_decref.  Its size is bounded by that of a task's texts. */
int atoll_task_describe(const struct atoll_task *task, const struct atoll_variant *variant, json_t **ret_json,
                        struct atoll_err *err);

#endif
