#include "scheduler/campaign/sweep_jobs.h"

#include <string.h>

#include "scheduler/job/job_list.h"
#include "scheduler/campaign/sweep_request.h"

int atoll_sweep_jobs_cancel(const struct atoll_sweep *sweep, double timeout_s, int only_waiting,
                            unsigned *ret_count, struct atoll_err *err)
{
    struct atoll_site *site = atoll_sweep_site(sweep, err);
    struct atoll_launcher *launcher = site ? atoll_launcher_create(site->launcher, timeout_s, err) : NULL;
    struct atoll_job_list list = {0};
    char name[ATOLL_SWEEP_NAME_BYTES];
    int status = launcher ? atoll_job_list_ask(launcher, site->launcher, &list, err) : -1;

    atoll_sweep_job_name(sweep, name);
    *ret_count = 0;
    for (size_t i = 0; status == 0 && i < list.count; i++) {
        const struct atoll_job *job = &list.jobs[i];
        int is_waiting = job->state == ATOLL_JOB_PENDING || job->state == ATOLL_JOB_HELD ||
                         job->state == ATOLL_JOB_REQUEUED;

        if (strcmp(job->name, name) != 0 || atoll_job_has_ended(job->state) ||
            (only_waiting && !is_waiting)) {
            continue;
        }
        status = atoll_launcher_cancel(launcher, job->id, err);
        if (status != 0 && err->code == ATOLL_E_NOTFOUND) { /* it ended in between */
            atoll_err_clear(err);
            status = 0;
            continue;
        }
        *ret_count += status == 0;
    }
    if (*ret_count > 0) {
        atoll_job_list_forget(site->launcher);
    }
    atoll_job_list_fini(&list);
    atoll_launcher_destroy(launcher);
    atoll_site_destroy(site);
    return status;
}
