/* stage.h - everything set up on the device for one sample of one candidate: process, memory, modules, place.
 * Layer: mpi-eval, backend/cuda.  Lives as long as a trial. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_STAGE_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_STAGE_H

#include "mpi-eval/backend/cuda/measure/sample.h"

struct atoll_cuda_stage {
    /* given */
    struct atoll_referee *referee;
    struct atoll_cuda_device *device;
    struct atoll_case *known;
    struct atoll_loaded_candidate *candidate; /* without a runner: nothing is loaded */
    const struct atoll_input_set *input_set;
    uint64_t placement;
    int hashes_late;
    /* set */
    const struct atoll_variant *variant;
    uint64_t bytes[ATOLL_LAYOUT_BUFFER_LIMIT]; /* of tensors, then scratch */
    size_t count;
    uint64_t total_bytes;
    struct atoll_cuda_sample sample;
};

/* 0; 1: the process was lost, set it again; -1: ATOLL_E_INPUT and ATOLL_E_LIMIT are the candidate's doing (the plan asks
 * for more than there is, the device does not load the image), anything else is ours. */
int atoll_cuda_stage_set(struct atoll_cuda_stage *stage, struct atoll_err *err);

/* 1 when a stage can be set without anything on the device giving way. */
int atoll_cuda_stage_fits(struct atoll_cuda_stage *stage);

#endif
