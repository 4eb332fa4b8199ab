/* launch.h - a plan's launch as the device gets it: extents evaluated, arguments packed as the calling convention lays
 * them out, and whether a compiled kernel takes them.
 * Layer: mpi-eval, backend/cuda.  Pure. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_LAUNCH_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_LAUNCH_H

#include "mpi-eval/backend/cuda/compile/cubin.h"
#include "mpi-eval/backend/cuda/measure/layout.h"
#include "mpi-eval/backend/cuda/process/command_batch.h"
#include "mpi-eval/backend/cuda/triton/images.h"
#include "mpi-eval/referee/prepare.h"

/* Launch `index` of the plan's list, one of the path that is taken at the variant.  layout: tensors by number, then the plan's scratch; NULL: addresses 0.
 * ATOLL_E_INPUT with the field when something cannot be. */
int atoll_cuda_launch_make(const struct atoll_prepared *prepared, const struct atoll_variant *variant,
                           size_t index, const struct atoll_layout *layout,
                           struct atoll_device_command_launch *ret_launch, struct atoll_err *err);
/* "grid [132, 1, 1], block [256, 1, 1], 98304 bytes of dynamic shared memory"; returned for printf. */
const char *atoll_cuda_launch_text(const struct atoll_device_command_launch *launch, char *ret_text,
                                   size_t bytes);

/* A tensor map of a plan at a variant: rules of the bulk copy engine (CUDA driver API, cuTensorMapEncodeTiled), and that
 * it stays within its tensor or scratch of `bytes` bytes. */
int atoll_cuda_map_make(const struct atoll_prepared *prepared, const struct atoll_variant *variant,
                        const struct atoll_arg *argument, const struct atoll_span *buffer,
                        struct atoll_device_command_map *ret_map, struct atoll_err *err);

/* Sizes of all buffers at a variant: tensors by number, then scratch; ret_bytes has room for
 * ATOLL_LAYOUT_BUFFER_LIMIT.  A scratch of 0 bytes, or of another path than the one taken there, gets 1 so
 * that it has an address. */
int atoll_cuda_buffer_bytes(const struct atoll_prepared *prepared, const struct atoll_variant *variant,
                            uint64_t *ret_bytes, size_t *ret_count, struct atoll_err *err);

/* Number and size of the parameters of the kernel against the plan's arguments: ATOLL_E_INPUT
 * "kernel k: parameter 3 has 4 bytes, the plan's argument \"i64:N\" has 8". */
int atoll_cuda_launch_fits(const struct atoll_launch *launch, const struct atoll_cubin_kernel *kernel,
                           struct atoll_err *err);
/* The same of an image of a Triton kernel: what it is passed, and two pointers to scratch. */
int atoll_cuda_image_fits(const struct atoll_launch *launch, const struct atoll_triton_image *image,
                          const struct atoll_cubin_kernel *kernel, struct atoll_err *err);

/* Kernels of a candidate that was compiled: its launches', or its images'.  `function` of a launch that was made is one of
 * them. */
size_t atoll_cuda_function_count(const struct atoll_prepared *prepared);
const char *atoll_cuda_function_name(const struct atoll_prepared *prepared, size_t function, char *ret_name,
                                     size_t bytes);

#endif
