/* job_submitter.h - puts jobs of the user's queued campaigns into the scheduler's queue, as far as priorities, shares, dependencies
 * and limits allow.
 * Layer: scheduler.  Called by whoever has a reason; two at once take turns.  What a campaign wants is its number of jobs,
 * but not more than parts that are open; what it has is read off the scheduler by the jobs' name, so a submission whose
 * answer was lost is not repeated. */
#ifndef ATOLL_SCHEDULER_JOB_JOB_SUBMITTER_H
#define ATOLL_SCHEDULER_JOB_JOB_SUBMITTER_H

#include <stddef.h>
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

/* ---- fair shares: pure ---- */

/* A campaign as it stands for the next job. */
struct atoll_fair_share_claim {
    double priority, share;
    size_t live, missing; /* jobs that it has, and that it wants more */
    int has_room;         /* its launcher takes jobs, and the ceiling is not reached */
};
/* Whether a's turn is before b's: the higher priority; among equals who has least for its share.  Neither before the other:
 * the one that was queued first.  One that wants nothing or has no room has no turn. */
int atoll_fair_share_is_before(const struct atoll_fair_share_claim *a,
                               const struct atoll_fair_share_claim *b);

struct atoll_fair_share_array {
    size_t missing;
    unsigned ceiling, queued; /* ceiling 0: none */
    unsigned array_size;      /* of the site, 0: no bound */
    int is_allowed;           /* the site has arrays, and nobody else is served between two elements */
};
/* At least 1, which is no array. */
unsigned atoll_fair_share_elements(const struct atoll_fair_share_array *array);

#endif
