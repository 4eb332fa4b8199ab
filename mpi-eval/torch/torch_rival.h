/* torch_rival.h - PyTorch's own times for a task: one Python process of the role rival per device, apart from the oracle's (a
 * module must not patch its rival), started with the first question and again after it was lost.
 * Layer: mpi-eval, torch.  Lifetime: create/destroy.  One owner thread.  What comes back is hostile: every number is checked. */
#ifndef ATOLL_MPI_EVAL_TORCH_TORCH_RIVAL_H
#define ATOLL_MPI_EVAL_TORCH_TORCH_RIVAL_H

#include <stdatomic.h>
#include <stdint.h>

#include <jansson.h>

#include "core/task/task.h"
#include "mpi-eval/torch/shared_memory.h"
#include "mpi-eval/torch/torch_window.h"

#define ATOLL_TORCH_SAMPLES_LIMIT 64 /* of one question */

struct atoll_torch_rival;

/* Where a torch process works; all borrowed until destroy. */
struct atoll_torch_place {
    const char *python; /* as a setup says it (interpreter.h) */
    const char *gpu;    /* UUID; NULL: the host */
    unsigned threads;
    const int *cores; /* NULL: the caller's */
    size_t core_count;
    uint64_t flush_bytes; /* twice the last-level cache */
    const void *kernels;  /* a GPU: the support module (cubin), whose kernel makes inputs there; NULL none */
    size_t kernel_bytes;
    int is_alone; /* the device bears one process at a time */
    int is_warm;  /* samples come right after an untimed call and without a flush, as candidates' do then */
    const atomic_int *cancelled;
};

/* Nothing is started yet. */
struct atoll_torch_rival *atoll_torch_rival_create(const struct atoll_torch_place *place,
                                                   struct atoll_err *err);
void atoll_torch_rival_destroy(struct atoll_torch_rival *rival); /* NULL is fine */
/* Ends the process; the next question starts another one. */
void atoll_torch_rival_stop(struct atoll_torch_rival *rival);
/* What inputs and outputs of a question lie in; borrowed. */
struct atoll_shared_memory *atoll_torch_rival_memory(struct atoll_torch_rival *rival);
/* "torch 2.11.0, CUDA 13.0, Triton 3.5"; "" before it was started. */
const char *atoll_torch_rival_versions(const struct atoll_torch_rival *rival);

/* Errors of all questions: MISSING (no Python with torch, or one that cannot do this), INPUT (the text's doing), LIMIT (memory),
 * TIMEOUT, CHILD (the process ended), BUSY (cancelled), others: ours.  Inputs are told as {tensor: {"offset", "bytes"}}, raw in the
 * memory, or {tensor: {"fills": ...}} (fill.py). */

struct atoll_torch_built {
    uint64_t handle;
    double compile_ns; /* building, compiling, autotuning */
    double call_ns;    /* wall time of a warm call */
    char wrong[512];   /* "", or in which way its answer is none to the task; then there is no handle */
};
/* Builds a rival of a task at a variant and warms it up.  What was built of other tasks is forgotten; what is built already is
 * given again, with what it took then.  task_number: tells tasks apart.  inputs: stolen. */
int atoll_torch_rival_build(struct atoll_torch_rival *rival, uint32_t task_number,
                            const struct atoll_task *task, uint32_t number, uint32_t variant, json_t *inputs,
                            double deadline_ns, struct atoll_torch_built *ret_built, struct atoll_err *err);

struct atoll_torch_sample {
    double ns;
    double lost_ns;  /* what others took of it; -1 not known */
    double clock_hz; /* of the device; 0 not known */
    int is_late;     /* it was not queued before the device came to it: the time holds some of the host's */
};
/* samples: an array of at most ATOLL_TORCH_SAMPLES_LIMIT {"inputs"}, stolen.  ret_host_ns: NULL, or the median of calls that
 * nothing was queued before. */
int atoll_torch_rival_measure(struct atoll_torch_rival *rival, uint64_t handle, json_t *samples,
                              double deadline_ns, struct atoll_torch_sample *ret_samples, double *ret_host_ns,
                              struct atoll_err *err);
/* Raw outputs into the memory; outputs: {tensor: {"offset", "bytes"}}.  inputs, outputs: stolen.  ret_wrong: 512 bytes, as in
 * struct atoll_torch_built. */
int atoll_torch_rival_output(struct atoll_torch_rival *rival, uint64_t handle, json_t *inputs,
                             json_t *outputs, double deadline_ns, char *ret_wrong, struct atoll_err *err);
/* The same on a GPU for large outputs, which stay there: window lays them, and ret_handle is of its first stretch. */
int atoll_torch_rival_output_shown(struct atoll_torch_rival *rival, uint64_t handle, json_t *inputs,
                                   json_t *outputs, const struct atoll_torch_window *window,
                                   double deadline_ns, char *ret_wrong, unsigned char *ret_handle,
                                   struct atoll_err *err);
/* The stretch from begin on; rest ends it. */
int atoll_torch_rival_show(struct atoll_torch_rival *rival, const struct atoll_torch_window *window,
                           uint64_t begin, double deadline_ns, unsigned char *ret_handle,
                           struct atoll_err *err);
/* Its memory goes back, wiped where it was shown; what was built stays.  A process that does not answer is ended. */
void atoll_torch_rival_rest(struct atoll_torch_rival *rival);

#endif
