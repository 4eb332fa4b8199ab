/* pilot.h - what a job does: one part after the other, until all have ended or its time is over.
 * Layer: scheduler.  docs/spec/sweep.md, "Job". */
#ifndef ATOLL_SCHEDULER_JOB_PILOT_H
#define ATOLL_SCHEDULER_JOB_PILOT_H

#include <signal.h>

#include "scheduler/site/site.h"
#include "scheduler/campaign/sweep.h"

struct atoll_pilot_settings {
    const struct atoll_sweep *sweep;
    const struct atoll_site *site;
    const char *const *eval_words; /* further words for atoll-eval */
    size_t eval_word_count;
    const volatile sig_atomic_t *interrupts; /* not 0: drain and leave */
    double call_timeout_s;                   /* of each call to a scheduler; 0 = 30 */
    double lease_time_s; /* 0 = ATOLL_LEASE_TIME_S; all who work on a campaign must agree */
};

/* Why it left. */
enum atoll_pilot_end {
    ATOLL_PILOT_DONE,      /* every part has ended; archive and report are there */
    ATOLL_PILOT_CONTINUES, /* time was over: the job is queued again, or its successor is */
    ATOLL_PILOT_NO_WORK,   /* every open part has another job, or was given up */
    ATOLL_PILOT_PAUSED,    /* paused or cancelled by the user */
    ATOLL_PILOT_LEFT       /* asked to go by a signal, or time was over and nobody continues */
};
/* Errors: those of reading the campaign; CHILD when parts were given up because their steps failed. */
int atoll_pilot_run(const struct atoll_pilot_settings *settings, enum atoll_pilot_end *ret_end,
                    struct atoll_err *err);

#endif
