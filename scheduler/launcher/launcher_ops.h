/* launcher_ops.h - what a launcher implements; launcher.c calls it with arguments it has checked.
 * Layer: scheduler.  An implementation embeds struct atoll_launcher as its first member. */
#ifndef ATOLL_SCHEDULER_LAUNCHER_LAUNCHER_OPS_H
#define ATOLL_SCHEDULER_LAUNCHER_LAUNCHER_OPS_H

#include "scheduler/launcher/launcher.h"

#define ATOLL_JOB_LIMIT ((size_t)100000) /* of one list */

/* Errors and outputs as launcher.h says of the function of the same name.  Ids and node lists contain nothing but what such
 * names may contain, so they can stand in a command line. */
struct atoll_launcher_ops {
    int is_slurm;
    void (*destroy)(struct atoll_launcher *launcher);
    int (*submit)(struct atoll_launcher *launcher, const struct atoll_job_request *request,
                  char ret_id[ATOLL_JOB_ID_BYTES], struct atoll_err *err);
    /* All jobs of this user; elements of an array one by one. */
    int (*list)(struct atoll_launcher *launcher, struct atoll_job **ret_jobs, size_t *ret_count,
                struct atoll_err *err);
    /* The jobs of an id: one, or every element of an array when the id is the whole array's; none for an unknown id. */
    int (*ask)(struct atoll_launcher *launcher, const char *id, struct atoll_job **ret_jobs,
               size_t *ret_count, struct atoll_err *err);
    int (*cancel)(struct atoll_launcher *launcher, const char *id, struct atoll_err *err);
    int (*requeue)(struct atoll_launcher *launcher, const char *id, struct atoll_err *err);
    /* NULL where there is one node, and no cluster */
    int (*bad_nodes)(struct atoll_launcher *launcher, const char *nodes, char *ret_names, size_t bytes,
                     struct atoll_err *err);
    int (*cluster)(struct atoll_launcher *launcher, struct atoll_cluster *ret_cluster, struct atoll_err *err);
};

struct atoll_launcher {
    const struct atoll_launcher_ops *ops;
    double timeout_s;
    char name[640];
};

/* Each NULL with MISSING when there is no such thing here. */
struct atoll_launcher *atoll_launcher_libslurm(double timeout_s, struct atoll_err *err);
struct atoll_launcher *atoll_launcher_commands(double timeout_s, struct atoll_err *err);
struct atoll_launcher *atoll_launcher_local(double timeout_s, struct atoll_err *err);

/* One more element of a growing list; NULL at ATOLL_JOB_LIMIT and without memory.  The element is all zero. */
struct atoll_job *atoll_job_append(struct atoll_job **jobs, size_t *count);

/* Checks a request before anything sees it: INPUT names the field. */
int atoll_job_request_check(const struct atoll_job_request *request, struct atoll_err *err);

#endif
