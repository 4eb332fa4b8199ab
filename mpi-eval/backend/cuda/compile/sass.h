/* sass.h - the class of one machine instruction of compute capability 7.0 to 12.0.
 * Layer: mpi-eval, backend/cuda.  Pure.  Instructions have 16 bytes; the low nine bits are the operation, three more say
 * what its operands are.  Read off nvdisasm's output for compiled kernels of 8.0, 9.0a, 10.0a and 12.0a. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_COMPILE_SASS_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_COMPILE_SASS_H

#include <stddef.h>
#include <stdint.h>

#include "core/profile.h"

/* Adds the instructions of code to mix; padding (NOP) does not count.  length: whole instructions are read. */
void atoll_sass_count(const unsigned char *code, size_t length, uint32_t mix[ATOLL_MIX_COUNT]);

#endif
