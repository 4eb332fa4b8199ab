/* launch.h - starts atoll-eval on this machine: alone (one rank) or under mpirun.
 * Layer: scheduler.  Lifetime: start/wait.  The child's standard output is a pipe of progress lines
 * (docs/spec/progress.md), its standard error goes to log_path (appended).  The child is in its own process
 * group and dies with this process. */
#ifndef ATOLL_SCHEDULER_LAUNCHER_LOCAL_LAUNCH_H
#define ATOLL_SCHEDULER_LAUNCHER_LOCAL_LAUNCH_H

#include <sys/types.h>

#include "base/err.h"

#define ATOLL_LAUNCH_ARGUMENT_LIMIT 24

struct atoll_launch_settings {
    const char *campaign; /* directory */
    const char *log_path;
    unsigned ranks; /* 1: atoll-eval --local; more: mpirun -n ranks, rank 0 coordinates */
    const char
        *arguments[ATOLL_LAUNCH_ARGUMENT_LIMIT]; /* for atoll-eval, before the campaign; ends with NULL */
};

struct atoll_launched {
    pid_t pid;
    int progress_fd; /* owned; read end */
};

/* Errors: ATOLL_E_MISSING without mpirun or atoll-eval, with the remedy. */
int atoll_launch_start(const struct atoll_launch_settings *settings, struct atoll_launched *ret_launch,
                       struct atoll_err *err);
/* Waits for the end and closes the pipe.  ret_status: exit status, 128 + signal when a signal ended it. */
int atoll_launch_wait(struct atoll_launched *launch, int *ret_status, struct atoll_err *err);
/* Path of a program beside the running one ("atoll-eval"); -1 when it is not there. */
int atoll_launch_beside(const char *program, char *ret_path, size_t bytes, struct atoll_err *err);

#endif
