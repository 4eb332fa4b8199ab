/* version.h - what differs among versions of Slurm's library, from its headers: all of it, and nowhere else.
 * Layer: scheduler, inside the plugin alone.
 *
 *   23.11  lists of hosts are passed by pointer; GPUs are asked for as gres/gpu, before as gres:gpu
 *   24.05  the text of a reason comes from another function
 *   25.11  the answer to a submission holds the job's id inside a step id
 *   26.05  one job is loaded by its step id
 */
#ifndef ATOLL_SCHEDULER_LAUNCHER_SLURM_VERSION_H
#define ATOLL_SCHEDULER_LAUNCHER_SLURM_VERSION_H

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>

#define ATOLL_SLURM_AT_LEAST(major, minor) (SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(major, minor, 0))

#if ATOLL_SLURM_AT_LEAST(23, 11)
typedef hostlist_t *atoll_slurm_hosts;
#define ATOLL_SLURM_GRES "gres/"
#else
typedef hostlist_t atoll_slurm_hosts;
#define ATOLL_SLURM_GRES "gres:"
#endif

/* Exported by the library, declared in none of its headers; weak, so that a library without it still loads. */
#if ATOLL_SLURM_AT_LEAST(24, 5)
extern const char *slurm_job_state_reason_string(enum job_state_reason reason) __attribute__((weak));
#define ATOLL_SLURM_REASON slurm_job_state_reason_string
#else
extern char *slurm_job_reason_string(enum job_state_reason reason) __attribute__((weak));
#define ATOLL_SLURM_REASON slurm_job_reason_string
#endif

#if ATOLL_SLURM_AT_LEAST(25, 11)
#define ATOLL_SLURM_SUBMITTED(answer) ((answer)->step_id.job_id)
#else
#define ATOLL_SLURM_SUBMITTED(answer) ((answer)->job_id)
#endif

static inline int atoll_slurm_load_job(job_info_msg_t **ret_jobs, uint32_t job_id, uint16_t flags)
{
#if ATOLL_SLURM_AT_LEAST(26, 5)
    slurm_step_id_t whole_job = SLURM_STEP_ID_INITIALIZER;

    whole_job.job_id = job_id;
    return slurm_load_job(ret_jobs, whole_job, flags);
#else
    return slurm_load_job(ret_jobs, job_id, flags);
#endif
}

#endif
