/* plugin.h - what the shared object that is linked with libslurm offers to atoll.  Layer: scheduler.
 *
 * One object for each major version of Slurm, atoll-slurm-<MM.mm>.so: structs and soname of libslurm change with every one.  The
 * object is opened in a child process that makes one call and ends, because libslurm may block, exit or abort; so nothing
 * here frees what libslurm allocates.  Nothing of Slurm's types passes this border, only Slurm's words for what went wrong. */
#ifndef ATOLL_SCHEDULER_LAUNCHER_SLURM_PLUGIN_H
#define ATOLL_SCHEDULER_LAUNCHER_SLURM_PLUGIN_H

#include <stdint.h>

#include "scheduler/launcher/launcher.h"

#define ATOLL_SLURM_PLUGIN_SYMBOL    "atoll_slurm_plugin"
#define ATOLL_SLURM_PLUGIN_INTERFACE 2u

/* Why Slurm refused: its error number and its text for it. */
struct atoll_slurm_refusal {
    int number;
    char text[512];
};

/* A job as Slurm tells it; atoll makes its state of word and reason. */
struct atoll_slurm_job {
    struct atoll_job job; /* state is not set */
    char word[32];        /* "PENDING", "COMPLETING" ... */
};
typedef int atoll_slurm_job_sink(void *context, const struct atoll_slurm_job *job);

struct atoll_slurm_submission {
    const struct atoll_job_request *request;
    const char *script; /* with its #SBATCH lines, which Slurm's controller does not read */
    char *const *environment;
    uint32_t environment_count;
    int signal_number; /* of request->signal_name; 0 none */
};

/* All return 0 or -1 with the refusal.  start() comes first. */
struct atoll_slurm_plugin {
    unsigned interface;
    unsigned job_bytes, cluster_bytes,
        request_bytes;   /* sizes of our own structs: a plugin of another build shows */
    unsigned version;    /* of the headers it was built with: 0x160508 is 22.05.8 */
    void (*start)(void); /* reads slurm.conf; ends the process without one */
    int (*ping)(struct atoll_slurm_refusal *refusal);
    int (*submit)(const struct atoll_slurm_submission *submission, uint32_t *ret_id,
                  struct atoll_slurm_refusal *refusal);
    int (*list)(uint32_t user_id, atoll_slurm_job_sink *sink, void *context,
                struct atoll_slurm_refusal *refusal);
    /* job_id: of the whole array where the job is an element */
    int (*load)(uint32_t job_id, atoll_slurm_job_sink *sink, void *context,
                struct atoll_slurm_refusal *refusal);
    int (*cancel)(const char *id, struct atoll_slurm_refusal *refusal);
    int (*requeue)(const char *id, struct atoll_slurm_refusal *refusal);
    int (*bad_nodes)(const char *nodes, char *ret_names, size_t bytes, struct atoll_slurm_refusal *refusal);
    int (*cluster)(struct atoll_cluster *ret_cluster,
                   struct atoll_slurm_refusal *refusal); /* without mpi_types */
};

#endif
