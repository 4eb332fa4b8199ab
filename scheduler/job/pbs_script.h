/* pbs_script.h - a job request as a script for PBS (qsub of OpenPBS and PBS Professional).
 * Layer: scheduler, pure.
 *
 * Slurm's words that PBS has none for are refused where leaving them out would change what the job does (exclude, qos), and
 * passed over where the pilot needs them not (signal: it watches the time itself; no_kill; comment).  PBS has no name for a
 * job's id in the path of its output: with %j in it the folder is given, and PBS writes FOLDER/<id>.OU. */
#ifndef ATOLL_SCHEDULER_JOB_PBS_SCRIPT_H
#define ATOLL_SCHEDULER_JOB_PBS_SCRIPT_H

#include "scheduler/launcher/launcher.h"

/* Appends the request's script with #PBS lines behind its first line.
 * Errors: INPUT for a script without "#!", a text with blanks or line breaks, exclude or qos. */
int atoll_job_script_pbs(const struct atoll_job_request *request, struct atoll_buffer *out,
                         struct atoll_err *err);

#endif
