/* plan_check.h - whether a device can launch what a plan says, before anything is compiled (MEASUREMENT.md 1,
 * level 1).  Layer: core, pure. */
#ifndef ATOLL_CORE_PLAN_PLAN_CHECK_H
#define ATOLL_CORE_PLAN_PLAN_CHECK_H

#include "core/message.h"
#include "core/plan/plan.h"

/* Bits of `kinds`. */
#define ATOLL_PLAN_KIND(kind) (1u << (kind))
#define ATOLL_PLAN_KIND_ALL                                                                                  \
    (ATOLL_PLAN_KIND(ATOLL_VARIANT_CHECK) | ATOLL_PLAN_KIND(ATOLL_VARIANT_BENCH) |                           \
     ATOLL_PLAN_KIND(ATOLL_VARIANT_HIDDEN))

/* Checks one choice at every variant of the given kinds that concerns the plan's backend: threads of a block, extents
 * of grid, block and cluster, cluster divisibility and size, dynamic shared bytes, cooperative launches (support, and
 * an upper bound of what can be resident), scratch and tensors against the memory, and the rules of tensor maps (rank
 * 1..5, box 1..256, box row of whole 16 bytes within the swizzle span, strides of whole 16 bytes, nothing beyond the
 * tensor or scratch).  limits NULL or all 0: an unknown device, only what holds on every one.  Plans of language "c"
 * always pass.  -1 with ATOLL_E_INPUT that names field, value, limit and variant; 0 else.  Sources: CUDA C++
 * Programming Guide, "Compute Capabilities", and the driver API's cuTensorMapEncodeTiled. */
int atoll_plan_limits_check(const struct atoll_task *task, const struct atoll_plan *plan,
                            const struct atoll_choice *choice, unsigned kinds,
                            const struct atoll_device_limits *limits, struct atoll_err *err);

#endif
