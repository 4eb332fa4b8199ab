/* job_folder.h - jobs of this machine on disk: $XDG_STATE_HOME/atoll/jobs/<host>/<id>/ (~/.local/state without it).
 * Layer: scheduler.  A home folder is shared among hosts, processes are not: each host has its own.
 *
 *   job.json    what was submitted          written once, before anything runs
 *   script      its script
 *   state.json  how it goes                 written by its supervisor alone
 *   hold begin cancel requeue   wishes of others, which the supervisor looks for
 *   ../turn/<id>, ../slots/<n>  who waits, in order; who runs (a lock that dies with its holder)
 */
#ifndef ATOLL_SCHEDULER_LAUNCHER_LOCAL_JOB_FOLDER_H
#define ATOLL_SCHEDULER_LAUNCHER_LOCAL_JOB_FOLDER_H

#include <limits.h>

#include "base/process_id.h"
#include "scheduler/launcher/launcher.h"

struct atoll_local_job {
    char id[ATOLL_JOB_ID_BYTES], name[128];
    char work_dir[PATH_MAX], log_path[PATH_MAX]; /* the log's %j, %A and %a are already filled in */
    char dependency[256];
    double time_limit_s; /* 0 none */
    int signal_number;   /* 0 none */
    double signal_before_s;
    int array_index;  /* -1: no array */
    unsigned at_once; /* of the array; 0 all */
    int64_t submit_unix_s;
};

struct atoll_local_state {
    enum atoll_job_state state;
    char reason[160];
    unsigned restart_count;
    int exit_status;
    int64_t start_unix_s, end_unix_s;
    struct atoll_process_id supervisor, shell; /* pid 0: none */
};

/* The folder of all jobs, made if it is not there.  DENIED, FULL, LIMIT (a path that is too long). */
int atoll_local_root(char ret_root[PATH_MAX], struct atoll_err *err);
int atoll_local_path(const char *root, const char *id, const char *file, char ret_path[PATH_MAX],
                     struct atoll_err *err);

/* A number that no job has had: its folder is made.  */
int atoll_local_number(const char *root, unsigned long *ret_number, struct atoll_err *err);
int atoll_local_job_write(const char *root, const struct atoll_local_job *job, const char *script,
                          struct atoll_err *err);
/* NOTFOUND for an id that is not there. */
int atoll_local_job_read(const char *root, const char *id, struct atoll_local_job *ret_job,
                         struct atoll_err *err);
int atoll_local_state_write(const char *root, const char *id, const struct atoll_local_state *state,
                            struct atoll_err *err);
int atoll_local_state_read(const char *root, const char *id, struct atoll_local_state *ret_state,
                           struct atoll_err *err);
/* The state as others see it: a job whose supervisor is gone before its end has FAILED, and the reason says so. */
int atoll_local_state_judge(const char *root, const char *id, struct atoll_local_state *ret_state,
                            struct atoll_err *err);

/* Wishes.  value: seconds for "begin", else anything.  take: removes it; 1 when it was there. */
int atoll_local_wish(const char *root, const char *id, const char *wish, int64_t value,
                     struct atoll_err *err);
int atoll_local_wish_read(const char *root, const char *id, const char *wish, int64_t *ret_value);
int atoll_local_wish_take(const char *root, const char *id, const char *wish);

/* Ids of all jobs, elements of arrays among them, in the order of their submission; base: only of this array, NULL all.
 * ret_ids: free() it. */
int atoll_local_ids(const char *root, const char *base, char (**ret_ids)[ATOLL_JOB_ID_BYTES],
                    size_t *ret_count, struct atoll_err *err);
/* Removes what has ended before. */
void atoll_local_forget(const char *root, int64_t before_unix_s);

#endif
