/* local_memory.h - what threads of a candidate leave in the local memory of the device process (docs/adr/0051): which of it kernels of
 * ours overwrite, and whether the process has the memory that they want.
 * Layer: mpi-eval, backend/cuda.  One owner thread, the referee's.
 *
 * A new process overwrites frames of up to ATOLL_SUPPORT_LOCAL_BYTES.  For a candidate with larger ones it loads kernels with such frames
 * and runs one: the driver sizes local memory then, for every thread that the device holds, and does not give it back
 * (CU_CTX_LMEM_RESIZE_TO_MAX: "now the default and cannot be disabled", says the driver API of CUDA 13).  So no candidate's launch makes
 * it grow, and what it grows by was overwritten.
 *
 * Who calls functions beyond its frames (cubin.h) has the process's whole stack within reach, which is as large as the largest frame that ran:
 * such a candidate has a process where none was larger than ATOLL_SUPPORT_LOCAL_BYTES. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_LOCAL_MEMORY_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_LOCAL_MEMORY_H

#include "mpi-eval/backend/cuda/measure/loaded_candidate.h"

#define ATOLL_CUDA_LOCAL_UNREACHED UINT32_MAX /* no kernel of ours reaches all of it */

/* Bytes of a thread that are to be overwritten when it has run, or UNREACHED.  Pure. */
uint32_t atoll_cuda_local_reach(const struct atoll_loaded_candidate *candidate);
/* The most that is ever overwritten for such an image.  Pure. */
uint32_t atoll_cuda_local_most(const struct atoll_loaded_candidate *candidate);

/* Before a trial: drops a process with something that nobody overwrote, or with more of a stack than this candidate may have. */
void atoll_cuda_local_begin(struct atoll_cuda_device *device, const struct atoll_loaded_candidate *candidate);

/* Right before launches of a candidate, the process being there: has it overwrite what they will leave (the first time tens of
 * milliseconds).  *ret_reached 0: there is no such kernel, or no memory for it; who launches all the same sets has_unreached.
 * 0, 1 lost or dropped (the driver refused memory), -1. */
int atoll_cuda_local_have(struct atoll_cuda_device *device, const struct atoll_loaded_candidate *candidate,
                          int *ret_reached, struct atoll_err *err);

#endif
