/* pilot_step.h - one step of a pilot: started, watched, ended.
 * Layer: scheduler.  How it went is read off the part's journals by the caller; an exit status alone proves nothing (a step on
 * a lost node may end with 0). */
#ifndef ATOLL_SCHEDULER_JOB_PILOT_STEP_H
#define ATOLL_SCHEDULER_JOB_PILOT_STEP_H

#include <signal.h>

#include "base/lease.h"

struct atoll_pilot_step_settings {
    const char *const *words; /* the command, NULL at the end */
    const char *part;         /* folder whose lease the step renews */
    const struct atoll_lease_holder *self;
    const char *drain_file;                  /* made when somebody asks the step to drain */
    const volatile sig_atomic_t *interrupts; /* not 0: it is asked to drain */
    double end_mono_ns;                      /* the step is ended by then; HUGE_VAL never */
    double lease_time_s;                     /* of the part's lease */
    double start_limit_s;                    /* until its first beat; 0 = 600 */
    void (*look)(void *context);             /* called every 15 s while it runs; NULL none */
    void *context;
};

enum atoll_pilot_step_end {
    ATOLL_STEP_EXITED, /* by itself */
    ATOLL_STEP_SILENT, /* its lease stood still or was never taken: it was killed */
    ATOLL_STEP_LATE    /* it was still there at the end: killed */
};
struct atoll_pilot_step_result {
    enum atoll_pilot_step_end end;
    int status; /* exit status, 128 + signal */
};

/* Runs it to its end.  Errors: IO (no process could be started). */
int atoll_pilot_step_run(const struct atoll_pilot_step_settings *settings,
                         struct atoll_pilot_step_result *ret_result, struct atoll_err *err);

#endif
