/* sanitize.h - a finalist under compute-sanitizer (MEASUREMENT.md 2): its launches once at each check variant, in a device
 * process of their own under each of the four tools.
 * Layer: mpi-eval, backend/cuda.  The referee's one owner thread. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_SANITIZE_SANITIZE_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_SANITIZE_SANITIZE_H

#include "mpi-eval/backend/cuda/sanitize/sanitizer.h"
#include "mpi-eval/backend/cuda/measure/loaded_candidate.h"

/* One tool.  The device's own process should be gone: a device in exclusive use takes no second one.  path: of
 * compute-sanitizer; limit_ns: of wall time, for everything.  Never fails: what went wrong is an unfinished report. */
void atoll_cuda_sanitize_with(struct atoll_referee *referee, const struct atoll_loaded_candidate *candidate,
                              const char *path, enum atoll_sanitizer_tool tool, double limit_ns,
                              struct atoll_sanitizer_report *ret_report);

/* backend.h, sanitize: all tools within setup.sanitize_deadline_ns, once per candidate. */
enum atoll_verdict atoll_cuda_sanitize(struct atoll_referee *referee, struct atoll_case *known,
                                       struct atoll_loaded_candidate *candidate, char *ret_detail);

#endif
