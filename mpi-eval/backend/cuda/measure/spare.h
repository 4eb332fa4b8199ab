/* spare.h - a device process that is begun while another one is silent, so that it stands ready when that one is lost: its start takes a
 * fifth of a second, nearly all of it the driver's for a context.  Layer: mpi-eval, backend/cuda.  Lifetime: zeros; fini; one owner
 * thread.  It is sent nothing before it is taken, and has nothing of the device but its context.  While it starts the driver works
 * for it: nothing is timed before it is settled. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_SPARE_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_SPARE_H

#include "mpi-eval/backend/cuda/process/worker.h"

/* Of the device's memory, at most. */
#define ATOLL_CUDA_SPARE_BYTES ((uint64_t)768 << 20)

struct atoll_cuda_spare {
    struct atoll_cuda_worker *worker; /* owned; NULL: there is none */
    int is_ready;                     /* it has said so */
    int is_shut;                      /* one did not start: none is begun any more */
};

/* Begins one where there is none, and does not wait: 1; 0: there is one, or there is to be none. */
int atoll_cuda_spare_begin(struct atoll_cuda_spare *spare, const struct atoll_cuda_worker_settings *settings);
/* Waits until one that was begun stands ready.  One that does not start is ended, with a line in the log, and is the last. */
void atoll_cuda_spare_settle(struct atoll_cuda_spare *spare);
/* Settles it and gives it away; NULL: there is none. */
struct atoll_cuda_worker *atoll_cuda_spare_take(struct atoll_cuda_spare *spare);
/* Ends it. */
void atoll_cuda_spare_fini(struct atoll_cuda_spare *spare);

#endif
