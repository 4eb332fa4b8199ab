/* sanitizer_report.h - what a report of compute-sanitizer says of a kernel.
 * Layer: mpi-eval, backend/cuda.  Pure; plain values.
 *
 * A report (Compute Sanitizer's manual, "Understanding ... Reports") has lines that begin with "=========".  A finding is a
 * heading and indented lines below it; the end is "ERROR SUMMARY: n errors", or "RACECHECK SUMMARY: n hazards displayed
 * (n errors, n warnings)".  Only headings that blame a kernel count as findings; what a tool says of its own trouble does
 * not.  Kernel and file names in it are a candidate's choice: the text that is kept is printable ASCII and bounded. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_SANITIZE_SANITIZER_REPORT_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_SANITIZE_SANITIZER_REPORT_H

#include <stddef.h>
#include <stdint.h>

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

#endif
