/* task_tensor.h - dims and tensors of a task.yaml, with how tensors are filled.
 * Layer: core, private to task_*.c. */
#ifndef ATOLL_CORE_TASK_TASK_TENSOR_H
#define ATOLL_CORE_TASK_TASK_TENSOR_H

#include "core/task/task_document.h"

/* Into the task; target is not used. */
int atoll_task_read_dims(struct atoll_task_document *d, const yaml_node_t *node, void *target);
int atoll_task_read_tensors(struct atoll_task_document *d, const yaml_node_t *node, void *target);

#endif
