/* limits.h - level 1 for device plans: does a choice fit the device at every variant (MEASUREMENT.md 1)?
 * Layer: mpi-eval, backend/cuda.  Pure. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_LIMITS_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_LIMITS_H

#include "mpi-eval/backend/cuda/launch.h"

/* Every launch and buffer at one variant.  A limit of 0 is one that the device did not tell, and is not checked; device
 * may be NULL.  ATOLL_E_INPUT naming the field, the value, the limit. */
int atoll_cuda_limits_check(const struct atoll_prepared *prepared, const struct atoll_variant *variant,
                            const struct atoll_device_info *device, struct atoll_err *err);

#endif
