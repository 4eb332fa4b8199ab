/* pilot_state.h - what the sources of the pilot share: its state, the step on a part (pilot_part.c), and how a job leaves
 * (pilot_leave.c).  Layer: scheduler, private to the pilot. */
#ifndef ATOLL_SCHEDULER_JOB_PILOT_STATE_H
#define ATOLL_SCHEDULER_JOB_PILOT_STATE_H

#include <limits.h>

#include "scheduler/site/allocation.h"
#include "scheduler/site/node_list.h"
#include "scheduler/job/pilot.h"
#include "scheduler/job/pilot_choice.h"

struct pilot {
    const struct atoll_pilot_settings *settings;
    const struct atoll_sweep *sweep;
    struct atoll_launcher *launcher; /* NULL: none answers */
    struct atoll_allocation allocation;
    struct atoll_lease_holder self;
    struct atoll_pilot_choice *choice;
    struct atoll_node_list nodes, bad;
    double total_s; /* of the job, when it began */
    char programs[PATH_MAX], drain_file[PATH_MAX], paused_file[PATH_MAX];
    uint64_t results; /* of all steps of this pilot */
};

/* Of the job's time so much is kept for its own end, and so much is left before that. */
double atoll_pilot_reserve_s(const struct pilot *pilot);
double atoll_pilot_left_s(const struct pilot *pilot);
double atoll_pilot_lease_time_s(const struct pilot *pilot);
int atoll_pilot_is_interrupted(const struct pilot *pilot);

/* One step on the part, from its start to what its journals say of it.  silent_epoch: as atoll_pilot_choose tells. */
int atoll_pilot_part_run(struct pilot *pilot, size_t part, uint32_t silent_epoch, struct atoll_err *err);

/* The campaign goes on without this job: under its id again, or in another one.  why: "time is over". */
int atoll_pilot_continue(struct pilot *pilot, const char *why, struct atoll_err *err);
/* Somebody asked the job to go. */
int atoll_pilot_interrupted(struct pilot *pilot, enum atoll_pilot_end *ret_end, struct atoll_err *err);
/* Every part has ended: archive, report, and what waited for this campaign. */
int atoll_pilot_finish(struct pilot *pilot, enum atoll_pilot_end *ret_end, struct atoll_err *err);

#endif
