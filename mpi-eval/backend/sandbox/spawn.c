/* The child of vfork shares the parent's memory until exec, and the calling thread sleeps meanwhile: the
 * child writes what went wrong into a structure on the parent's stack, and touches nothing else.  All signals
 * are blocked around vfork so that no handler of the parent runs in the child. */
#include "mpi-eval/backend/sandbox/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define HIGH_FD      64    /* descriptors are moved above this before they get their numbers */
#define FALLBACK_FDS 65536 /* closed one by one where the kernel has no close_range */

/* Volatile as a whole: a compiler that does not see the child's writes come back would drop them. */
struct failure {
    int error;
    const char *step;
};

static int move_descriptors(const struct atoll_spawn *spawn)
{
    int high[ATOLL_SPAWN_FD_LIMIT];
    for (size_t i = 0; i < spawn->fd_count; i++) {
        int fd = spawn->fds[i] >= 0 ? spawn->fds[i] : open("/dev/null", O_RDWR);
        high[i] = fcntl(fd, F_DUPFD, HIGH_FD);
        if (high[i] < 0)
            return errno;
    }
    for (size_t i = 0; i < spawn->fd_count; i++)
        if (dup2(high[i], (int)i) < 0)
            return errno;
    return 0;
}

static void reset_signals(void)
{
    for (int number = 1; number < NSIG; number++) {
        struct sigaction now;
        if (sigaction(number, NULL, &now) == 0 && now.sa_handler != SIG_DFL) {
            struct sigaction fallback = {.sa_handler = SIG_DFL};
            sigaction(number, &fallback, NULL);
        }
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The ruleset's descriptor must survive until Landlock is applied, so descriptors come after it, and the
 * filter last. */
static int enter_sandbox(const struct atoll_spawn *spawn, volatile struct failure *failure)
{
    int error = 0;
    int ruleset = spawn->ruleset < 0 ? -1 : fcntl(spawn->ruleset, F_DUPFD, HIGH_FD);
    failure->step = "drop privileges";
    if (spawn->drop_privileges)
        error = atoll_privileges_drop();
    if (!error && spawn->folder) {
        failure->step = "enter its folder";
        error = chdir(spawn->folder) == 0 ? 0 : errno;
    }
    if (!error) {
        failure->step = "set its descriptors";
        error = move_descriptors(spawn);
    }
    if (!error) {
        failure->step = "apply Landlock";
        error = atoll_landlock_apply(ruleset);
    }
    if (!error) {
        if (syscall(SYS_close_range, (unsigned)spawn->fd_count, ~0u, 0) != 0)
            for (unsigned fd = (unsigned)spawn->fd_count; fd < FALLBACK_FDS; fd++)
                close((int)fd);
        failure->step = "apply resource limits";
        error = atoll_limits_apply(spawn->limits, spawn->limit_count);
    }
    if (!error && spawn->filter) {
        failure->step = "apply its seccomp filter";
        error = atoll_filter_apply(spawn->filter, 0);
    }
    return error;
}

static __attribute__((noreturn)) void child(const struct atoll_spawn *spawn, pid_t parent,
                                            volatile struct failure *failure)
{
    failure->step = "lead its process group";
    int error = setpgid(0, 0) == 0 ? 0 : errno;
    if (!error) {
        failure->step = "be tied to its parent";
        error = prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ? errno : getppid() == parent ? 0 : ESRCH;
    }
    if (!error && spawn->niceness > 0) {
        failure->step = "give way to others";
        errno = 0;
        error = nice(spawn->niceness) == -1 ? errno : 0;
    }
    if (!error)
        error = enter_sandbox(spawn, failure);
    if (!error) {
        reset_signals();
        failure->step = "execute";
        execve(spawn->path, spawn->argv, spawn->environment);
        error = errno;
    }
    failure->error = error;
    _exit(127);
}

pid_t atoll_spawn_start(const struct atoll_spawn *spawn, struct atoll_err *err)
{
    volatile struct failure failure = {0, ""};
    sigset_t all, before;
    pid_t parent = getpid();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = vfork();
    if (pid == 0)
        child(spawn, parent, &failure);
    int fork_error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid < 0)
        return atoll_err_errno(err, fork_error, "cannot fork for %s", spawn->path);
    if (!failure.error)
        return pid;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return atoll_err_errno(err, failure.error, "%s: the child could not %s", spawn->path, failure.step);
}

static void read_output(int fd, int timeout_ms, char *ret_text, size_t bytes)
{
    size_t used = 0;
    struct pollfd p = {fd, POLLIN, 0};
    while (used + 1 < bytes && poll(&p, 1, timeout_ms) == 1) {
        ssize_t got = read(fd, ret_text + used, bytes - 1 - used);
        if (got <= 0)
            break;
        used += (size_t)got;
    }
    ret_text[used] = '\0';
}

int atoll_spawn_output(char *const *argv, char *const *environment, int timeout_ms, char *ret_text,
                       size_t bytes, struct atoll_err *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return atoll_err_errno(err, errno, "cannot make a pipe to %s", argv[0]);
    struct atoll_spawn spawn = {.path = argv[0],
                                .argv = argv,
                                .environment = environment ? environment : environ,
                                .fds = {-1, ends[1], -1},
                                .fd_count = 3,
                                .ruleset = -1};
    pid_t pid = atoll_spawn_start(&spawn, err);
    close(ends[1]);
    if (pid > 0) {
        read_output(ends[0], timeout_ms, ret_text, bytes);
        kill(-pid, SIGKILL); /* what has answered is of no more use */
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    close(ends[0]);
    return pid > 0 ? 0 : -1;
}
