/* shape_trials.h - the first trials of a template: legal combinations of its params, by what the device makes of them.
 * Layer: evolution, pure. */
#ifndef ATOLL_EVOLUTION_TUNER_SHAPE_TRIALS_H
#define ATOLL_EVOLUTION_TUNER_SHAPE_TRIALS_H

#include "evolution/tuner/shape.h"
#include "evolution/tuner/space.h"

/* The cost of a legal point, on the geometric mean over what it is measured at; 0: the device cannot hold it. */
typedef double atoll_shape_cost(void *context, const struct atoll_point *point);

/* At most limit (ATOLL_SHAPE_LIMIT and less) points, the cheapest first, that differ in two sizes at least where there are
 * as many; of params without a role (roles[i] NONE) the first values, then such as were tried least.  None where the cost
 * says nothing.  -1: MEMORY. */
int atoll_shape_trials(const struct atoll_space *space, const enum atoll_shape_role *roles,
                       atoll_shape_cost *cost, void *context, size_t limit, struct atoll_point *ret_points,
                       size_t *ret_count, struct atoll_err *err);

/* Of a plan on a device: its launches say how many blocks, threads and bytes of shared memory a choice has. */
int atoll_shape_trials_of_plan(const struct atoll_task *task, const struct atoll_plan *plan,
                               const char *language, const struct atoll_device_shape *device, size_t limit,
                               struct atoll_choice *ret_choices, size_t *ret_count, struct atoll_err *err);

#endif
