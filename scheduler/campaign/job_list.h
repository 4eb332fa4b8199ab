/* job_list.h - the user's jobs as one launcher knows them, asked for in one request and kept for a while, so that many
 * questions of people and jobs are few questions to the scheduler.
 * Layer: scheduler.  Lifetime: get/fini. */
#ifndef ATOLL_SCHEDULER_CAMPAIGN_JOB_LIST_H
#define ATOLL_SCHEDULER_CAMPAIGN_JOB_LIST_H

#include "scheduler/launcher/launcher.h"

struct atoll_job_list {
    struct atoll_job *jobs; /* owned */
    size_t count;
    double age_s;       /* since the launcher was asked */
    char launcher[128]; /* its name */
};

/* At most max_age_s old (0: ask now); kept in the queue's folder between processes.  When the launcher does not answer an
 * older list is better than none: then age_s tells, err is filled and 1 is returned.  0 fresh enough, 1 stale, -1 none at all. */
int atoll_job_list_get(enum atoll_launcher_kind kind, double timeout_s, double max_age_s,
                       struct atoll_job_list *ret_list, struct atoll_err *err);
/* The same through a launcher that is open; always asks. */
int atoll_job_list_ask(struct atoll_launcher *launcher, enum atoll_launcher_kind kind,
                       struct atoll_job_list *ret_list, struct atoll_err *err);
/* What is kept is no longer true, for this process changed something: the next one asks. */
void atoll_job_list_forget(enum atoll_launcher_kind kind);
void atoll_job_list_fini(struct atoll_job_list *list);
/* How many of that name have not ended, without the job `except` (NULL none). */
size_t atoll_job_list_live(const struct atoll_job_list *list, const char *name, const char *except);

#endif
