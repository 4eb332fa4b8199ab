/* local_jobs.h - jobs of this machine, which one process runs one after the other: $XDG_STATE_HOME/atoll/jobs/<host>/<number>/ (~/.local/state without it).
 * Layer: scheduler.  A home folder is shared among hosts, processes are not: each host has its own.
 *
 *   job.json          what was submitted and how it goes: written when it is submitted, then by the supervisor alone
 *   script            what bash runs
 *   environment       the variables of whoever submitted it, each ended by a zero byte
 *   cancel, requeue   empty files: wishes of others, which the supervisor looks for while the job runs
 *   ../supervisor     a lock that the machine's supervisor holds */
#ifndef ATOLL_SCHEDULER_LAUNCHER_LOCAL_LOCAL_JOBS_H
#define ATOLL_SCHEDULER_LAUNCHER_LOCAL_LOCAL_JOBS_H

#include <limits.h>

#include "scheduler/launcher/launcher.h"

struct atoll_local_job {
    unsigned long number;
    char name[128];
    char work_dir[PATH_MAX], log_path[PATH_MAX];
    double time_limit_s;    /* 0 none */
    double signal_before_s; /* before the limit ... */
    int signal_number;      /* ... the script gets this one; 0 none */
    enum atoll_job_state state;
    char reason[160];
    unsigned restart_count;
    int exit_status;
    int64_t submit_unix_s, start_unix_s, end_unix_s;
};

/* The folder of all jobs, which is made.  Errors: MISSING (no home folder), DENIED, FULL, LIMIT (a path that is too long). */
int atoll_local_root(char ret_root[PATH_MAX], struct atoll_err *err);
/* "ROOT/<number>/<file>"; "ROOT/<number>" for "". */
void atoll_local_path(const char *root, unsigned long number, const char *file, char ret_path[PATH_MAX]);

/* Makes the job's folder, with a number that no job has had.  %j in job->log_path becomes it, %% a percent sign. */
int atoll_local_job_create(const char *root, struct atoll_local_job *job, const char *script,
                           struct atoll_err *err);
int atoll_local_job_write(const char *root, const struct atoll_local_job *job, struct atoll_err *err);
/* A job that shall be cancelled is cancelled when it waits, for nobody starts it, and completing when it runs.  Errors: NOTFOUND, and CORRUPT for a record that does not
 * read. */
int atoll_local_job_read(const char *root, unsigned long number, struct atoll_local_job *ret_job,
                         struct atoll_err *err);
/* Numbers of all jobs in the order of their submission.  ret_numbers: free() it. */
int atoll_local_numbers(const char *root, unsigned long **ret_numbers, size_t *ret_count,
                        struct atoll_err *err);
/* Removes jobs that ended before then; the newest stays, so that no number comes twice. */
void atoll_local_forget(const char *root, int64_t before_unix_s);

/* Where a job of root waits, or was lost with its supervisor, and no supervisor runs: starts one in the background.  Errors: those
 * of taking the lock and of starting a process. */
int atoll_local_supervise(const char *root, struct atoll_err *err);

#endif
