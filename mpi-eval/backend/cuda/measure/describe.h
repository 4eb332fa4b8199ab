/* describe.h - a compiled device image in words, for a model that asked.
 * Layer: mpi-eval, backend/cuda.  Pure. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_DESCRIBE_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_DESCRIBE_H

#include "mpi-eval/backend/cuda/measure/launch.h"

/* As the backend's table says (referee/backend.h). */
void atoll_cuda_image_describe(const struct atoll_prepared *prepared, const void *object,
                               size_t object_length, const struct atoll_device_info *device,
                               struct atoll_buffer *out, struct atoll_buffer *listing);

#endif
