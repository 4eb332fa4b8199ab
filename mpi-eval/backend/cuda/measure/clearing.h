/* clearing.h - waits until the driver has cleared what was given back of the device's memory (calm.h says what is waited for).
 * Layer: mpi-eval, backend/cuda.  The thread of the device alone. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_CLEARING_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_CLEARING_H

#include "mpi-eval/backend/cuda/measure/device.h"

/* Nothing of a candidate is changed.  0 (without a process as well), 1 the process was lost, -1. */
int atoll_cuda_clearing_wait(struct atoll_cuda_device *device, struct atoll_err *err);

#endif
