/* lock.h - one evaluator per device: an advisory lock on a file named after the device's UUID, so that nobody's samples
 * run beside ours.  Layer: mpi-eval, backend/cuda. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_LOCK_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_LOCK_H

#include "base/err.h"

/* folder: NULL = /dev/shm, else TMPDIR, else /tmp; the file is world-writable so that other users see it.  The
 * descriptor that holds the lock, or -1: ATOLL_E_BUSY naming the holder's process, host and command line, or why the
 * file cannot be had. */
int atoll_cuda_lock(const char *folder, const char *uuid, struct atoll_err *err);
void atoll_cuda_unlock(int fd); /* -1 is fine; the file stays */

#endif
