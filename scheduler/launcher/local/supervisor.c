/* supervisor.c - runs the waiting job that was submitted first, until none waits.
 *
 *   pending, requeued --turn--> running --script ends--> completed, failed
 *   pending --cancel (whoever asks sees it)--> cancelled
 *   running --cancel, time, requeue--> completing --> cancelled, timeout, requeued
 *
 * It may be killed at any instant.  Its script dies with it, and whoever asks for this machine's jobs next starts another one: that
 * one ends what is left of the lost job, which it knows by a variable in the environment, and runs the job again. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/process.h"
#include "scheduler/launcher/local/local_jobs.h"

#define TICK_NS      100000000L
#define KILL_WAIT_S  10.0 /* between TERM and KILL */
#define KILL_ROUNDS  50   /* a process that is killed may just have started another one */
#define CANNOT_START 126
#define FOLDER       "ATOLL_JOB_FOLDER"

enum ending { NOT_ENDING, CANCELLING, TIMING_OUT, REQUEUEING };

static void pause_briefly(void)
{
    const struct timespec pause = {.tv_nsec = TICK_NS};

    nanosleep(&pause, NULL);
}

static int wish_take(const char *root, unsigned long number, const char *wish)
{
    char path[PATH_MAX];

    atoll_local_path(root, number, wish, path);
    return unlink(path) == 0;
}

/* A record that cannot be written now (a full disk) is written at the next change. */
static void become(const char *root, struct atoll_local_job *job, enum atoll_job_state state,
                   const char *reason)
{
    job->state = state;
    snprintf(job->reason, sizeof(job->reason), "%s", reason);
    if (atoll_job_has_ended(state))
        job->end_unix_s = (int64_t)time(NULL);
    atoll_local_job_write(root, job, NULL);
}

/* ---- what a script leaves behind ---- */

static int belongs_to(const char *pid, const char *mark)
{
    char path[64], *variable = NULL;
    size_t bytes = 0;
    int found = 0;
    FILE *environment;

    snprintf(path, sizeof(path), "/proc/%.20s/environ", pid);
    environment = fopen(path, "re");
    while (environment && !found && getdelim(&variable, &bytes, '\0', environment) > 0)
        found = strcmp(variable, mark) == 0;
    free(variable);
    if (environment)
        fclose(environment);
    return found;
}

/* Ends every process of the job, of whatever group and session, but for this one, which the job may have started. */
static void processes_end(const char *root, unsigned long number)
{
    char folder[PATH_MAX], mark[PATH_MAX + sizeof(FOLDER) + 1];
    int count = 1;

    atoll_local_path(root, number, "", folder);
    snprintf(mark, sizeof(mark), FOLDER "=%s", folder);
    for (int round = 0; round < KILL_ROUNDS && count > 0; round++) {
        DIR *dir = opendir("/proc");

        count = 0;
        for (struct dirent *entry; dir && (entry = readdir(dir));) {
            pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

            if (pid > 0 && pid != getpid() && belongs_to(entry->d_name, mark))
                count += kill(pid, SIGKILL) == 0;
        }
        if (dir)
            closedir(dir);
        if (count > 0)
            pause_briefly();
    }
}

/* ---- one job ---- */

/* The variables of whoever submitted the job, those of the job among them. */
static void environment_set(const char *root, const struct atoll_local_job *job)
{
    char path[PATH_MAX], text[32], *variable = NULL;
    size_t bytes = 0;
    FILE *file;

    atoll_local_path(root, job->number, "environment", path);
    file = atoll_file_stream(path, NULL);
    clearenv();
    while (file && getdelim(&variable, &bytes, '\0', file) > 0) {
        char *value = strchr(variable, '=');

        if (!value)
            continue;
        *value = '\0';
        setenv(variable, value + 1, 1);
    }
    free(variable);
    if (file)
        fclose(file);
    atoll_local_path(root, job->number, "", path);
    setenv(FOLDER, path, 1);
    snprintf(text, sizeof(text), "%lu", job->number);
    setenv("ATOLL_JOB_ID", text, 1);
    snprintf(text, sizeof(text), "%u", job->restart_count);
    setenv("ATOLL_RESTART_COUNT", text, 1);
    if (job->end_unix_s > 0) {
        snprintf(text, sizeof(text), "%lld", (long long)job->end_unix_s);
        setenv("ATOLL_JOB_END_TIME", text, 1);
    } else {
        unsetenv("ATOLL_JOB_END_TIME");
    }
}

