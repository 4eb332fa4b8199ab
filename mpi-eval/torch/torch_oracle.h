/* torch_oracle.h - true values of tasks that PyTorch defines: one Python process per device, started with the first question and
 * again after it was lost.  Layer: mpi-eval, torch.  Lifetime: create/destroy.  One owner thread.
 *
 * Question and answer lie in one memory file: raw inputs where the host makes them, and the doubles that come back.  The process
 * has it while it answers, and no candidate ever does. */
#ifndef ATOLL_MPI_EVAL_TORCH_TORCH_ORACLE_H
#define ATOLL_MPI_EVAL_TORCH_TORCH_ORACLE_H

#include <stdatomic.h>

#include <jansson.h>

#include "core/task/task.h"
#include "mpi-eval/torch/shared_memory.h"
#include "mpi-eval/torch/torch_window.h"

struct atoll_torch_oracle;

struct atoll_torch_oracle_settings {
    const char *python; /* as a setup says it: "auto", a path; "" or "none": none.  Copied */
    const char *gpu;    /* UUID; NULL: the host.  Copied */
    unsigned threads;
    const int *cores; /* borrowed; NULL: the caller's */
    size_t core_count;
    const void *
        kernels; /* a GPU: the support module (cubin), whose kernel makes inputs there; NULL none; borrowed */
    size_t kernel_bytes;
    const atomic_int *cancelled; /* borrowed; NULL none */
};

/* Nothing is started yet.  NULL: ATOLL_E_MEMORY. */
struct atoll_torch_oracle *atoll_torch_oracle_create(const struct atoll_torch_oracle_settings *settings,
                                                     struct atoll_err *err);
void atoll_torch_oracle_destroy(struct atoll_torch_oracle *oracle); /* NULL is fine */

/* Looks for the interpreter, once: ATOLL_E_INPUT where a task cannot be answered for there is none. */
int atoll_torch_oracle_find(struct atoll_torch_oracle *oracle, const struct atoll_task *task,
                            struct atoll_err *err);

/* Memory of at least so many bytes for a question and its answer (shared_memory.h: zeroed where it grew); borrowed until the next
 * call or destroy. */
void *atoll_torch_oracle_memory(struct atoll_torch_oracle *oracle, size_t bytes, struct atoll_err *err);

/* Asks.  inputs: {tensor: {"offset", "bytes"}}, raw values in the memory, or {tensor: {"fills"}}; outputs: [{"name", "offset", "count"}], where the doubles
 * go; both stolen.  ret_precision: "f64", "f32", "f16" or "f8", what they were computed in.
 * Errors: MISSING (no Python with torch, or one that cannot), INPUT (the problem's doing, with its line), LIMIT (memory), TIMEOUT,
 * CHILD (lost twice), BUSY (cancelled). */
int atoll_torch_oracle_ask(struct atoll_torch_oracle *oracle, const struct atoll_task *task,
                           const struct atoll_variant *variant, json_t *inputs, json_t *outputs,
                           char ret_precision[8], struct atoll_err *err);

/* The same on a GPU for large answers: doubles stay there, and their first bytes lie behind ret_handle; outputs' offsets are from
 * the start of all (struct atoll_torch_window); inputs are {"fills"}.  window_bytes: of a stretch. */
int atoll_torch_oracle_ask_shown(struct atoll_torch_oracle *oracle, const struct atoll_task *task,
                                 const struct atoll_variant *variant, json_t *inputs, json_t *outputs,
                                 uint64_t window_bytes, char ret_precision[8], unsigned char *ret_handle,
                                 struct atoll_err *err);
/* The stretch from begin on of the answer that was shown last. */
int atoll_torch_oracle_show(struct atoll_torch_oracle *oracle, uint64_t begin, uint64_t window_bytes,
                            unsigned char *ret_handle, struct atoll_err *err);
/* What was shown is wiped and given back; -1: the process did not say so, and was ended. */
int atoll_torch_oracle_close(struct atoll_torch_oracle *oracle);

#endif
