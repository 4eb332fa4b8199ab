/* supervise.c - one loop: what is wished is looked for at every tick, when a signal comes at once.
 *
 *   waiting --cancel--> cancelled             running --cancel, time, requeue--> ending --> cancelled, timeout, waiting
 *   waiting --turn and slot--> running        running --script ends--> completed, failed
 *
 * The supervisor is the reaper of all that the script leaves behind (a subreaper), and ends it with the script, as a batch
 * system does. */
#include "scheduler/launcher/local/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "scheduler/launcher/local/job_folder.h"
#include "scheduler/launcher/local/orphans.h"
#include "scheduler/launcher/local/slot.h"

#define TICK_NS      200000000 /* 0.2 s */
#define KILL_WAIT_S  10.0      /* between TERM and KILL */
#define DESCRIPTORS  1024      /* closed in the supervisor */
#define CANNOT_START 126

enum ending { NOT_ENDING, CANCELLING, TIMING_OUT, REQUEUEING };

struct supervisor {
    const char *root;
    struct atoll_local_job job;
    struct atoll_local_state state;
    sigset_t signals;
    int slot, array_slot; /* -1: none */
    enum ending ending;
    int was_warned;
    double begin_s, end_s; /* of running, of asking it to end; monotonic */
};

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void tick(const struct supervisor *s)
{
    const struct timespec pause = {.tv_nsec = TICK_NS};

    sigtimedwait(&s->signals, NULL, &pause);
}

static void save(struct supervisor *s)
{
    atoll_local_state_write(s->root, s->job.id, &s->state,
                            NULL); /* a full disk: the next change tries again */
}

static void become(struct supervisor *s, enum atoll_job_state state, const char *reason)
{
    if (s->state.state != state || strcmp(s->state.reason, reason) != 0) {
        s->state.state = state;
        snprintf(s->state.reason, sizeof(s->state.reason), "%s", reason);
        save(s);
    }
}

static void finish(struct supervisor *s, enum atoll_job_state state, int exit_status, const char *reason)
{
    s->state.exit_status = exit_status;
    s->state.end_unix_s = (int64_t)time(NULL);
    become(s, state, reason);
}

/* --- waiting -------------------------------------------------------------------------------------------------------------- */

/* How one job that is waited for stands: 1 met, 0 not yet, -1 never.  One that nobody knows ended long ago. */
static int is_one_met(const struct supervisor *s, const char *id)
{
    int wants_ok = strncmp(s->job.dependency, "afterok:", 8) == 0;
    int wants_failure = strncmp(s->job.dependency, "afternotok:", 11) == 0;
    struct atoll_local_state other;

    if (atoll_local_state_judge(s->root, id, &other, NULL) != 0) {
        return 1;
    }
    if (!atoll_job_has_ended(other.state)) {
        return 0;
    }
    if ((wants_ok && other.state != ATOLL_JOB_COMPLETED) ||
        (wants_failure && other.state == ATOLL_JOB_COMPLETED)) {
        return -1;
    }
    return 1;
}

/* The same for an id that may be a whole array's. */
static int is_each_met(const struct supervisor *s, const char *id)
{
    char(*ids)[ATOLL_JOB_ID_BYTES] = NULL;
    size_t count = 0;
    int worst = is_one_met(s, id);

    if (atoll_local_ids(s->root, id, &ids, &count, NULL) != 0) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        int met = is_one_met(s, ids[i]);

        worst = met < worst ? met : worst;
    }
    free(ids);
    return worst;
}

/* "afterany:12:13", "afterok:12" */
static int is_met(const struct supervisor *s)
{
    int worst = 1;

    for (const char *at = strchr(s->job.dependency, ':'); at; at = strchr(at + 1, ':')) {
        char id[ATOLL_JOB_ID_BYTES];
        int met;

        snprintf(id, sizeof(id), "%.*s", (int)strcspn(at + 1, ":"), at + 1);
        met = is_each_met(s, id);
        worst = met < worst ? met : worst;
    }
    return worst;
}

/* Why it still has to wait, NULL when it need not. */
static const char *wait_reason(struct supervisor *s)
{
    int64_t begin_unix_s = 0;
    char folder[PATH_MAX];

    if (atoll_local_wish_read(s->root, s->job.id, "begin", &begin_unix_s) &&
        begin_unix_s > (int64_t)time(NULL)) {
        return "BeginTime";
    }
    if (is_met(s) == 0) {
        return "Dependency";
    }
    if (s->job.at_once && s->array_slot < 0) {
        snprintf(folder, sizeof(folder), "%.*s/%.*s/slots", PATH_MAX - 128, s->root,
                 (int)strcspn(s->job.id, "_"), s->job.id);
        s->array_slot = atoll_slot_take(folder, s->job.at_once);
        if (s->array_slot < 0) {
            return "JobArrayTaskLimit";
        }
    }
    if (!atoll_turn_is_mine(s->root, s->job.id)) {
        return "Priority";
    }
    snprintf(folder, sizeof(folder), "%.*s/slots", PATH_MAX - 16, s->root);
    s->slot = atoll_slot_take(folder, atoll_slot_count());
    return s->slot < 0 ? "Resources" : NULL;
}

