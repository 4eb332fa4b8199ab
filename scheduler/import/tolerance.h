/* tolerance.h - what the answers of a task that PyTorch defines may be off, where its task.yaml does not say it: measured once, and
 * written down there, so that every later reader has the same.
 * Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_IMPORT_TOLERANCE_H
#define ATOLL_SCHEDULER_IMPORT_TOLERANCE_H

#include "base/err.h"

/* Compares PyTorch's answer in the task's types with that in double precision, at the first two check variants and in fixed draws of the
 * referee's, and appends the tolerance that follows (docs/spec/task.md) as a line to DIR/task.yaml, which is replaced.  A task that has
 * one is left as it is; of two processes at once the second waits, and finds the first's.
 * python: as a setup says it ("auto", a path, "none").  gpu: number or UUID; NULL: the host.
 * Errors: MISSING (no Python with torch), INPUT (the problem's doing), LIMIT (its check variants are too large), those of the process,
 * of atoll_task_load_draft and of writing. */
int atoll_tolerance_settle(const char *dir, const char *python, const char *gpu, struct atoll_err *err);

#endif
