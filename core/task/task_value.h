/* task_value.h - readers of single values of a task.yaml; target is what the row's offset points to.
 * Layer: core, private to task_*.c. */
#ifndef ATOLL_CORE_TASK_TASK_VALUE_H
#define ATOLL_CORE_TASK_TASK_VALUE_H

#include "core/task/task_document.h"

#define ATOLL_DIM_MAX    ((int64_t)1 << 40)
#define ATOLL_NAME_LIMIT 31

/* Into an int: true or false. */
int atoll_value_flag(struct atoll_task_document *d, const yaml_node_t *node, void *target);
/* Into a double: finite; above 0; not below 0; in [0, 1]; an integer of magnitude up to ATOLL_DIM_MAX. */
int atoll_value_number(struct atoll_task_document *d, const yaml_node_t *node, void *target);
int atoll_value_positive(struct atoll_task_document *d, const yaml_node_t *node, void *target);
int atoll_value_nonnegative(struct atoll_task_document *d, const yaml_node_t *node, void *target);
int atoll_value_share(struct atoll_task_document *d, const yaml_node_t *node, void *target);
int atoll_value_integer(struct atoll_task_document *d, const yaml_node_t *node, void *target);
/* Into a const struct atoll_expression *: every name is a dim of the task. */
int atoll_value_expression(struct atoll_task_document *d, const yaml_node_t *node, void *target);
/* Into a const char *, in the arena: a C name of at most ATOLL_NAME_LIMIT characters; a file name. */
int atoll_value_name(struct atoll_task_document *d, const yaml_node_t *node, void *target);
int atoll_value_path(struct atoll_task_document *d, const yaml_node_t *node, void *target);
/* 0, or -1 when text is not a decimal integer of 64 bits. */
int atoll_value_parse_integer(const char *text, int64_t *ret);
int atoll_value_known_dim(const struct atoll_task *task, const char *name);

#endif
