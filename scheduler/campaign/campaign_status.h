/* campaign_status.h - what is known of a submitted campaign at one moment: its parts, its jobs, and why nothing runs.
 * Layer: scheduler.  Lifetime: read/fini.  Parts are read off their journals and leases, jobs off the scheduler, which is
 * asked at most once in the site's poll interval for all campaigns together. */
#ifndef ATOLL_SCHEDULER_CAMPAIGN_CAMPAIGN_STATUS_H
#define ATOLL_SCHEDULER_CAMPAIGN_CAMPAIGN_STATUS_H

#include <jansson.h>
#include <stdio.h>

#include "base/lease.h"
#include "scheduler/campaign/job_list.h"
#include "scheduler/campaign/campaign_progress_view.h"
#include "scheduler/campaign/sweep.h"

enum atoll_campaign_phase {
    ATOLL_PHASE_DONE,
    ATOLL_PHASE_CANCELLED,
    ATOLL_PHASE_PAUSED,
    ATOLL_PHASE_RUNNING, /* some part is held, or a job runs */
    ATOLL_PHASE_QUEUED,  /* jobs wait */
    ATOLL_PHASE_BLOCKED, /* another campaign must be done before */
    ATOLL_PHASE_IDLE,    /* parts are open, and no job is known */
    ATOLL_PHASE_COUNT
};
const char *atoll_campaign_phase_name(enum atoll_campaign_phase phase);

struct atoll_campaign_status {
    const struct atoll_sweep *sweep; /* borrowed */
    enum atoll_campaign_phase phase;
    struct atoll_campaign_progress *progresses; /* one for each part */
    struct atoll_campaign_progress_row *rows;
    struct atoll_lease_seen *leases;
    char (*troubles)[ATOLL_ERR_TEXT_BYTES];
    struct atoll_job *jobs; /* of this campaign */
    size_t job_count;
    double jobs_age_s;      /* how old that is; HUGE_VAL: the scheduler was never reached */
    char jobs_trouble[512]; /* why it is not newer; "" */
    char why[512];          /* why nothing runs, with the remedy; "" when something does */
};

/* max_age_s: of the list of jobs; negative: what the site's profile says.  timeout_s: of the question.  A part that cannot
 * be read is a row with its trouble; without a readable profile of the site nothing is known of jobs.  Errors: MEMORY. */
int atoll_campaign_status_read(const struct atoll_sweep *sweep, double max_age_s, double timeout_s,
                               struct atoll_campaign_status *ret_status, struct atoll_err *err);
void atoll_campaign_status_fini(struct atoll_campaign_status *status);

void atoll_campaign_status_print(const struct atoll_campaign_status *status, int by_task, FILE *out);
json_t *atoll_campaign_status_json(const struct atoll_campaign_status *status); /* new reference */

#endif
