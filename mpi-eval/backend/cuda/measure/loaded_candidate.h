/* loaded_candidate.h - a candidate's module on the device: what its image says, whether the plan fits it, and its slot.
 * Layer: mpi-eval, backend/cuda.  Lifetime: open/close per evaluation. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_LOADED_CANDIDATE_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_LOADED_CANDIDATE_H

#include "mpi-eval/backend/cuda/compile/cubin.h"
#include "mpi-eval/backend/cuda/measure/device.h"
#include "mpi-eval/referee/trial.h"

struct atoll_cuda_loaded_candidate {
    struct atoll_cubin cubin;
    uint32_t generation; /* of the process that it is loaded into; 0: none */
    uint32_t slot;       /* of device->candidates */
    uint64_t number;     /* no other one of this device has it */
    unsigned damages;    /* sealed expected values that changed while it ran */
};

static inline struct atoll_cuda_loaded_candidate *
atoll_cuda_loaded_candidate_of(const struct atoll_loaded_candidate *candidate)
{
    return (struct atoll_cuda_loaded_candidate *)candidate->runner;
}

/* The most local memory that a thread of its kernels can reach. */
static inline uint32_t atoll_cuda_loaded_candidate_local_bytes(const struct atoll_loaded_candidate *candidate)
{
    const struct atoll_cubin *cubin = &atoll_cuda_loaded_candidate_of(candidate)->cubin;
    uint32_t most = 0;
    for (size_t k = 0; k < cubin->kernel_count; k++)
        if (cubin->kernels[k].local_bytes > most)
            most = cubin->kernels[k].local_bytes;
    return most;
}

/* What the image and the plan say of each other, without a device: CORRECT, FORBIDDEN or LAUNCH_ERROR.  report: the
 * compiler's, "" none.  Pure. */
enum atoll_verdict atoll_cuda_image_check(const struct atoll_prepared *prepared, const void *object,
                                          size_t length, const char *report, struct atoll_cubin *ret_cubin,
                                          char *ret_detail);
/* Static resources of the kernels that a variant runs. */
void atoll_cuda_resources(const struct atoll_prepared *prepared, const struct atoll_variant *variant,
                          const struct atoll_cubin *cubin, const struct atoll_device_limits *limits,
                          struct atoll_resources *ret_resources);

enum atoll_verdict atoll_cuda_loaded_candidate_open(struct atoll_referee *referee,
                                                    const struct atoll_prepared *prepared, const void *object,
                                                    size_t object_length,
                                                    struct atoll_loaded_candidate *ret_candidate,
                                                    char *ret_detail);
void atoll_cuda_loaded_candidate_close(struct atoll_referee *referee,
                                       struct atoll_loaded_candidate *candidate);

/* Loads it into the process there is, when it is not: 0, 1 lost, -1; a refusal of the device is in device->reply with
 * -1 and ATOLL_E_INPUT. */
int atoll_cuda_loaded_candidate_load(struct atoll_cuda_device *device,
                                     const struct atoll_loaded_candidate *candidate, struct atoll_err *err);
/* Appends the loading alone: globals are as the image has them afterwards. */
void atoll_cuda_loaded_candidate_append_load(struct atoll_command_batch *batch,
                                             const struct atoll_loaded_candidate *candidate);
uint32_t atoll_cuda_loaded_candidate_function(const struct atoll_loaded_candidate *candidate, size_t launch);

#endif
