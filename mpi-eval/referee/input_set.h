/* input_set.h - which inputs a candidate sees: secret seeds per (task, variant), in an order of its own.
 * Layer: mpi-eval, referee.  Pure values; the secret never leaves the caller. A pool input set serves many candidates
 * (its expected values are paid for once); a fresh input set belongs to one order and is never seen again
 * (MEASUREMENT.md 2, 5). */
#ifndef ATOLL_MPI_EVAL_REFEREE_INPUT_SET_H
#define ATOLL_MPI_EVAL_REFEREE_INPUT_SET_H

#include <stddef.h>
#include <stdint.h>

#include "core/task/task.h"

/* A seed becomes another one for the one input that admission changes. */
#define ATOLL_INPUT_SET_CHANGED 0x5bd1e995f00dull

#define ATOLL_INPUT_SET_POOL_MIN   16
#define ATOLL_INPUT_SET_CHECK_POOL 8 /* of a check variant; a candidate sees two of them */
#define ATOLL_INPUT_SET_POOL_LIMIT 4096

/* Series 0 is the pool, any other one holds fresh input sets of one order.  Pool input sets have the task's
 * distributions in turn, by their numbers, so that every pool has the same shares of them: a kernel's time may depend
 * on the distribution (a softmax took 12 % more with one of five, docs/benchmarks/gpu.md), and secret shares would
 * differ between processes. Which number comes when stays secret. */
struct atoll_input_set {
    uint32_t variant;
    uint64_t series, number;
    uint64_t seed;         /* of atoll_init_fill */
    unsigned distribution; /* one ATOLL_DRAW_* */
};

struct atoll_input_set atoll_input_set_make(const uint8_t secret[32], const struct atoll_task *task,
                                            uint32_t variant, uint64_t series, uint64_t number);
/* Series of the fresh input sets of one order (its evaluation number is unique in a campaign). */
uint64_t atoll_input_set_series(uint64_t evaluation);
/* The index-th distribution that the task allows, base first, wrapping around. */
unsigned atoll_input_set_nth_distribution(const struct atoll_task *task, unsigned index);

/* The order in which one candidate sees the pool: a secret permutation of what is there, then input sets that make
 * it grow. */
struct atoll_input_set_order {
    size_t count, next;
    uint16_t numbers[ATOLL_INPUT_SET_POOL_LIMIT];
};

/* kept: numbers of input sets whose expected values are all at hand (kept_count of them); kept_first of those are dealt
 * among the first `head` input sets, so that enough full comparisons cost no reference run. */
void atoll_input_set_order_init(struct atoll_input_set_order *order, const uint8_t secret[32],
                                uint64_t evaluation, uint32_t variant, size_t pool_size, const uint16_t *kept,
                                size_t kept_count, size_t kept_first, size_t head);
/* The next number; beyond the pool it counts on.  Each number comes once.  -1 at ATOLL_DRAW_POOL_LIMIT. */
long atoll_input_set_order_next(struct atoll_input_set_order *order);

#endif
