/* sweep_jobs.h - takes a campaign's jobs out of the scheduler's queue.  Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_CAMPAIGN_SWEEP_JOBS_H
#define ATOLL_SCHEDULER_CAMPAIGN_SWEEP_JOBS_H

#include "scheduler/campaign/sweep.h"

/* Cancels those jobs of the campaign that have not ended and, with only_waiting, have not begun.  timeout_s: of each call; 0
 * = 30.  Errors: those of the launcher; jobs that ended in between are none. */
int atoll_sweep_jobs_cancel(const struct atoll_sweep *sweep, double timeout_s, int only_waiting,
                            unsigned *ret_count, struct atoll_err *err);

#endif
