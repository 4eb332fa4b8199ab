/* evidence.h - why an output is wrong, looked at on the host where it is small enough (referee/check.h, guess.h).
 * Layer: mpi-eval, backend/cuda. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_EVIDENCE_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_EVIDENCE_H

#include "mpi-eval/backend/cuda/measure/sample.h"

#define ATOLL_EVIDENCE_ELEMENTS ((uint64_t)1 << 20)

/* detail (ATOLL_DETAIL_BYTES) holds what the device's comparison says; a better text replaces it where there is one.
 * The sample's buffers must still be on the device. */
void atoll_cuda_evidence(struct atoll_cuda_device *device, struct atoll_cuda_sample *sample, size_t tensor,
                         const struct atoll_support_finding *finding, char *detail);

#endif
