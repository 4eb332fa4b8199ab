/* sanitizer.h - compute-sanitizer, which runs a program under one of four tools that watch every access of its
 * kernels: where it is, how it is told what to do, and what its reports are worth.
 * Layer: mpi-eval, backend/cuda.  Pure, but for the search. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_SANITIZE_SANITIZER_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_SANITIZE_SANITIZER_H

#include "core/plan/plan.h"

/* In the order in which they run: the others need accesses that are within bounds (its manual). */
enum atoll_sanitizer_tool {
    ATOLL_SANITIZER_MEMCHECK,  /* out of bounds, misaligned */
    ATOLL_SANITIZER_INITCHECK, /* reads of device memory that nobody wrote */
    ATOLL_SANITIZER_RACECHECK, /* orders of accesses to shared memory that nothing ensures */
    ATOLL_SANITIZER_SYNCCHECK, /* barriers that not all who should reach */
    ATOLL_SANITIZER_TOOL_COUNT
};

#define ATOLL_SANITIZER_VARIABLE       "ATOLL_COMPUTE_SANITIZER"
#define ATOLL_SANITIZER_ARGUMENT_LIMIT 16

const char *atoll_sanitizer_name(enum atoll_sanitizer_tool tool);

/* Its path: what the variable names, else from PATH, then bin of $CUDA_HOME, $CUDA_PATH, /usr/local/cuda.  NULL with err,
 * ATOLL_E_MISSING: none; the caller frees. */
char *atoll_sanitizer_find(struct atoll_err *err);

/* What starts a program under it, the program's own path and arguments to follow: ret_arguments is NULL-terminated and
 * borrows `program` and `report`, the file that it writes. */
void atoll_sanitizer_arguments(const char *program, enum atoll_sanitizer_tool tool, const char *report,
                               const char *ret_arguments[ATOLL_SANITIZER_ARGUMENT_LIMIT]);

/* 1 when what the tool finds in this kernel is the kernel's fault.  0: its makers name kernels of this kind among
 * those that it misreads (release notes of Compute Sanitizer, "false positives"): threads that meet at barriers of
 * their own and copies that run beside them (mbarrier, named barriers, clusters, asynchronous and tensor copies).
 * memcheck is always believed. */
int atoll_sanitizer_is_believed(enum atoll_sanitizer_tool tool, const struct atoll_plan *plan,
                                const char *source);

#endif
