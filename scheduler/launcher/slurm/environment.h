/* environment.h - the environment that a submitted job inherits.  Layer: scheduler.  Lifetime: create/destroy. */
#ifndef ATOLL_SCHEDULER_LAUNCHER_SLURM_ENVIRONMENT_H
#define ATOLL_SCHEDULER_LAUNCHER_SLURM_ENVIRONMENT_H

#include <stddef.h>

#include "scheduler/launcher/launcher.h"

struct atoll_slurm_environment {
    char **items; /* "NAME=value", NULL at the end; owned */
    size_t count;
};

/* This process's environment without what another job left in it: a job that submits its successor would otherwise pass on its
 * own SLURM_* (its memory per CPU, its node list), which srun takes as options.  SBATCH_* that say what the request says are
 * left out, because to sbatch they are stronger than the script. */
int atoll_slurm_environment_create(const struct atoll_job_request *request,
                                   struct atoll_slurm_environment *ret_environment, struct atoll_err *err);
/* For commands that ask: what the user's environment would change in their output is left out, times come as seconds. */
int atoll_slurm_environment_ask(struct atoll_slurm_environment *ret_environment, struct atoll_err *err);
/* One more, for what sbatch itself would add. */
int atoll_slurm_environment_add(struct atoll_slurm_environment *environment, struct atoll_err *err,
                                const char *format, ...) __attribute__((format(printf, 3, 4)));
void atoll_slurm_environment_destroy(struct atoll_slurm_environment *environment);

/* The request with the site's SBATCH_* where it leaves something open, as sbatch does it. */
void atoll_slurm_request_complete(struct atoll_job_request *request);

#endif
