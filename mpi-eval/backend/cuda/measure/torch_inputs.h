/* torch_inputs.h - how a torch process makes the inputs of an input set on the device: our contents kernel's launches, which the
 * process repeats in its own context, so that the bits are the same (python/fill.py).
 * Layer: mpi-eval, backend/cuda.  Pure. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_TORCH_INPUTS_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_TORCH_INPUTS_H

#include <jansson.h>

#include "core/task/task.h"

/* {tensor: {"fills": [{"at": bytes from its start, "blocks", "params": struct atoll_contents_launch in hexadecimal, address 0}]}} of
 * every tensor but outputs; the caller's to json_decref.  changed_tensor: this one comes from another seed; -1 none. */
json_t *atoll_cuda_torch_inputs(const struct atoll_task *task, const struct atoll_variant *variant,
                                uint64_t seed, unsigned distribution, long changed_tensor,
                                struct atoll_err *err);

#endif
