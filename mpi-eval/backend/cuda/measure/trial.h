/* trial.h - one sample while it is under way, shared by trial.c (makes and runs it) and judge.c (concludes).
 * Layer: mpi-eval, backend/cuda. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_TRIAL_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_TRIAL_H

#include "mpi-eval/backend/cuda/measure/stage.h"

struct atoll_cuda_trial {
    struct atoll_cuda_stage stage;
    struct atoll_referee *referee; /* the stage's, for short */
    struct atoll_cuda_device *device;
    struct atoll_case *known;
    struct atoll_loaded_candidate *candidate;
    const struct atoll_trial_order *order;
    const struct atoll_variant *variant;
    struct atoll_sealed *answer;
    struct atoll_cuda_sample_results results;
    int is_kept; /* the answer is sealed */
    struct atoll_trial *trial;
    double mark_ns;
    double device_ns; /* what the device's clock said of the run */
    int doubted;      /* and it was not believed */
};

/* What a part of a trial returns besides 0, go on: err is filled; the process was lost, or the device is doubted: once
 * more; the verdict stands. */
enum { ATOLL_CUDA_TRIAL_FAILED = -1, ATOLL_CUDA_TRIAL_AGAIN = 1, ATOLL_CUDA_TRIAL_JUDGED = 2 };

/* The verdict with "variant v: ..."; returns JUDGED. */
int atoll_cuda_trial_judge(struct atoll_cuda_trial *s, enum atoll_verdict verdict, unsigned level,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Learns from findings: how large right values are, and the hash of what is expected (a change means damage). */
void atoll_cuda_trial_magnitudes(struct atoll_cuda_trial *s);
void atoll_cuda_trial_expect(struct atoll_cuda_trial *s);
/* Guard zones, late writes, inputs, outputs, in this order, from the results of the check batch. */
int atoll_cuda_trial_conclude(struct atoll_cuda_trial *s, struct atoll_err *err);

#endif
