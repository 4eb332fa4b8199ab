/* allocation.h - the job this process runs in: what its environment and the scheduler say of it.
 * Layer: scheduler.  Plain value.  Slurm, PBS, the local launcher, or none of them (then this machine, without end). */
#ifndef ATOLL_SCHEDULER_SITE_ALLOCATION_H
#define ATOLL_SCHEDULER_SITE_ALLOCATION_H

#include <stdint.h>

#include "scheduler/launcher/launcher.h"

#define ATOLL_ALLOCATION_NODES_BYTES 131072 /* of 16384 nodes without any order: nid[001234,001236,...] */

struct atoll_allocation {
    char job[ATOLL_JOB_ID_BYTES]; /* as the launcher knows it ("12", "12_3"), "local" outside of a job */
    uint32_t restarts;            /* of this job under the same id */
    char nodes[ATOLL_ALLOCATION_NODES_BYTES]; /* "n[1-4]"; "" where nobody says */
    unsigned node_count;                      /* at least 1 */
    double end_mono_ns; /* on this process's monotonic clock; HUGE_VAL without a limit */
    int is_job;
};

/* launcher: asked for the time that is left where the environment does not say; may be NULL.  Never fails: what cannot be
 * found out is left at what a run without a scheduler has. */
void atoll_allocation_find(struct atoll_launcher *launcher, struct atoll_allocation *ret_allocation);
/* Seconds until its end. */
double atoll_allocation_remaining_s(const struct atoll_allocation *allocation);

#endif
