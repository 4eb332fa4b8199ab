/* backend.h - the parts of the cuda backend that its table (referee/backend.h) is made of and that have no header of
 * their own.  Layer: mpi-eval, backend/cuda. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_BACKEND_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_BACKEND_H

#include "mpi-eval/referee/backend.h"
#include "mpi-eval/referee/trial.h"

/* trial.c */
void atoll_cuda_trial(struct atoll_referee *referee, struct atoll_case *known,
                      struct atoll_loaded_candidate *candidate, const struct atoll_trial_order *order,
                      struct atoll_trial *ret_trial);
/* calibration.c: bandwidth, peaks, empty launch, jitter, resolution into referee->info and jitter_ns. */
int atoll_cuda_measure(struct atoll_referee *referee, struct atoll_err *err);
/* profile.c: counters of the plan's launches. */
void atoll_cuda_profile(struct atoll_referee *referee, struct atoll_case *known,
                        struct atoll_loaded_candidate *candidate, uint32_t variant,
                        struct atoll_profile *ret_profile);

#endif
