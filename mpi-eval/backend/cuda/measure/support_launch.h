/* support_launch.h - slots of our kernels and how they are launched.  Layer: mpi-eval, backend/cuda; for support*.c. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_SUPPORT_LAUNCH_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_SUPPORT_LAUNCH_H

#include "mpi-eval/backend/cuda/kernels/params.h"
#include "mpi-eval/backend/cuda/process/command_batch.h"
#include "mpi-eval/backend/cuda/measure/support.h"

#define ATOLL_SUPPORT_BLOCK 256 /* threads; ATOLL_BLOCK of grid.cuh */

/* X(name, module): kernel atoll_<name>_kernel; the order is that of the function slots. */
#define ATOLL_SUPPORT_KERNELS(X)                                                                             \
    X(init, 0)                                                                                               \
    X(fill, 0)                                                                                               \
    X(guard, 0)                                                                                              \
    X(guard_check, 0)                                                                                        \
    X(hash, 0)                                                                                               \
    X(flush_write, 0)                                                                                        \
    X(flush_read, 0)                                                                                         \
    X(clock, 0)                                                                                              \
    X(gate, 0)                                                                                               \
    X(seal, 0)                                                                                               \
    X(compare, 0)                                                                                            \
    X(answer, 0)                                                                                             \
    X(empty, 1)                                                                                              \
    X(copy, 1)                                                                                               \
    X(read, 1)                                                                                               \
    X(fma_f64, 1)                                                                                            \
    X(fma_f32, 1)                                                                                            \
    X(fma_f16, 1)                                                                                            \
    X(fma_bf16, 1)                                                                                           \
    X(tensor_f64, 1)                                                                                         \
    X(tensor_f16, 1)                                                                                         \
    X(tensor_bf16, 1)                                                                                        \
    X(tensor_tf32, 1)                                                                                        \
    X(tensor_f8e4m3, 1)                                                                                      \
    X(tensor_f8e5m2, 1)                                                                                      \
    X(tensor_i8, 1)

#define ATOLL_SUPPORT_SLOT(name, module) ATOLL_KERNEL_##name,
enum atoll_support_kernel { ATOLL_SUPPORT_KERNELS(ATOLL_SUPPORT_SLOT) ATOLL_SUPPORT_KERNEL_COUNT };
#undef ATOLL_SUPPORT_SLOT

/* `blocks` blocks of `threads`; params: one struct by value, NULL none. */
void atoll_support_launch(struct atoll_command_batch *s, uint32_t function, uint64_t blocks, uint32_t threads,
                          uint32_t shared_bytes, const void *params, uint32_t param_bytes);
/* As many blocks as `items` threads need, within what a grid-stride loop is worth. */
uint64_t atoll_support_blocks(uint64_t items);
/* What a fill makes an element from. */
struct atoll_fill_params atoll_support_fill_params(const struct atoll_support_fill *fill);

#endif
