/* pilot_leave.c - the end of a job: the campaign is done, goes on in another job, or somebody wants this one to go. */
#include <string.h>

#include "base/log.h"
#include "scheduler/campaign/finalize.h"
#include "scheduler/job/pilot_state.h"
#include "scheduler/job/job_submitter.h"
#include "scheduler/campaign/sweep_jobs.h"

#define WARNING_SLACK 1.2 /* of the time at which the site warns */

/* Under the same id where the site does that, else as a new job. */
int atoll_pilot_continue(struct pilot *p, const char *why, struct atoll_err *err)
{
    const struct atoll_job_submitter_settings pump = {.mine = p->sweep->id,
                                                      .except_job = p->allocation.job,
                                                      .timeout_s = p->settings->call_timeout_s,
                                                      .say = stderr};
    struct atoll_job_submitter_result result;

    if (p->settings->site->end.go_on == ATOLL_SITE_REQUEUE && p->launcher && p->allocation.is_job) {
        atoll_sweep_tell(p->sweep->dir, p->allocation.job, "requeue", "%s: the job asks to be queued again",
                         why);
        if (atoll_launcher_requeue(p->launcher, p->allocation.job, err) == 0) {
            return 0;
        }
        atoll_log_err(ATOLL_LOG_WARNING, "pilot.requeue", err);
        atoll_err_clear(err);
    }
    atoll_sweep_tell(p->sweep->dir, p->allocation.job, "successor", "%s: another job is submitted", why);
    return atoll_job_submitter(&pump, &result, err);
}

/* Whether the scheduler itself is ending the job: 1, 0, -1 nobody answers.  A job that the user cancelled is told as
 * "completing" like one that was preempted or requeued from outside: the first must not come back, the others come back by
 * themselves.  One that ran into its limit is ended too, and nobody else lets it go on. */
static int is_being_ended(struct pilot *p)
{
    struct atoll_job job;

    if (!p->launcher || atoll_launcher_ask(p->launcher, p->allocation.job, &job, NULL) != 0) {
        return -1;
    }
    if (job.state == ATOLL_JOB_RUNNING || job.state == ATOLL_JOB_SUSPENDED) {
        return 0;
    }
    return strcmp(job.reason, "TimeLimit") != 0 && atoll_allocation_remaining_s(&p->allocation) > 0;
}

/* Campaigns that waited for this one get their jobs. */
static void others_start(const struct pilot *p)
{
    const struct atoll_job_submitter_settings pump = {
        .except_job = p->allocation.job, .timeout_s = p->settings->call_timeout_s, .say = stderr};
    struct atoll_job_submitter_result result;
    struct atoll_err err = ATOLL_ERR_INIT;

    if (atoll_job_submitter(&pump, &result, &err) != 0) {
        atoll_log_err(ATOLL_LOG_WARNING, "pilot.submit", &err);
    }
}

/* What waits in the queue for this campaign has nothing to do any more. */
static void waiting_cancel(const struct pilot *p)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    unsigned count;

    if (p->launcher && atoll_sweep_jobs_cancel(p->sweep, p->settings->call_timeout_s, 1, &count, &err) != 0) {
        atoll_log_err(ATOLL_LOG_WARNING, "pilot.waiting", &err);
    }
}

int atoll_pilot_finish(struct pilot *p, enum atoll_pilot_end *ret_end, struct atoll_err *err)
{
    int done = atoll_finalize(p->sweep, 0, err);

    if (done < 0) {
        return -1;
    }
    *ret_end = done ? ATOLL_PILOT_DONE : ATOLL_PILOT_NO_WORK;
    if (done) { /* also where another one wrote it: nobody knows whether that one came to the rest */
        atoll_log(ATOLL_LOG_INFO, "pilot.done",
                  "every part has ended: %s/archive.h5 and report.html are there", p->sweep->dir);
        waiting_cancel(p);
        others_start(p);
    }
    return 0;
}

/* Asked to go: a warning that time is nearly over, a preemption, or a cancel, which alone ends the job for good. */
int atoll_pilot_interrupted(struct pilot *p, enum atoll_pilot_end *ret_end, struct atoll_err *err)
{
    double warned_s = WARNING_SLACK * p->settings->site->end.before_s;
    int is_time = atoll_allocation_remaining_s(&p->allocation) < warned_s, is_ended = is_being_ended(p);

    *ret_end = ATOLL_PILOT_LEFT;
    if (p->settings->site->end.go_on == ATOLL_SITE_END || is_ended > 0 || (is_ended < 0 && !is_time)) {
        atoll_sweep_tell(p->sweep->dir, p->allocation.job, "left", "the job was asked to go");
        return 0;
    }
    *ret_end = ATOLL_PILOT_CONTINUES;
    return atoll_pilot_continue(p, is_time ? "time is nearly over" : "the scheduler wants the nodes", err) ==
                   0
               ? 0
               : -1;
}
