/* sample.h - one run in a child of the zygote: threads, the order to run, buffers, final filter, doorbell, launches, done.
 * Layer: mpi-eval, backend/cpu (inside atoll-worker). */
#ifndef ATOLL_MPI_EVAL_BACKEND_CPU_PROCESS_SAMPLE_H
#define ATOLL_MPI_EVAL_BACKEND_CPU_PROCESS_SAMPLE_H

#include "mpi-eval/backend/cpu/process/zygote.h"

#define ATOLL_SAMPLE_TROUBLE 113 /* exit status: it never became ready; page->trouble says why */

/* Called right after fork; never returns.  Ends with the referee's end of the socket. */
void atoll_sample_run(const struct atoll_zygote *zygote) __attribute__((noreturn));

#endif
