/* init.h - fills tensors with the values of one draw: value(seed, tensor, index), integer arithmetic, exact conversions,
 * products and sums rounded once each, so host and device agree bit for bit (DESIGN.md 4; init_value.h has the values).
 * Layer: core.  Pure; safe from several threads on disjoint ranges. */
#ifndef ATOLL_CORE_TASK_INIT_H
#define ATOLL_CORE_TASK_INIT_H

#include <stddef.h>
#include <stdint.h>

#include "core/task/init_value.h"
#include "core/task/task.h"

/* The distribution of one draw: one of ATOLL_DRAW_*, chosen from the task's set by the draw's seed. */
unsigned atoll_input_set_distribution(const struct atoll_task *task, uint64_t draw_seed);

/* Fills elements [begin, end) of `tensor` (whole tensor at base[0]).  The key of the values is a hash of
 * (draw_seed, tensor index), except for role constant without seed dependence only where init is CONSTANT
 * or INDEX. */
int atoll_init_fill(const struct atoll_task *task, size_t tensor, const struct atoll_variant *variant,
                    uint64_t draw_seed, unsigned distribution, size_t begin, size_t end, void *base,
                    struct atoll_err *err);

/* A run of elements made by one set of parameters: all of a tensor, or one segment of a packed one.  Element begin + i
 * is value i of params (init_value.h), on any machine. */
struct atoll_init_part {
    uint64_t begin, count;
    struct atoll_init_params params;
};

size_t atoll_init_part_count(const struct atoll_tensor *tensor); /* 1, or its segments */
/* Parts are settled in their order: part 0 begins at 0, each other one after the part that *at holds. */
int atoll_init_settle(const struct atoll_task *task, size_t tensor, size_t part,
                      const struct atoll_variant *variant, uint64_t draw_seed, unsigned distribution,
                      struct atoll_init_part *at, struct atoll_err *err);

#endif
