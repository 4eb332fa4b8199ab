/* drive.h - runs one campaign on this machine from start or resume to its table: launches atoll-eval, shows
 * progress, builds archive and report.  Layer: scheduler.  Blocking. */
#ifndef ATOLL_SCHEDULER_CLI_DRIVE_H
#define ATOLL_SCHEDULER_CLI_DRIVE_H

#include "base/err.h"
#include "scheduler/cli/progress_view.h"

struct atoll_drive {
    const char *campaign; /* directory of an existing campaign */
    unsigned ranks;
    enum atoll_progress_mode mode;
    const char *ack_log;      /* NULL, or a file that gets one line per acknowledged evaluation */
    int json;                 /* the result table as JSON */
    const char *arguments[8]; /* more for atoll-eval; ends with NULL */
};

enum atoll_progress_mode atoll_drive_mode(int json, int quiet);

/* Interrupts: the first SIGINT or SIGTERM asks the run to finish, the second ends it at once; both leave a
 * campaign that `atoll resume` continues.  Returns the exit status of `atoll run`. */
int atoll_drive_campaign(const struct atoll_drive *drive, struct atoll_err *err);

#endif
