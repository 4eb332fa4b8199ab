/* profile.h - hardware counters of one run of a plan, never timed: which metric of CUPTI is which counter of a
 * profile, and in which set it is counted.
 * Layer: mpi-eval, backend/cuda.  Pure.  Source of the names: the metrics that CUPTI lists for the chips of compute
 * capability 8.0 to 10.0, as ncu prints them. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_PROFILE_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_PROFILE_H

#include <stddef.h>

#include "core/profile.h"

enum atoll_metrics_set {
    ATOLL_METRICS_SMALL, /* twelve, all simple events: 2 passes */
    ATOLL_METRICS_FULL   /* every counter: 7 passes on 9.0 */
};

struct atoll_metrics {
    size_t count;
    const char *names[ATOLL_COUNTER_COUNT]; /* static storage; for atoll_command_batch_counters_open */
    enum atoll_counter counters[ATOLL_COUNTER_COUNT];
};

/* capability: 90 for 9.0.  Counters that such a device does not have are left out. */
void atoll_metrics_select(enum atoll_metrics_set set, unsigned capability, struct atoll_metrics *ret_metrics);

/* One number per counter for a plan of several launches.  values: range by range, metric by metric in the order of
 * metrics->names.  ret_counters: ATOLL_COUNTER_COUNT of them; counts and times are sums, percentages and ratios are
 * means weighted by the time of the launch (the hit rates so, too, although requests would be the exact weight); what was
 * not counted, or is no number from 0 on, is NaN.  The SM's throughput is that of its busiest pipe or of its issue. */
void atoll_metrics_merge(const struct atoll_metrics *metrics, const double *values, size_t ranges,
                         double *ret_counters);

#endif