/* The log gets what cannot be said anywhere else. */
__attribute__((noreturn)) static void script_exec(const char *root, const struct atoll_local_job *job,
                                                  pid_t supervisor)
{
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int log = atoll_file_open_to_write(job->log_path, O_WRONLY | O_CREAT | O_APPEND, 0644, NULL);
    char script[PATH_MAX];

    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor || in < 0 || log < 0)
        _exit(CANNOT_START);
    signal(SIGHUP, SIG_DFL);
    dup2(in, STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    if (chdir(job->work_dir) != 0) {
        dprintf(STDERR_FILENO, "atoll: cannot enter %s: %s\n", job->work_dir, strerror(errno));
        _exit(CANNOT_START);
    }
    environment_set(root, job);
    atoll_local_path(root, job->number, "script", script);
    execlp("bash", "bash", script, (char *)NULL);
    dprintf(STDERR_FILENO, "atoll: cannot start bash: %s\n", strerror(errno));
    _exit(CANNOT_START);
}

static enum ending ending_find(const char *root, const struct atoll_local_job *job, double ran_s)
{
    if (wish_take(root, job->number, "cancel"))
        return CANCELLING;
    if (wish_take(root, job->number, "requeue"))
        return REQUEUEING;
    return job->time_limit_s > 0 && ran_s >= job->time_limit_s ? TIMING_OUT : NOT_ENDING;
}

/* Waits for the script's end: its exit status, 128 + signal. */
static int script_watch(const char *root, struct atoll_local_job *job, pid_t script, enum ending *ret_ending)
{
    double begin_ns = atoll_clock_mono_ns(), end_ns = 0;
    int was_warned = job->signal_number == 0 || !(job->time_limit_s > 0), status;

    *ret_ending = NOT_ENDING;
    for (pid_t got; (got = waitpid(script, &status, WNOHANG)) != script; pause_briefly()) {
        double now_ns = atoll_clock_mono_ns(), ran_s = (now_ns - begin_ns) / 1e9;

        if (got < 0 && errno != EINTR)
            return CANNOT_START;
        if (!was_warned && ran_s >= job->time_limit_s - job->signal_before_s) {
            was_warned = 1;
            kill(script, job->signal_number); /* the batch shell alone */
        }
        if (*ret_ending == NOT_ENDING) {
            *ret_ending = ending_find(root, job, ran_s);
            if (*ret_ending != NOT_ENDING) {
                end_ns = now_ns;
                become(root, job, ATOLL_JOB_COMPLETING, "");
                kill(-script, SIGCONT);
                kill(-script, SIGTERM);
            }
        } else if ((now_ns - end_ns) / 1e9 > KILL_WAIT_S) {
            kill(-script, SIGKILL);
        }
    }
    if (*ret_ending == NOT_ENDING) /* a script that asked for its own requeue may have ended at once */
        *ret_ending = ending_find(root, job, 0);
    return atoll_process_exit_status(status);
}

static void again(const char *root, struct atoll_local_job *job, const char *reason)
{
    job->restart_count++;
    job->start_unix_s = job->end_unix_s = 0;
    become(root, job, ATOLL_JOB_REQUEUED, reason);
}

