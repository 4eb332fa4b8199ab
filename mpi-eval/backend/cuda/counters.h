/* counters.h - hardware counters of launches in this process, by CUPTI's range profiler: one range per launch, the
 * launch replayed as often as the set of metrics needs.
 * Layer: mpi-eval, backend/cuda.  Lifetime: create/destroy.  One owner thread, in the device process (executor.c). */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_COUNTERS_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_COUNTERS_H

#include <stddef.h>

#include "core/err.h"

#define ATOLL_COUNTERS_RANGE_LIMIT 64

struct CUctx_st;
struct atoll_counters;

/* Sets up one set of metrics (about a second).  names: copied.  ATOLL_E_MISSING: no libcupti; ATOLL_E_DENIED: the driver
 * keeps counters to administrators, or another tool holds them; ATOLL_E_INPUT: a metric that this chip does not have. */
struct atoll_counters *atoll_counters_create(struct CUctx_st *context, const char *const *names, size_t count,
                                             struct atoll_err *err);
void atoll_counters_destroy(struct atoll_counters *counters);        /* NULL is fine */
size_t atoll_counters_passes(const struct atoll_counters *counters); /* replays of each launch */

/* Launches between begin and end are counted; outside of them nothing is slowed down. */
int atoll_counters_begin(struct atoll_counters *counters, struct atoll_err *err);
/* ret_values: range by range, metric by metric, borrowed until the next begin. */
int atoll_counters_end(struct atoll_counters *counters, const double **ret_values, size_t *ret_ranges,
                       size_t *ret_metrics, struct atoll_err *err);

#endif
