/* sweep_jobs.h - what a job of a submitted campaign asks the scheduler for, and the end of those that it has.  Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_CAMPAIGN_SWEEP_JOBS_H
#define ATOLL_SCHEDULER_CAMPAIGN_SWEEP_JOBS_H

#include "scheduler/site/site.h"
#include "scheduler/campaign/sweep.h"

/* From what the campaign says and its site's profile; script: text of the batch script.  All texts live in the arena, the
 * sweep or the site.  Errors: those of atoll_site_request. */
int atoll_sweep_request(const struct atoll_sweep *sweep, const struct atoll_site *site, const char *script,
                        struct atoll_arena *arena, struct atoll_job_request *ret_request,
                        struct atoll_err *err);
/* Text of the campaign's job.sh, in the arena. */
const char *atoll_sweep_script(const struct atoll_sweep *sweep, struct atoll_arena *arena,
                               struct atoll_err *err);
/* The campaign's own copy of its profile. */
struct atoll_site *atoll_sweep_site(const struct atoll_sweep *sweep, struct atoll_err *err);

/* Cancels those jobs of the campaign that have not ended and, with only_waiting, have not begun.  timeout_s: of each call; 0
 * = 30.  Errors: those of the launcher; jobs that ended in between are none. */
int atoll_sweep_jobs_cancel(const struct atoll_sweep *sweep, double timeout_s, int only_waiting,
                            unsigned *ret_count, struct atoll_err *err);

#endif
