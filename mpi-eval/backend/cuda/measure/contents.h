/* contents.h - what the memory of a sample holds: inputs, fills and guards made by one launch, and hashes of tensors and
 * guard zones taken by another one.  More regions than a launch takes are more launches; in one of them nothing has an order,
 * so regions do not overlap.
 * Layer: mpi-eval, backend/cuda.  Pure: composes batches.  Plain values of the caller's: begin, any number of regions, end. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_CONTENTS_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_CONTENTS_H

#include "core/task/init.h"
#include "mpi-eval/backend/cuda/measure/support.h"

struct atoll_contents {
    struct atoll_command_batch *batch;
    size_t count;
    struct atoll_contents_launch launch;
};

void atoll_contents_begin(struct atoll_contents *contents, struct atoll_command_batch *batch);
/* Values of one input set, the same bits as atoll_init_fill. */
int atoll_contents_input(struct atoll_contents *contents, const struct atoll_task *task, size_t tensor,
                         const struct atoll_variant *variant, uint64_t input_set_seed, unsigned distribution,
                         uint64_t address, struct atoll_err *err);
/* Fills `count` elements. */
void atoll_contents_fill(struct atoll_contents *contents, const struct atoll_support_fill *fill,
                         uint64_t address, uint64_t count);
/* A keyed pattern over [address, address + bytes), bytes a multiple of 8.  Any address will do. */
void atoll_contents_guard(struct atoll_contents *contents, uint64_t address, uint64_t bytes, uint64_t key);
void atoll_contents_end(struct atoll_contents *contents);

/* The launch that makes one part of an input at `address`, and its number of blocks. */
uint64_t atoll_contents_of_part(const struct atoll_init_part *part, uint64_t address,
                                struct atoll_contents_launch *ret_launch);

struct atoll_inspection {
    struct atoll_command_batch *batch;
    size_t count;
    struct atoll_inspect_launch launch;
};

void atoll_inspection_begin(struct atoll_inspection *inspection, struct atoll_command_batch *batch);
/* Keyed hash of bytes into the u64 at result (added to what is there; order of threads does not matter).
 * Equal bytes at another address, aligned otherwise, have the same hash. */
void atoll_inspection_hash(struct atoll_inspection *inspection, uint64_t address, uint64_t bytes,
                           uint64_t key, uint64_t result);
/* Adds to the 16-byte slot at result, which starts with 0 and all ones: u64 number of words that are not the pattern's, u64
 * index of the first one. */
void atoll_inspection_guard(struct atoll_inspection *inspection, uint64_t address, uint64_t bytes,
                            uint64_t key, uint64_t result);
void atoll_inspection_end(struct atoll_inspection *inspection);

#endif
