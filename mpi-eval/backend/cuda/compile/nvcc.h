/* nvcc.h - nvcc as the compiler, a process per job: slower than NVRTC by a factor of ten and more, for nodes that have no
 * NVRTC; and what ptxas says of resources, in the output of either.
 * Layer: mpi-eval, backend/cuda. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_COMPILE_NVCC_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_COMPILE_NVCC_H

#include "mpi-eval/backend/compile/compiler_driver.h"

/* path: of nvcc.  includes: folders for -I; borrowed until the compiler is destroyed.  Other errors as atoll_cc_create. */
struct atoll_compiler *atoll_nvcc_create(const char *path, const struct atoll_compiler_settings *settings,
                                         char *const *includes, size_t include_count, struct atoll_err *err);

/* Moves the lines of ptxas that are no errors out of output (NUL-terminated) into ret_report; how long it took is left
 * out, so that equal compilations have equal reports. */
void atoll_compile_report_split(char *output, char ret_report[ATOLL_COMPILE_REPORT_BYTES]);

#endif
