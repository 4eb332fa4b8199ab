/* doctor_slurm.h - what `atoll doctor --slurm` says: which launcher works here and why not another one, what the cluster is,
 * and inside a job what is known of it.  Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_DOCTOR_DOCTOR_SLURM_H
#define ATOLL_SCHEDULER_DOCTOR_DOCTOR_SLURM_H

#include <jansson.h>
#include <stdio.h>

/* {"ok", "text", "launcher", "why": {kind: text}, "cluster": {...}, "partitions": [...], "job": {...}}, owned.  "why" tells of
 * launchers that do not work here; "cluster" and "partitions" are there when the controller answered, "job" inside one. */
json_t *atoll_doctor_slurm(void);
/* The same as lines of text. */
void atoll_doctor_slurm_print(const json_t *slurm, FILE *out);

#endif
