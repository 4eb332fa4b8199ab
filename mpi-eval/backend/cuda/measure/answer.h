/* answer.h - what is right for a draw: made on the device in a batch without candidates, learned from, sealed; on demand of a trial
 * or ahead of it.
 * Layer: mpi-eval, backend/cuda.  One owner thread, the referee's. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_ANSWER_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_ANSWER_H

#include "mpi-eval/backend/cuda/measure/backend.h"
#include "mpi-eval/backend/cuda/measure/expected.h"
#include "mpi-eval/backend/cuda/measure/keeping.h"
#include "mpi-eval/backend/cuda/measure/stage.h"

/* A trial under way; all but stage, results and times is borrowed from whoever asked for it. */
struct atoll_cuda_trial_state {
    struct atoll_cuda_stage stage;
    struct atoll_referee *referee; /* the stage's, for short */
    struct atoll_cuda_device *device;
    struct atoll_case *known;
    struct atoll_loaded_candidate *candidate;
    const struct atoll_trial_order *order;
    const struct atoll_variant *variant;
    struct atoll_sealed *sealed;
    struct atoll_cuda_sample_results results;
    enum atoll_looking by;
    int is_print_later; /* room for the fingerprint is there, and nothing in it yet: the check makes it */
    struct atoll_trial *trial;
    double mark_ns;
    double device_ns; /* what the device's clock said of the run */
    int doubted;      /* and it was not believed */
};

/* What a part of a trial returns besides 0, go on: err is filled; the process was lost, or the device is doubted: once
 * more; the verdict stands. */
enum { TRIAL_FAILED = -1, TRIAL_AGAIN = 1, TRIAL_JUDGED = 2 };

/* Makes what the trial's draw is compared with where it is not kept, and says in what way outputs are looked at.  Returns as parts
 * of a trial do. */
int atoll_cuda_answer_have(struct atoll_cuda_trial_state *s, struct atoll_err *err);
/* The check made what was left to it: it is known from now on. */
void atoll_cuda_answer_later(struct atoll_cuda_trial_state *s);
/* It did not, for whatever reason; nothing where nothing was left to it. */
void atoll_cuda_answer_never(struct atoll_cuda_trial_state *s);
/* Whether this device process makes the inputs of the trial's draw as they were first made: 0 it does, else as parts of a trial
 * return.  What lay in the place of the sample is gone then, and the trial's results. */
int atoll_cuda_answer_inputs(struct atoll_cuda_trial_state *s, struct atoll_err *err);
/* What is expected, as hashed by the first look at it: a change means damage. */
void atoll_cuda_answer_hashes(struct atoll_cuda_trial_state *s, enum atoll_expected_kind kind);
/* How large outputs are, from what the device has just found. */
void atoll_cuda_answer_magnitudes(struct atoll_cuda_trial_state *s);

#endif
