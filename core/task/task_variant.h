/* task_variant.h - the shapes a task is checked and measured at.
 * Layer: core, private to task_*.c. */
#ifndef ATOLL_CORE_TASK_TASK_VARIANT_H
#define ATOLL_CORE_TASK_TASK_VARIANT_H

#include "core/task/task_document.h"

/* Into the task, whose dims are known; target is not used. */
int atoll_task_read_variants(struct atoll_task_document *d, const yaml_node_t *node, void *target);

#endif
