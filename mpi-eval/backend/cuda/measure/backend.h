/* backend.h - the parts of the cuda backend that its table (referee/backend.h) is made of and that have no header of
 * their own.  Layer: mpi-eval, backend/cuda. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_BACKEND_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_BACKEND_H

#include "mpi-eval/referee/backend.h"
#include "mpi-eval/referee/trial.h"
#include <stddef.h>
#include "core/profile.h"

/* trial.c */
void atoll_cuda_trial(struct atoll_referee *referee, struct atoll_case *known,
                      struct atoll_loaded_candidate *candidate, const struct atoll_trial_order *order,
                      struct atoll_trial *ret_trial);
/* trial.c: one draw of the pool, sealed, while no candidate is there (referee/backend.h). */
int atoll_cuda_answer(struct atoll_referee *referee, struct atoll_case *known,
                      const struct atoll_input_set *input_set, struct atoll_err *err);
/* calibration.c: bandwidth, peaks, empty launch, jitter, resolution into referee->info and jitter_ns. */
int atoll_cuda_measure(struct atoll_referee *referee, struct atoll_err *err);
/* The same from what is kept of an earlier process (kept_calibration.h), where a probe agrees with it; else measures. */
int atoll_cuda_calibrate(struct atoll_referee *referee, struct atoll_err *err);
/* profile.c: counters of the plan's launches. */
void atoll_cuda_profile(struct atoll_referee *referee, struct atoll_case *known,
                        struct atoll_loaded_candidate *candidate, uint32_t variant,
                        enum atoll_metrics_set set, struct atoll_profile *ret_profile);

/* ---- profile.c, pure: which metrics of CUPTI are which counter of a profile, and in which set they are counted: twelve
 * in one pass (two on 8.0), or all counters in five.  Source of the
 * names: the metrics that CUPTI lists for the chips of compute capability 8.0 to 10.0, as ncu prints them. ---- */

#define ATOLL_METRICS_LIMIT 40 /* a counter may be made of several */

struct atoll_metrics {
    size_t count;
    const char *names[ATOLL_METRICS_LIMIT]; /* static storage; for atoll_command_batch_counters_open */
    enum atoll_counter counters[ATOLL_METRICS_LIMIT];
};

/* capability: 90 for 9.0.  Counters that such a device does not have are left out. */
void atoll_metrics_select(enum atoll_metrics_set set, unsigned capability, struct atoll_metrics *ret_metrics);

/* One number per counter for a plan of several launches.  values: range by range, metric by metric in the order of
 * metrics->names.  ret_counters: ATOLL_COUNTER_COUNT of them; counts and times are sums, percentages and ratios are
 * means weighted by the time of the launch (the hit rates so, too, although requests would be the exact weight); what was
 * not counted, or is no number from 0 on, is NaN.  Of several metrics of one counter the largest.  The SM's throughput is that of its busiest pipe or of its issue. */
void atoll_metrics_merge(const struct atoll_metrics *metrics, const double *values, size_t ranges,
                         double *ret_counters);

/* Whether these are counts at all: every sum of every launch is a number from 0 on, since a sum always is where counters were read; a
 * rate may be NaN, of a kernel that does nothing of its kind. */
int atoll_metrics_are_counted(const struct atoll_metrics *metrics, const double *values, size_t ranges);

#endif
