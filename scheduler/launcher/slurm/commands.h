/* commands.h - what of Slurm's commands others need too.  Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_LAUNCHER_SLURM_COMMANDS_H
#define ATOLL_SCHEDULER_LAUNCHER_SLURM_COMMANDS_H

#include "scheduler/launcher/launcher.h"

/* Submits with sbatch.  Errors as launcher.h says. */
int atoll_slurm_sbatch(const struct atoll_job_request *request, double timeout_s,
                       char ret_id[ATOLL_JOB_ID_BYTES], struct atoll_err *err);
/* The kinds of MPI that srun can start, "none pmix_v4"; "" when srun does not say. */
void atoll_slurm_mpi_types(double timeout_s, char *ret_types, size_t bytes);

#endif
