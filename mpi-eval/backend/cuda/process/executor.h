/* executor.h - carries out batches of commands on one device, through the driver.
 * Layer: mpi-eval, backend/cuda.  Lifetime: create/destroy.  One owner thread, whose current context it sets.  Runs in
 * the device process; tests may run it in their own. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_PROCESS_EXECUTOR_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_PROCESS_EXECUTOR_H

#include "mpi-eval/backend/cuda/process/worker.h"

struct atoll_cuda_executor;

/* device: "GPU-<uuid>" or an ordinal.  Takes the primary context, one stream, pinned staging for small reads, all
 * events; puts the context's limits where candidates cannot make use of them (printf, heap, persisting cache).
 * ATOLL_E_MISSING: no driver, or no such device. */
struct atoll_cuda_executor *atoll_cuda_executor_create(const char *device, struct atoll_err *err);
void atoll_cuda_executor_destroy(struct atoll_cuda_executor *executor);
int atoll_cuda_executor_facts(const struct atoll_cuda_executor *executor, struct atoll_cuda_facts *ret_facts,
                              struct atoll_err *err);

/* One batch; ret_reply is init'ed and empty.  After FAULT nothing but destroy may follow. */
void atoll_cuda_executor_run(struct atoll_cuda_executor *executor, const void *batch, size_t length,
                             struct atoll_command_batch_reply *ret_reply);

#endif
