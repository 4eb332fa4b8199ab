/* printed.h - what Triton and LLVM print when they give up: the lines that say why, and whether memory was it.
 * Layer: mpi-eval, backend/cuda.  Pure.  The text is a hostile child's. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_TRITON_PRINTED_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_TRITON_PRINTED_H

#include <stddef.h>

/* Whole lines that name a cause, in their order, each once; where none does, how the text begins.  Stacks and modules, which come
 * before or behind, go.  Returns the length written; ret_cause has at least one byte. */
size_t atoll_triton_printed_cause(const char *text, size_t length, char *ret_cause, size_t cause_bytes);

/* 1: LLVM or the C++ library had no memory. */
int atoll_triton_printed_no_memory(const char *text, size_t length);

#endif
