/* sanitizer.h - compute-sanitizer, which runs a program under one of four tools that watch every access of its
 * kernels: where it is, how it is told what to do, and what its reports are worth.
 * Layer: mpi-eval, backend/cuda.  Pure, but for the search. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_SANITIZE_SANITIZER_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_SANITIZE_SANITIZER_H

#include "core/plan/plan.h"
#include "mpi-eval/backend/cuda/measure/loaded_candidate.h"

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

/* A report (Compute Sanitizer's manual, "Understanding ... Reports") has lines that begin with "=========".  A finding is a
 * heading and indented lines below it; the end is "ERROR SUMMARY: n errors", or "RACECHECK SUMMARY: n hazards displayed
 * (n errors, n warnings)".  Only headings that blame a kernel count as findings; what a tool says of its own trouble does
 * not.  Kernel and file names in it are a candidate's choice: the text that is kept is printable ASCII and bounded. */
#define ATOLL_SANITIZER_TEXT_BYTES 512

enum atoll_sanitizer_state {
    ATOLL_SANITIZER_CLEAN,     /* it ended, and found nothing */
    ATOLL_SANITIZER_FOUND,     /* text: the first finding and where it is */
    ATOLL_SANITIZER_UNFINISHED /* it says nothing of the kernel; text: why, "": it has no end */
};

struct atoll_sanitizer_report {
    enum atoll_sanitizer_state state;
    uint64_t errors;   /* FOUND: as its summary counts them, 0 where it has none */
    uint64_t warnings; /* of racecheck: orders that hold as warps are scheduled today */
    char text[ATOLL_SANITIZER_TEXT_BYTES];
};

void atoll_sanitizer_report_read(const char *bytes, size_t length, struct atoll_sanitizer_report *ret_report);

/* ---- sanitize.c: a finalist under it (MEASUREMENT.md 2), its launches once at each check variant, in a device process of
 * their own under each of the four tools.  The referee's one owner thread. ---- */

/* One tool.  The device's own process should be gone: a device in exclusive use takes no second one.  path: of
 * compute-sanitizer; limit_ns: of wall time, for everything.  Never fails: what went wrong is an unfinished report. */
void atoll_cuda_sanitize_with(struct atoll_referee *referee, const struct atoll_loaded_candidate *candidate,
                              const char *path, enum atoll_sanitizer_tool tool, double limit_ns,
                              struct atoll_sanitizer_report *ret_report);

/* backend.h, sanitize: all tools within setup.sanitize_deadline_ns, once per candidate. */
enum atoll_verdict atoll_cuda_sanitize(struct atoll_referee *referee, struct atoll_case *known,
                                       struct atoll_loaded_candidate *candidate, char *ret_detail);

#endif
