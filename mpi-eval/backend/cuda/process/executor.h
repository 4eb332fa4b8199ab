/* executor.h - carries out batches of commands on one device, through the driver.
 * Layer: mpi-eval, backend/cuda.  Lifetime: create/destroy.  One owner thread, whose current context it sets.  Runs in
 * the device process; tests may run it in their own. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_PROCESS_EXECUTOR_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_PROCESS_EXECUTOR_H

#include "mpi-eval/backend/cuda/process/worker.h"
#include <stddef.h>
#include "base/err.h"

struct atoll_cuda_executor;

/* device: "GPU-<uuid>" or an ordinal.  Takes the primary context, one stream, pinned staging for small reads, all
 * events; puts the context's limits where candidates cannot make use of them (printf, heap, persisting cache).
 * ATOLL_E_MISSING: no driver, or no such device. */
struct atoll_cuda_executor *atoll_cuda_executor_create(const char *device, struct atoll_err *err);
/* The same on a driver of the caller's choice, borrowed: tests have one without a device. */
struct atoll_cuda;
struct atoll_cuda_executor *atoll_cuda_executor_create_on(const struct atoll_cuda *cuda, const char *device,
                                                          struct atoll_err *err);
void atoll_cuda_executor_destroy(struct atoll_cuda_executor *executor);
int atoll_cuda_executor_facts(const struct atoll_cuda_executor *executor, struct atoll_cuda_facts *ret_facts,
                              struct atoll_err *err);

/* One batch; ret_reply is init'ed and empty.  After FAULT nothing but destroy may follow. */
void atoll_cuda_executor_run(struct atoll_cuda_executor *executor, const void *batch, size_t length,
                             struct atoll_command_batch_reply *ret_reply);

/* ---- counters.c: hardware counters of launches in this process, by CUPTI's range profiler: one range per launch, the
 * launches made by the caller as often as the set of metrics needs passes.  Lifetime: create/destroy.  One owner thread. ---- */

#define ATOLL_COUNTERS_RANGE_LIMIT  64
#define ATOLL_COUNTERS_METRIC_LIMIT 64
#define ATOLL_COUNTERS_SET_LIMIT    4

struct CUctx_st;
struct atoll_counters;

/* Makes the context current; without sets.  ATOLL_E_MISSING: no libcupti, or a device without counters for it; ATOLL_E_DENIED:
 * the driver keeps counters to administrators (ERR_NVGPUCTRPERM), or another tool holds them. */
struct atoll_counters *atoll_counters_create(struct CUctx_st *context, struct atoll_err *err);
void atoll_counters_destroy(struct atoll_counters *counters); /* NULL is fine */
/* Sets up one set of metrics beside the others (the first takes most of a second), in place of what was in the slot.  names:
 * copied.  ret_passes: of each launch.  Errors as above, and ATOLL_E_INPUT: a metric that this chip does not have. */
int atoll_counters_open(struct atoll_counters *counters, unsigned slot, const char *const *names,
                        size_t count, size_t *ret_passes, struct atoll_err *err);

/* How often a set of metrics would replay each launch on a chip ("GH100"), told without a device.  Errors as above, and
 * ATOLL_E_MISSING for a chip that this CUPTI does not know. */
int atoll_counters_plan(const char *chip, const char *const *names, size_t count, size_t *ret_passes,
                        struct atoll_err *err);

/* From begin to end passes are made: the launches between start and pass are counted, outside of them nothing is slowed down.  The
 * stream is idle at all of them.  More launches than ATOLL_COUNTERS_RANGE_LIMIT: ATOLL_E_LIMIT at the end. */
int atoll_counters_begin(struct atoll_counters *counters, unsigned slot, struct atoll_err *err);
int atoll_counters_start(struct atoll_counters *counters, struct atoll_err *err);
/* After each pass, its launches done.  *ret_more: start, the same launches once more, then this again; else end. */
int atoll_counters_pass(struct atoll_counters *counters, int *ret_more, struct atoll_err *err);
/* ret_values: range by range, metric by metric, borrowed until the next begin. */
int atoll_counters_end(struct atoll_counters *counters, const double **ret_values, size_t *ret_ranges,
                       size_t *ret_metrics, struct atoll_err *err);

#endif
