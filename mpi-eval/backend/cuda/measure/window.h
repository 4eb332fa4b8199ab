/* window.h - large results of a torch process taken into areas of ours, device to device (docs/adr/0027).
 * Layer: mpi-eval, backend/cuda.  Never while a candidate runs: each stretch is opened, copied and closed in one batch that launches
 * nothing, and the torch process wipes what it showed before this returns. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_WINDOW_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_WINDOW_H

#include "mpi-eval/backend/cuda/measure/device.h"
#include "mpi-eval/torch/torch_window.h"

/* Whether this way is open for such results: they are large, and nothing was refused on this device so far. */
int atoll_cuda_window_is_open(const struct atoll_cuda_device *device,
                              const struct atoll_torch_window *window);
/* Shuts it for good, with a word to the log. */
void atoll_cuda_window_shut(struct atoll_cuda_device *device, const char *why);

enum { ATOLL_CUDA_WINDOW_LOST = 1, ATOLL_CUDA_WINDOW_SHUT = 2 };
/* Copies every result to its address (by tensor).  0; LOST: the device process was lost and set-up has to begin again; SHUT: take
 * them by way of the host; -1.  In every case nothing is shown any more, and nothing mapped. */
int atoll_cuda_window_take(struct atoll_cuda_device *device, const struct atoll_torch_window *window,
                           const uint64_t *addresses, struct atoll_err *err);

#endif
