/* pilot.h - what a job does: one part after the other, until all have ended or its time is over.
 * Layer: scheduler.  docs/spec/sweep.md, "Job". */
#ifndef ATOLL_SCHEDULER_JOB_PILOT_H
#define ATOLL_SCHEDULER_JOB_PILOT_H

#include <signal.h>

#include "base/lease.h"
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

/* ---- which part a job takes next (pilot_choice.c) ----
 * Follows from what is on disk and how long it has stood still.  create/destroy; one pilot.  No clock inside: times are given,
 * monotonic. */

enum atoll_offer {
    ATOLL_OFFER_PART, /* a part is free */
    ATOLL_OFFER_WAIT, /* some lease may belong to a lost job: look again in a few seconds */
    ATOLL_OFFER_NONE, /* every open part has a job that lives, or was given up here */
    ATOLL_OFFER_ENDED /* every part has ended */
};

struct atoll_pilot_choice;
/* self, sweep: borrowed.  first: the part it begins with, so that jobs that start together take different ones.  lease_time_s: of
 * the parts' leases. */
struct atoll_pilot_choice *atoll_pilot_choice_create(const struct atoll_sweep *sweep,
                                                     const struct atoll_lease_holder *self, size_t first,
                                                     double lease_time_s, struct atoll_err *err);
void atoll_pilot_choice_destroy(struct atoll_pilot_choice *choice);
/* Looks at all open parts.  For PART: its number and, when its holder is lost, the epoch that stood still (else 0).  A part
 * that is damaged (NOTFOUND, INPUT, CORRUPT, SCHEMA at three looks) is given up.  Errors: others of reading the parts. */
int atoll_pilot_choose(struct atoll_pilot_choice *choice, double now_ns, enum atoll_offer *ret_choice,
                       size_t *ret_part, uint32_t *ret_silent_epoch, struct atoll_err *err);
/* Whether every part has ended, as their journals say now; one that cannot be read has not. */
int atoll_pilot_choice_all_ended(struct atoll_pilot_choice *choice);
/* How a step on the part went: evaluated more than before or not.  After three steps in a row without anything the part is
 * given up by this job. */
void atoll_pilot_choice_record(struct atoll_pilot_choice *choice, size_t part, int has_progress);
size_t atoll_pilot_choice_given_up(const struct atoll_pilot_choice *choice);

/* ---- one step: started, watched, ended (pilot_step.c) ----
 * How it went is read off the part's journals by the caller; an exit status alone proves nothing (a step on a lost node may end
 * with 0). */

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
