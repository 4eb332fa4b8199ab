/* handover.h - how the device goes from one run to the next one of a job: two small files between them and the pilot.
 * Layer: mpi-eval.  No state in memory; a file has one writer at a time.
 *
 * STAGE, written by a run: a line for each stage that it has come to.  GATE, written by the pilot for a run that stands by:
 * a line for the campaign that it is to work on, and another when the devices are free; when the file is gone, it is to leave.  Both are made empty by the pilot
 * before the run is started and only grow, a line with one write, so that whoever opens them on another node sees whole
 * lines soon. */
#ifndef ATOLL_MPI_EVAL_COORDINATOR_HANDOVER_H
#define ATOLL_MPI_EVAL_COORDINATOR_HANDOVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum atoll_handover_stage {
    ATOLL_HANDOVER_STARTING,
    ATOLL_HANDOVER_STANDS_BY, /* all of it is up and waits for its gate */
    ATOLL_HANDOVER_ENDING, /* it will need the devices for a short time only: the next run may come up beside it */
    ATOLL_HANDOVER_STOPPED, /* the search is over and its journal closed: another campaign may be claimed */
    ATOLL_HANDOVER_RELEASED, /* no process of it has a device any more, and the search is in the journal: what is left is files */
    ATOLL_HANDOVER_STAGE_COUNT
};

/* Makes the file anew, empty. */
int atoll_handover_make(const char *path, struct atoll_err *err);

/* path NULL: nobody wants to know. */
int atoll_handover_tell(const char *path, enum atoll_handover_stage stage, struct atoll_err *err);
/* The furthest stage that is told; STARTING where nothing can be read. */
enum atoll_handover_stage atoll_handover_look(const char *path);

/* epoch: of a lease that is taken over for its silence, else 0.  Errors: INPUT for a path that is no line; those of files. */
int atoll_handover_open_gate(const char *path, const char *campaign, uint32_t epoch, struct atoll_err *err);
int atoll_handover_give_devices(const char *path, struct atoll_err *err);
/* 1: the devices are given, too. */
int atoll_handover_has_devices(const char *path);
/* 1: the gate is open, for this campaign; 0: closed; -1 with NOTFOUND: the file is gone, leave; -1: it cannot be read. */
int atoll_handover_look_at_gate(const char *path, char *ret_campaign, size_t bytes, uint32_t *ret_epoch,
                                struct atoll_err *err);

#endif
