/* pilot_seat.h - a step of a job with all that it needs to be there: its words, its stage file, its gate where it stands by.
 * Layer: scheduler.  Lifetime: create/destroy; destroy ends the step where it runs, and removes both files. */
#ifndef ATOLL_SCHEDULER_JOB_PILOT_SEAT_H
#define ATOLL_SCHEDULER_JOB_PILOT_SEAT_H

#include "mpi-eval/coordinator/handover.h"
#include "scheduler/job/pilot.h"
#include "scheduler/site/allocation.h"

#define ATOLL_SEAT_FILE ".step-" /* how the names of both files begin, beside sweep.yaml */

/* What the steps of a job have in common; all borrowed, and looked at when a step is made. */
struct atoll_seat_job {
    const struct atoll_pilot_settings *settings;
    const struct atoll_allocation *allocation;
    const struct atoll_lease_holder *self;
    const struct atoll_node_list *nodes, *bad; /* of the job; of these, left out */
    const char *programs;                      /* folder of atoll-eval */
    const char *drain_file, *paused_file;      /* a step drains where one of them is there */
    const char *calibrations;                  /* folder, "" none */
    double lease_time_s;                       /* of the parts' leases */
    void (*look)(void *context);               /* as pilot_step's; NULL none */
    void *context;
    unsigned step_count; /* that were made; counted here */
};

struct atoll_seat;

/* left_s: until the step has to be gone, HUGE_VAL without a limit; it is ended reserve_s later.  stands_by: behind a gate;
 * the part is then the one that it may get.  silent_epoch: as atoll_pilot_choose gives it.  Errors: CHILD where no good node
 * is left; those of files, of the sweep and of the site's launcher. */
struct atoll_seat *atoll_seat_create(struct atoll_seat_job *job, size_t part, uint32_t silent_epoch,
                                     int stands_by, double left_s, double reserve_s, struct atoll_err *err);
void atoll_seat_destroy(struct atoll_seat *seat); /* NULL is fine */

/* The one that stands by works on the part from now on; its devices are another's still. */
int atoll_seat_give_part(struct atoll_seat *seat, size_t part, uint32_t silent_epoch, struct atoll_err *err);
/* Its devices are free; a full disk is waited for: told once, tried at each call.  For one that has them nothing happens. */
void atoll_seat_give_devices(struct atoll_seat *seat);
/* It has let go of them: as atoll_pilot_step_let_leave. */
void atoll_seat_let_leave(struct atoll_seat *seat);
/* It is not needed: away with its gate, and some seconds for it to leave by itself.  It is destroyed. */
void atoll_seat_dismiss(struct atoll_seat *seat);

/* How far the step says that it is; its file is looked at ten times a second, and at each call when it is ending. */
enum atoll_handover_stage atoll_seat_stage(struct atoll_seat *seat);
/* As atoll_pilot_step_look; NULL for no seat. */
const struct atoll_pilot_step_result *atoll_seat_look(struct atoll_seat *seat);
size_t atoll_seat_part(const struct atoll_seat *seat);
const char *atoll_seat_part_path(const struct atoll_seat *seat);
/* The nodes that were left out are still those. */
int atoll_seat_has_good_nodes(const struct atoll_seat *seat);

#endif
