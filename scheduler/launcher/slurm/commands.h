/* commands.h - what of Slurm's commands others need too.  Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_LAUNCHER_SLURM_COMMANDS_H
#define ATOLL_SCHEDULER_LAUNCHER_SLURM_COMMANDS_H

#include "scheduler/launcher/launcher.h"

/* Submits with sbatch.  Errors as launcher.h says. */
int atoll_slurm_sbatch(const struct atoll_job_request *request, double timeout_s,
                       char ret_id[ATOLL_JOB_ID_BYTES], struct atoll_err *err);
/* The kinds of MPI that srun can start, "none pmix_v4"; "" when srun does not say. */
void atoll_slurm_mpi_types(double timeout_s, char *ret_types, size_t bytes);

/* ---- what squeue, sinfo, sbatch, srun and scontrol print (command_output.c) ----
 * Pure.  The formats that are asked for stand beside their readers: fixed widths for jobs, whose names may hold any character,
 * and '|' between fields that cannot hold one. */

/* For squeue -h -O; times are asked for as SLURM_TIME_FORMAT=%s. */
const char *atoll_slurm_job_format(void);
/* Lines of squeue in that format, appended to the list.  PROTOCOL for a line of another width. */
int atoll_slurm_jobs_read(const char *text, struct atoll_job **jobs, size_t *count, struct atoll_err *err);

#define ATOLL_SLURM_PARTITION_FORMAT "%P|%a|%l|%L|%D|%A|%c|%G" /* for sinfo -h -a -o */
/* Several lines of one partition, which differ in their nodes, become one. */
int atoll_slurm_partitions_read(const char *text, struct atoll_cluster *cluster, struct atoll_err *err);

#define ATOLL_SLURM_NODE_FORMAT "%N|%T" /* for sinfo -h -N -o */
/* The names of those that must not be used, each once.  LIMIT when they do not fit. */
int atoll_slurm_bad_nodes_read(const char *text, char *ret_names, size_t bytes, struct atoll_err *err);

/* "1-02:03:04", "03:04" minutes and seconds, "90" minutes; "infinite", "n/a", "UNLIMITED": HUGE_VAL. */
double atoll_slurm_minutes(const char *text);
/* "1234", "1234;cluster", behind whatever a site's plugin prints first.  PROTOCOL for other words. */
int atoll_slurm_submitted_read(const char *text, char ret_id[ATOLL_JOB_ID_BYTES], struct atoll_err *err);
/* What srun --mpi=list prints, in the manners of all versions, as "none pmi2 pmix_v4". */
void atoll_slurm_mpi_types_read(const char *text, char *ret_types, size_t bytes);
/* The value of "Name = value" in what scontrol show config prints; "" when it is not there. */
void atoll_slurm_setting_read(const char *text, const char *name, char *ret_value, size_t bytes);

#endif
