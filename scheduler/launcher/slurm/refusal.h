/* refusal.h - what Slurm's words for a failure mean to us: one table for its library and for its commands, which say the same
 * texts.  Layer: scheduler.  The texts were compared in all versions from 22.05 to 26.05. */
#ifndef ATOLL_SCHEDULER_LAUNCHER_SLURM_REFUSAL_H
#define ATOLL_SCHEDULER_LAUNCHER_SLURM_REFUSAL_H

#include "base/err.h"

/* While it says this, sbatch would try again for a quarter of an hour. */
#define ATOLL_SLURM_QUEUE_FULL "temporarily unable to accept job"
/* While it says this, anything of Slurm would try again for a minute. */
#define ATOLL_SLURM_NO_CONFIGURATION "cannot stat file"

/* Fills err with "<what>: <words>; <remedy>" and the code that the words stand for, otherwise when they are new
 * to us; -1. */
int atoll_slurm_refuse(const char *what, const char *words, enum atoll_code otherwise, struct atoll_err *err);
/* Whether the words say that the job has ended: to cancel it is no failure. */
int atoll_slurm_has_ended(const char *words);

#endif
