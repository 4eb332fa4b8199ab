/* pilot_choice.h - which part a job takes next; follows from what is on disk and how long it has stood still.
 * Layer: scheduler.  Lifetime: create/destroy; one pilot.  No clock inside: times are given, monotonic. */
#ifndef ATOLL_SCHEDULER_JOB_PILOT_CHOICE_H
#define ATOLL_SCHEDULER_JOB_PILOT_CHOICE_H

#include "base/lease.h"
#include "scheduler/campaign/sweep.h"

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

#endif
