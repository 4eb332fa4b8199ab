/* annotate.h - a task's reference.c for device compilers: its functions and tables say __device__.
 * Layer: mpi-eval, backend/cuda.  Pure. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_COMPILE_ANNOTATE_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_COMPILE_ANNOTATE_H

#include "base/err.h"

/* Puts __device__ before every declaration of file scope that begins a line; lines keep their numbers.  Types are left
 * as they are.  Owned by the caller (free); NULL: ATOLL_E_MEMORY, ATOLL_E_LIMIT. */
char *atoll_reference_annotate(const char *source, struct atoll_err *err);

#endif
