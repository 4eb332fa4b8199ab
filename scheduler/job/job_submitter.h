/* job_submitter.h - puts jobs of the user's queued campaigns into the scheduler's queue, as far as priorities, shares, dependencies
 * and limits allow.
 * Layer: scheduler.  Called by whoever has a reason; two at once take turns.  What a campaign wants is its number of jobs,
 * but not more than parts that are open; what it has is read off the scheduler by the jobs' name, so a submission whose
 * answer was lost is not repeated. */
#ifndef ATOLL_SCHEDULER_JOB_JOB_SUBMITTER_H
#define ATOLL_SCHEDULER_JOB_JOB_SUBMITTER_H

#include <stdio.h>

#include "base/err.h"

struct atoll_job_submitter_settings {
    const char *except_job; /* a job that ends now and counts for nothing; NULL none */
    const char
        *mine; /* id of the campaign that the caller cares for: what goes wrong with others is said, and is no
                         error; NULL: all are its own */
    double timeout_s; /* of each call to a scheduler; 0 = 30 */
    FILE *log;        /* a line for each thing done or left; NULL nothing */
};
struct atoll_job_submitter_result {
    unsigned submitted;
    unsigned wanted; /* jobs that campaigns still want */
    unsigned ending; /* jobs of `mine` that count and are about to end: nothing takes their place yet */
    unsigned failed; /* campaigns whose request was refused or whose folder is damaged */
};

/* Errors: those of the queue; BUSY when the turn was lost or not got; when nothing was submitted what went wrong last. */
int atoll_job_submitter_run(const struct atoll_job_submitter_settings *settings,
                            struct atoll_job_submitter_result *ret_result, struct atoll_err *err);

#endif
