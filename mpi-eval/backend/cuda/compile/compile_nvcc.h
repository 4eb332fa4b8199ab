/* compile_nvcc.h - nvcc as the compiler, a process per job: slower than NVRTC by a factor of ten and more, for nodes
 * that have no NVRTC.  Layer: mpi-eval, backend/cuda. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_COMPILE_COMPILE_NVCC_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_COMPILE_COMPILE_NVCC_H

#include "mpi-eval/evaluator/compiler.h"

/* path: of nvcc.  includes: folders for -I; borrowed until the compiler is destroyed.  Other errors as atoll_cc_create. */
struct atoll_compiler *atoll_nvcc_create(const char *path, const struct atoll_compiler_settings *settings,
                                         char *const *includes, size_t include_count, struct atoll_err *err);

#endif
