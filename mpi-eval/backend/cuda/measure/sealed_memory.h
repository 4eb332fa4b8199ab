/* sealed_memory.h - the sealed memory of a device in a process of its own, which runs no candidate: what lies there outlives the
 * device processes, which attach it (docs/adr/0054).  Layer: mpi-eval, backend/cuda.  Lifetime: zeros; fini; one owner thread. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_SEALED_MEMORY_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_SEALED_MEMORY_H

#include "mpi-eval/backend/cuda/process/worker.h"

/* What its process takes besides, at most: a context. */
#define ATOLL_CUDA_SEALED_CONTEXT_BYTES ((uint64_t)768 << 20)

struct atoll_cuda_sealed_memory {
    struct atoll_cuda_worker *worker; /* owned; NULL: there is none */
    uint64_t bytes;                   /* of its memory; 0: none */
    uint32_t slot;                    /* that has it */
    unsigned char handle[ATOLL_DEVICE_COMMAND_HANDLE_BYTES];
    int is_shut; /* it does not work here: sealed memory is the device process's own, for good */
};

/* Sees to it that there are so many bytes, with what is in them where there were as many before, or fewer and the device has room for
 * both: 1 kept, 0 new (contents unknown, as those of what was added), -1 there is no such memory: it is shut, with a line in the log.  No device process may have the memory attached when its size
 * changes.  settings: of a process for this device.  bytes > 0. */
int atoll_cuda_sealed_memory_have(struct atoll_cuda_sealed_memory *sealed,
                                  const struct atoll_cuda_worker_settings *settings, uint64_t bytes);
/* Lets it go, for good: why goes to the log. */
void atoll_cuda_sealed_memory_shut(struct atoll_cuda_sealed_memory *sealed, const char *why);
/* Ends the process; its memory is the device's again. */
void atoll_cuda_sealed_memory_fini(struct atoll_cuda_sealed_memory *sealed);

#endif