static void give_back(struct supervisor *s)
{
    atoll_turn_leave(s->root, s->job.id);
    if (s->slot >= 0) {
        close(s->slot);
    }
    if (s->array_slot >= 0) {
        close(s->array_slot);
    }
    s->slot = s->array_slot = -1;
}

/* Whoever removes the folder of a waiting job does not want it any more. */
static int is_removed(const struct supervisor *s)
{
    char path[PATH_MAX];

    return atoll_local_path(s->root, s->job.id, "job.json", path, NULL) == 0 && access(path, F_OK) != 0;
}

/* 0 with a slot, -1 when the job ended before it began. */
static int wait_for_turn(struct supervisor *s)
{
    enum atoll_job_state waiting = s->state.restart_count ? ATOLL_JOB_REQUEUED : ATOLL_JOB_PENDING;

    for (;; tick(s)) {
        const char *reason;

        if (is_removed(s)) {
            return -1;
        }
        if (atoll_local_wish_take(s->root, s->job.id, "cancel")) {
            finish(s, ATOLL_JOB_CANCELLED, 0, "");
            return -1;
        }
        if (is_met(s) < 0) {
            finish(s, ATOLL_JOB_CANCELLED, 0, "DependencyNeverSatisfied");
            return -1;
        }
        if (atoll_local_wish_read(s->root, s->job.id, "hold", NULL)) {
            atoll_turn_leave(s->root, s->job.id);
            become(s, ATOLL_JOB_HELD, "JobHeldUser");
            continue;
        }
        reason = wait_reason(s);
        if (!reason) {
            return 0;
        }
        become(s, waiting, reason);
    }
}

/* --- running -------------------------------------------------------------------------------------------------------------- */

static void set_number(const char *name, unsigned long value)
{
    char text[32];

    snprintf(text, sizeof(text), "%lu", value);
    setenv(name, text, 1);
}

