/* campaign_status.h - what is known of a campaign at one moment: its parts, its jobs, and why nothing runs.
 * Layer: scheduler.  Lifetime: read/fini.  Read only.  Parts are read off their journals and leases, jobs off the scheduler, which
 * is asked at most once in the site's poll interval for all campaigns together.  A campaign of `atoll run` is one part without
 * jobs. */
#ifndef ATOLL_SCHEDULER_CAMPAIGN_CAMPAIGN_STATUS_H
#define ATOLL_SCHEDULER_CAMPAIGN_CAMPAIGN_STATUS_H

#include <jansson.h>
#include <stdio.h>

#include "base/lease.h"
#include "scheduler/campaign/campaign_progress_view.h"
#include "scheduler/campaign/job_list.h"
#include "scheduler/campaign/sweep.h"

enum atoll_campaign_phase {
    ATOLL_PHASE_DONE,
    ATOLL_PHASE_CANCELLED,
    ATOLL_PHASE_PAUSED,
    ATOLL_PHASE_RUNNING, /* some part is held, or a job runs */
    ATOLL_PHASE_QUEUED,  /* jobs wait */
    ATOLL_PHASE_BLOCKED, /* another campaign must be done before */
    ATOLL_PHASE_IDLE,    /* parts are open, and no job is known; of `atoll run`: nobody works on it */
    ATOLL_PHASE_COUNT
};
const char *atoll_campaign_phase_name(enum atoll_campaign_phase phase);

struct atoll_campaign_status {
    const struct atoll_sweep *sweep; /* borrowed; NULL: a campaign of `atoll run` */
    const char *dir;                 /* borrowed */
    char id[ATOLL_ID_HEX];           /* "" where it cannot be read */
    enum atoll_campaign_phase phase;
    size_t part_count;
    struct atoll_campaign_progress *progresses; /* one for each part */
    struct atoll_campaign_progress_row *rows;
    struct atoll_lease_seen *leases;
    char (*troubles)[ATOLL_ERR_TEXT_BYTES];
    struct atoll_job *jobs; /* of this campaign */
    size_t job_count;
    double jobs_age_s;      /* how old that is; HUGE_VAL: the scheduler was never reached */
    char jobs_trouble[512]; /* why it is not newer; "" */
    char space[512];        /* that the disk where it lies is full, with the remedy; "" */
    char why[512];          /* why nothing runs, with the remedy; "" when something does */
};

/* max_age_s: of the list of jobs; negative: what the site's profile says.  timeout_s: of the question.  A part that cannot
 * be read is a row with its trouble; without a readable profile of the site nothing is known of jobs.  Errors: MEMORY. */
int atoll_campaign_status_read(const struct atoll_sweep *sweep, double max_age_s, double timeout_s,
                               struct atoll_campaign_status *ret_status, struct atoll_err *err);
/* The same of a campaign of `atoll run`, from any terminal.  silent_s: for how long the caller has seen its lease stand still; above
 * ATOLL_LEASE_TIME_S its holder counts as lost.  Errors: those of opening the campaign, MEMORY. */
int atoll_campaign_status_read_run(const char *dir, double silent_s, struct atoll_campaign_status *ret_status,
                                   struct atoll_err *err);
void atoll_campaign_status_fini(struct atoll_campaign_status *status);

void atoll_campaign_status_print(const struct atoll_campaign_status *status, int by_task, FILE *out);
json_t *atoll_campaign_status_json(const struct atoll_campaign_status *status); /* new reference */

#endif
