/* local_run.h - runs one campaign on this machine from start or resume to its table: starts atoll-eval, shows progress, makes
 * archive.h5 and report.html.  Layer: scheduler.  Blocking. */
#ifndef ATOLL_SCHEDULER_CLI_LOCAL_RUN_H
#define ATOLL_SCHEDULER_CLI_LOCAL_RUN_H

#include "base/err.h"

struct atoll_local_run {
    const char *campaign; /* directory of an existing campaign */
    unsigned ranks;
    const char *ack_log;       /* NULL, or a file that gets one line per acknowledged evaluation */
    int is_json, is_quiet;     /* progress and table as JSON; no progress */
    const char *arguments[20]; /* more for atoll-eval; ends with NULL */
};

/* Interrupts: the first SIGINT or SIGTERM lets what is under way come back and leaves the search where it is, the second ends
 * the run at once; both leave a campaign that `atoll resume` continues.  Returns the exit status: 0; 128 and the signal's number
 * after an interrupt, unless the search had come to its end by then; -1 with the code of what atoll-eval failed of, or
 * ATOLL_E_INPUT when no task got a correct baseline (the table says why). */
int atoll_local_run(const struct atoll_local_run *run, struct atoll_err *err);

/* Whether this many ranks with so many threads each (0: as there is room) have cores of their own: of `cores`, of which an
 * evaluator needs one at least, and as many as its candidates have threads.  -1: ATOLL_E_LIMIT with the numbers and what would
 * fit.  Pure. */
int atoll_local_run_check(unsigned cores, long long ranks, long long threads, struct atoll_err *err);
/* The same of a campaign that was made elsewhere.  Pure. */
int atoll_local_resume_check(const char *dir, unsigned cores, long long ranks, long long threads,
                             struct atoll_err *err);
/* The cores that this process may use. */
unsigned atoll_local_run_cores(void);

#endif
