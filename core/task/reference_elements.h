/* reference_elements.h - what the text of a reference.c proves of the elements that it puts.  Layer: core.  Pure. */
#ifndef ATOLL_CORE_TASK_REFERENCE_ELEMENTS_H
#define ATOLL_CORE_TASK_REFERENCE_ELEMENTS_H

#include "core/task/task.h"

/* 1: each unit puts the element of its own number, whatever the inputs are: put_<tensor>(a, unit, ...), or scale_<tensor> where
 * is_scale, is a statement of the function itself, which no branch, loop or way out passes by.  0: the text does not say so
 * plainly.  How many units and elements there are is the caller's to compare. */
int atoll_reference_puts_each(const struct atoll_task *task, size_t tensor, int is_scale);

#endif
