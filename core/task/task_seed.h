/* task_seed.h - the sources a search starts from: baselines that task.yaml names, and every other file of
 * seeds/.
 * Layer: core, private to task_*.c. */
#ifndef ATOLL_CORE_TASK_TASK_SEED_H
#define ATOLL_CORE_TASK_TASK_SEED_H

#include "core/task/task_document.h"

/* Into the task; target is not used. */
int atoll_task_read_baselines(struct atoll_task_document *d, const yaml_node_t *node, void *target);
/* Adds the seeds that are no baseline; root: where failures point to. */
int atoll_task_add_seeds(struct atoll_task_document *d, const yaml_node_t *root);

#endif
