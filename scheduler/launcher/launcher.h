/* launcher.h - what puts jobs into a queue and asks after them: Slurm through its library, Slurm through its commands, or
 * this machine alone.  Layer: scheduler.  Lifetime: create/destroy.  Not thread-safe.
 *
 * Every call ends within the launcher's timeout, whatever the other side does.  Errors are the same for all launchers:
 * TIMEOUT the controller does not answer (worth repeating), LIMIT a queue or submission limit was reached (worth repeating
 * when jobs have ended), INPUT the request is refused (partition, account, time ...; the text says which and names the
 * remedy), DENIED, BUSY the job is
 * between two states (worth repeating), MISSING no such launcher on this machine, NOTFOUND nobody knows the job (which is
 * not "failed"), CHILD Slurm's library or a command ended in a way that nobody knows. */
#ifndef ATOLL_SCHEDULER_LAUNCHER_LAUNCHER_H
#define ATOLL_SCHEDULER_LAUNCHER_LAUNCHER_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/err.h"

#define ATOLL_JOB_ID_BYTES 64

enum atoll_job_state {
    ATOLL_JOB_UNKNOWN, /* nobody knows it, or not any more: says nothing about how it ended */
    ATOLL_JOB_PENDING,
    ATOLL_JOB_HELD,
    ATOLL_JOB_REQUEUED, /* ended once and waits to start again under the same id */
    ATOLL_JOB_RUNNING,
    ATOLL_JOB_SUSPENDED,
    ATOLL_JOB_COMPLETING,
    ATOLL_JOB_COMPLETED, /* from here on it has ended */
    ATOLL_JOB_FAILED,
    ATOLL_JOB_CANCELLED,
    ATOLL_JOB_TIMEOUT,
    ATOLL_JOB_NODE_FAIL,
    ATOLL_JOB_PREEMPTED,
    ATOLL_JOB_OUT_OF_MEMORY,
    ATOLL_JOB_STATE_COUNT
};
const char *atoll_job_state_name(enum atoll_job_state state); /* "pending" ...; "unknown" beyond the table */
int atoll_job_has_ended(enum atoll_job_state state);          /* UNKNOWN has not */

/* Texts are borrowed for the call; NULL or 0 leaves a thing to the site. */
struct atoll_job_request {
    const char *name;
    const char *script;   /* whole text, starts with "#!" */
    const char *work_dir; /* absolute */
    const char *log_path; /* output and errors, appended; %j is the job's id, %% a percent sign */
    const char *partition, *account, *qos, *constraint, *reservation;
    const char *gpus_by_gres; /* "gpu:4" for each node, where the site takes --gres */
    unsigned gpus_per_node;   /* else --gpus-per-node */
    unsigned nodes, tasks_per_node, cpus_per_task;
    unsigned time_min;
    unsigned array_count;    /* 0 no array; elements 0..count-1 */
    const char *signal_name; /* "TERM", sent to the batch shell */
    unsigned signal_before_s;
    int no_kill;   /* stay when one of the nodes fails */
    int requeue;   /* may be requeued */
    int exclusive; /* whole nodes */
    const char *const
        *extra; /* further #SBATCH words of the site ("--gpu-bind=none"), NULL at the end; may be NULL */
};

/* One job, or one element of an array, as the queue tells it. */
struct atoll_job {
    char id[ATOLL_JOB_ID_BYTES]; /* "1234", "1234_7" */
    char name[128];
    enum atoll_job_state state;
    char reason[160]; /* why it waits or how it ended, in the launcher's words; may be empty */
    char partition[64];
    char nodes[256]; /* "n[1-4]", empty while it waits */
    unsigned node_count, restart_count;
    int exit_status; /* of the script, when it has ended; 128 + signal */
    int64_t submit_unix_s, start_unix_s,
        end_unix_s; /* 0 not known; end of a running job: when its time is over */
};

struct atoll_launcher;

enum atoll_launcher_kind {
    ATOLL_LAUNCHER_AUTO, /* Slurm's library where a plugin for it loads, else its commands, else this machine */
    ATOLL_LAUNCHER_LIBSLURM,
    ATOLL_LAUNCHER_COMMANDS,
    ATOLL_LAUNCHER_LOCAL
};

/* timeout_s: of each call; 0 = 30.  Errors: MISSING with what was looked for and where. */
struct atoll_launcher *atoll_launcher_create(enum atoll_launcher_kind kind, double timeout_s,
                                             struct atoll_err *err);
void atoll_launcher_destroy(struct atoll_launcher *launcher);
/* "libslurm 22.05.8 (plugin /usr/lib/atoll/atoll-slurm-22.05.so)", "commands of slurm 22.05.8", "local"; borrowed. */
const char *atoll_launcher_name(const struct atoll_launcher *launcher);
int atoll_launcher_is_slurm(const struct atoll_launcher *launcher);

/* Never repeated by itself: whether a job came of a call that timed out is for the caller to find out, by name. */
int atoll_launcher_submit(struct atoll_launcher *launcher, const struct atoll_job_request *request,
                          char ret_id[ATOLL_JOB_ID_BYTES], struct atoll_err *err);
/* All jobs of this user that the queue knows, in one request, elements of arrays one by one, in the order of their ids;
 * name_prefix: only those (NULL all).  ret_jobs: free() it. */
int atoll_launcher_list(struct atoll_launcher *launcher, const char *name_prefix, struct atoll_job **ret_jobs,
                        size_t *ret_count, struct atoll_err *err);
/* One job; for an id that nobody knows 0 with ATOLL_JOB_UNKNOWN.  Of a whole array the element that says most: one that runs,
 * else one that waits, else one that went wrong. */
int atoll_launcher_ask(struct atoll_launcher *launcher, const char *id, struct atoll_job *ret_job,
                       struct atoll_err *err);
int atoll_launcher_cancel(struct atoll_launcher *launcher, const char *id, struct atoll_err *err);
/* Ends the job and queues it again under the same id; restart_count counts. */
int atoll_launcher_requeue(struct atoll_launcher *launcher, const char *id, struct atoll_err *err);
/* Seconds until the job's time is over; HUGE_VAL without a limit. */
int atoll_launcher_remaining(struct atoll_launcher *launcher, const char *id, double *ret_seconds,
                             struct atoll_err *err);
/* Which of the nodes ("n[1-4]") must not be used (down, draining, failing): comma-separated names, "" for none. */
int atoll_launcher_bad_nodes(struct atoll_launcher *launcher, const char *nodes, char *ret_names,
                             size_t bytes, struct atoll_err *err);

/* What the cluster is, for doctor and for site limits. */
struct atoll_partition {
    char name[64], state[32], gres[160]; /* gres: of its nodes, "gpu:2" */
    unsigned nodes, idle_nodes, cpus_per_node;
    double time_limit_min, default_min; /* HUGE_VAL: none */
    int is_default;
};
struct atoll_cluster {
    char version[32], name[64], controller[160];
    char mpi_types[256];  /* "none pmi2 pmix_v4" */
    unsigned array_limit; /* MaxArraySize, 0 not known */
    unsigned job_limit;   /* MaxJobCount, 0 not known */
    struct atoll_partition partitions[64];
    size_t partition_count;
    double answer_s; /* what a ping took */
};
int atoll_launcher_cluster(struct atoll_launcher *launcher, struct atoll_cluster *ret_cluster,
                           struct atoll_err *err);

/* The request as a script for sbatch: its #SBATCH lines behind the first line of its script.  All launchers submit what
 * this says; --dry-run prints it. */
int atoll_job_script(const struct atoll_job_request *request, struct atoll_buffer *out,
                     struct atoll_err *err);

#endif
