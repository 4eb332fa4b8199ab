/* task_check.h - what must hold between the keys of a task, and the defaults that follow from several of
 * them.
 * Layer: core, private to task_*.c. */
#ifndef ATOLL_CORE_TASK_TASK_CHECK_H
#define ATOLL_CORE_TASK_TASK_CHECK_H

#include "core/task/task_document.h"

/* After everything is read.  root: where failures point to that belong to no single key. */
int atoll_task_check(struct atoll_task_document *d, const yaml_node_t *root);

#endif
