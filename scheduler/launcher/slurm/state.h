/* state.h - Slurm's words for a job's state as ours.  Layer: scheduler.  One table for its library and its commands. */
#ifndef ATOLL_SCHEDULER_LAUNCHER_SLURM_STATE_H
#define ATOLL_SCHEDULER_LAUNCHER_SLURM_STATE_H

#include "scheduler/launcher/launcher.h"

/* word: "PENDING", "COMPLETING" ... as squeue prints; reason: "JobHeldUser" ... tells a held job from a waiting one, the
 * number of restarts one that ran before.  UNKNOWN for a word that is new to us. */
enum atoll_job_state atoll_slurm_state(const char *word, const char *reason, unsigned restart_count);

/* Exit status of a script from Slurm's number, which is what wait() gave; 128 + signal. */
int atoll_slurm_exit_status(unsigned wait_status);

#endif
