/* supervise.h - the process that stays with a job of this machine: waits for its turn, runs its script, ends it in time.
 * Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_LAUNCHER_LOCAL_SUPERVISE_H
#define ATOLL_SCHEDULER_LAUNCHER_LOCAL_SUPERVISE_H

#include "base/err.h"

/* Starts it, detached from this process and its terminal, for a job whose record is written; returns once it has written that
 * it is there.  restart_count: 0 for a new job. */
int atoll_local_supervise(const char *root, const char *id, unsigned restart_count, struct atoll_err *err);

#endif