static void job_run(const char *root, struct atoll_local_job *job)
{
    pid_t supervisor = getpid(), script;
    enum ending ending;

    job->start_unix_s = (int64_t)time(NULL);
    job->end_unix_s = job->time_limit_s > 0 ? job->start_unix_s + (int64_t)job->time_limit_s : 0;
    become(root, job, ATOLL_JOB_RUNNING, "");
    script = fork();
    if (script == 0)
        script_exec(root, job, supervisor);
    if (script < 0) {
        job->exit_status = CANNOT_START;
        become(root, job, ATOLL_JOB_FAILED, "no process for its script");
        return;
    }
    job->exit_status = script_watch(root, job, script, &ending);
    processes_end(root, job->number);
    if (ending == REQUEUEING) {
        again(root, job, "");
    } else if (ending == CANCELLING) {
        become(root, job, ATOLL_JOB_CANCELLED, "");
    } else if (ending == TIMING_OUT) {
        become(root, job, ATOLL_JOB_TIMEOUT, "TimeLimit");
    } else if (job->exit_status == 0) {
        become(root, job, ATOLL_JOB_COMPLETED, "");
    } else {
        become(root, job, ATOLL_JOB_FAILED,
               job->exit_status == CANNOT_START ? "its folder or its log cannot be used" : "NonZeroExitCode");
    }
}

/* ---- all jobs ---- */

/* The first job that has something to be done: *ret_job, 1; 0: none has. */
static int job_find(const char *root, struct atoll_local_job *ret_job)
{
    unsigned long *numbers = NULL;
    size_t count = 0;
    int found = 0;

    if (atoll_local_numbers(root, &numbers, &count, NULL) != 0)
        return 0;
    for (size_t i = 0; i < count && !found; i++) {
        found = atoll_local_job_read(root, numbers[i], ret_job, NULL) == 0 &&
                ret_job->state != ATOLL_JOB_UNKNOWN && !atoll_job_has_ended(ret_job->state);
    }
    free(numbers);
    return found;
}

static void jobs_run(const char *root)
{
    struct atoll_local_job job;

    while (job_find(root, &job)) {
        if (job.state == ATOLL_JOB_PENDING || job.state == ATOLL_JOB_REQUEUED) {
            job_run(root, &job);
        } else { /* its supervisor is lost */
            processes_end(root, job.number);
            wish_take(root, job.number, "requeue");
            again(root, &job, "its supervisor was killed, or the machine was restarted");
        }
    }
}

/* Becomes a process of its own that holds nothing of whoever started it. */
static void detach(void)
{
    int null_fd = open("/dev/null", O_RDWR);

    setsid();
    for (int fd = 0; fd < 3; fd++)
        dup2(null_fd, fd);
    close_range(3, ~0u, 0);
    if (chdir("/") != 0)
        _exit(1);
    prctl(PR_SET_NAME, "atoll-jobs");
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    signal(SIGHUP, SIG_IGN);
}

/* Of several that are started at once one has the lock, and runs the jobs of all.  A job that came while it gave the lock back is
 * looked for once more; then whoever brought it has the lock, or this one. */
__attribute__((noreturn)) static void supervise(const char *root, const char *lock_path)
{
    struct atoll_local_job job;
    int lock_fd;

    detach();
    while (job_find(root, &job) && atoll_lock_take(lock_path, &lock_fd, NULL) == 0) {
        jobs_run(root);
        atoll_lock_release(lock_fd);
    }
    _exit(0);
}

int atoll_local_supervise(const char *root, struct atoll_err *err)
{
    struct atoll_err own = ATOLL_ERR_INIT;
    struct atoll_local_job job;
    char lock_path[PATH_MAX];
    int lock_fd, status = 0;
    pid_t child;

    if (!job_find(root, &job))
        return 0;
    snprintf(lock_path, sizeof(lock_path), "%.*s/supervisor", PATH_MAX - 16, root);
    if (atoll_lock_take(lock_path, &lock_fd, &own) != 0) {
        if (own.code != ATOLL_E_BUSY && err)
            *err = own;
        return own.code == ATOLL_E_BUSY ? 0 : -1;
    }
    atoll_lock_release(lock_fd);
    fflush(NULL);
    child = fork();
    if (child == 0) { /* twice, so that nobody has to wait for the supervisor */
        pid_t supervisor = fork();

        if (supervisor == 0)
            supervise(root, lock_path);
        _exit(supervisor < 0);
    }
    if (child < 0)
        return atoll_err_errno(err, errno, "no process for the supervisor of this machine's jobs");
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status == 0
               ? 0
               : atoll_err_set(err, ATOLL_E_CHILD, "the supervisor of this machine's jobs did not start");
}