/* The log gets what cannot be said anywhere else. */
__attribute__((noreturn)) static void run_script(const struct supervisor *s, const char *script)
{
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int log = open(s->job.log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    sigset_t none;

    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != s->state.supervisor.pid) {
        _exit(CANNOT_START);
    }
    signal(SIGHUP, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (in < 0 || log < 0) {
        _exit(CANNOT_START);
    }
    dup2(in, STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    if (chdir(s->job.work_dir) != 0) {
        dprintf(STDERR_FILENO, "atoll: cannot enter %s: %s\n", s->job.work_dir, strerror(errno));
        _exit(CANNOT_START);
    }
    setenv("ATOLL_JOB_ID", s->job.id, 1);
    set_number("ATOLL_RESTART_COUNT", s->state.restart_count);
    if (s->job.array_index >= 0) {
        set_number("ATOLL_ARRAY_TASK_ID", (unsigned long)s->job.array_index);
    }
    execlp("bash", "bash", script, (char *)NULL);
    dprintf(STDERR_FILENO, "atoll: cannot start bash: %s\n", strerror(errno));
    _exit(CANNOT_START);
}

static pid_t start_shell(struct supervisor *s)
{
    char script[PATH_MAX];
    pid_t pid = atoll_local_path(s->root, s->job.id, "script", script, NULL) == 0 ? fork() : -1;

    if (pid == 0) {
        run_script(s, script);
    }
    if (pid > 0) {
        s->state.shell = atoll_process_id_of(pid);
        s->state.start_unix_s = (int64_t)time(NULL);
        s->state.end_unix_s =
            s->job.time_limit_s > 0 ? s->state.start_unix_s + (int64_t)s->job.time_limit_s : 0;
        s->begin_s = now_s();
        become(s, ATOLL_JOB_RUNNING, "");
    }
    return pid;
}

static void begin_end(struct supervisor *s, pid_t shell, enum ending why)
{
    s->ending = why;
    s->end_s = now_s();
    become(s, ATOLL_JOB_COMPLETING, "");
    kill(-shell, SIGCONT);
    kill(-shell, SIGTERM);
}

static void look_for_reasons_to_end(struct supervisor *s, pid_t shell)
{
    double ran_s = now_s() - s->begin_s, limit_s = s->job.time_limit_s;

    if (s->job.signal_number && limit_s > 0 && !s->was_warned && ran_s >= limit_s - s->job.signal_before_s) {
        s->was_warned = 1;
        kill(shell, s->job.signal_number); /* the batch shell alone */
    }
    if (atoll_local_wish_take(s->root, s->job.id, "cancel")) {
        begin_end(s, shell, CANCELLING);
    } else if (atoll_local_wish_take(s->root, s->job.id, "requeue")) {
        begin_end(s, shell, REQUEUEING);
    } else if (limit_s > 0 && ran_s >= limit_s) {
        begin_end(s, shell, TIMING_OUT);
    }
}

/* Waits for the script's end; its status as wait() gave it.  What else ends are orphans of the script. */
static int watch(struct supervisor *s, pid_t shell)
{
    for (;; tick(s)) {
        int status;
        pid_t got;

        while ((got = waitpid(-1, &status, WNOHANG)) > 0) {
            if (got == shell) {
                return status;
            }
        }
        if (!s->ending) {
            look_for_reasons_to_end(s, shell);
        } else if (now_s() - s->end_s > KILL_WAIT_S) {
            kill(-shell, SIGKILL);
        }
    }
}

/* 0 when the job has ended, 1 when it is to run again. */
static int conclude(struct supervisor *s, int status)
{
    int exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);

    memset(&s->state.shell, 0, sizeof(s->state.shell));
    s->state.exit_status = exit_status;
    switch (s->ending) {
    case REQUEUEING:
        s->state.restart_count++;
        s->state.start_unix_s = s->state.end_unix_s = 0;
        become(s, ATOLL_JOB_REQUEUED, "");
        return 1;
    case CANCELLING: finish(s, ATOLL_JOB_CANCELLED, exit_status, ""); return 0;
    case TIMING_OUT: finish(s, ATOLL_JOB_TIMEOUT, exit_status, "TimeLimit"); return 0;
    case NOT_ENDING: break;
    }
    if (exit_status == 0) {
        finish(s, ATOLL_JOB_COMPLETED, 0, "");
    } else {
        finish(s, ATOLL_JOB_FAILED, exit_status,
               exit_status == CANNOT_START ? "its folder or its log cannot be used" : "NonZeroExitCode");
    }
    return 0;
}

static int run_once(struct supervisor *s)
{
    pid_t shell;
    int status;

    s->ending = NOT_ENDING;
    s->was_warned = 0;
    if (wait_for_turn(s) != 0) {
        give_back(s);
        return 0;
    }
    atoll_turn_leave(s->root, s->job.id);
    shell = start_shell(s);
    if (shell < 0) {
        finish(s, ATOLL_JOB_FAILED, CANNOT_START, "no process for its script");
        give_back(s);
        return 0;
    }
    status = watch(s, shell);
    atoll_orphans_clear(s->root);
    status = conclude(s, status);
    give_back(s);
    return status;
}

/* --- starting ------------------------------------------------------------------------------------------------------------- */

static void detach(struct supervisor *s)
{
    int null_fd = open("/dev/null", O_RDWR);

    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        if (fd != null_fd) {
            close(fd);
        }
    }
    for (int fd = 0; fd < 3; fd++) {
        dup2(null_fd, fd);
    }
    if (null_fd > 2) {
        close(null_fd);
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "atoll-job");
    for (int number = 1; number < NSIG; number++) {
        signal(number, SIG_DFL);
    }
    signal(SIGHUP, SIG_IGN);
    sigemptyset(&s->signals);
    sigaddset(&s->signals, SIGCHLD);
    sigaddset(&s->signals, SIGUSR1); /* somebody wishes something */
    sigprocmask(SIG_SETMASK, &s->signals, NULL);
}

/* ready_fd: closed with a byte written once the record names this process. */
__attribute__((noreturn)) static void supervise(struct supervisor *s, int ready_fd)
{
    int is_there;

    setsid();
    s->state.supervisor = atoll_process_id_self();
    is_there = atoll_local_state_write(s->root, s->job.id, &s->state, NULL) == 0;
    if (write(ready_fd, is_there ? "+" : "-", 1) != 1 || !is_there) {
        _exit(1);
    }
    detach(s);
    while (run_once(s)) {
    }
    _exit(0);
}

static int await_ready(int fd, const char *id, struct atoll_err *err)
{
    char byte = 0;
    ssize_t n;

    do {
        n = read(fd, &byte, 1);
    } while (n < 0 && errno == EINTR);
    return n == 1 && byte == '+'
               ? 0
               : atoll_err_set(err, ATOLL_E_CHILD, "job %s: its supervisor did not start; is the disk full?",
                               id);
}

int atoll_local_supervise(const char *root, const char *id, unsigned restart_count, struct atoll_err *err)
{
    struct supervisor s = {.root = root, .slot = -1, .array_slot = -1};
    int ends[2], status;
    pid_t child;

    if (atoll_local_job_read(root, id, &s.job, err) != 0) {
        return -1;
    }
    s.state.restart_count = restart_count;
    s.state.state = restart_count ? ATOLL_JOB_REQUEUED : ATOLL_JOB_PENDING;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return atoll_err_errno(err, errno, "no pipe for the supervisor of job %s", id);
    }
    fflush(NULL);
    child = fork();
    if (child == 0) { /* twice, so that nobody has to wait for the supervisor */
        pid_t own = fork();

        if (own == 0) {
            supervise(&s, ends[1]);
        }
        _exit(own < 0);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return atoll_err_errno(err, errno, "no process for the supervisor of job %s", id);
    }
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
    status = await_ready(ends[0], id, err);
    close(ends[0]);
    return status;
}
