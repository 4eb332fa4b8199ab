/* process.c - fork, two pipes, a deadline.  The end is when both pipes are closed, or shortly after the child's end when
 * something that it started keeps them open. */
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

#define READ_BYTES    16384
#define SLICE_MS      50
#define REAP_TRIES    200
#define REAP_PAUSE_NS 10000000 /* 10 ms */
#define NO_PROGRAM    127
#define HOPELESS      (-2)
#define MOVED_FD      16 /* descriptors are moved beyond 0..2 before those are replaced */

struct child {
    pid_t pid;
    int out_fd, words_fd; /* ours, -1 when closed */
    int status, has_ended;
    size_t words_length;
};

/* A file in memory: unlike a pipe it can take any length before anybody reads. */
static int input_of(const char *text)
{
    int fd = text ? memfd_create("input", MFD_CLOEXEC) : open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (fd >= 0 && text && (atoll_write_all(fd, text, strlen(text)) != 0 || lseek(fd, 0, SEEK_SET) != 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

__attribute__((noreturn)) static void run_child(const struct atoll_process *process, int input, int out,
                                                int words, pid_t parent)
{
    sigset_t none;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(NO_PROGRAM);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    dup2(input, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(words, STDERR_FILENO);
    if (process->argv) {
        if (process->environment)
            environ = (char **)(uintptr_t)process->environment;
        execvp(process->argv[0], (char *const *)(uintptr_t)process->argv);
        _exit(NO_PROGRAM);
    }
    /* What a library prints must not get between the lines of the answer. */
    int answer = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, MOVED_FD);

    dup2(STDERR_FILENO, STDOUT_FILENO);
    _exit(answer < 0 ? 1 : process->function(process->context, answer));
}

static void close_ours(struct child *child)
{
    if (child->out_fd >= 0)
        close(child->out_fd);
    if (child->words_fd >= 0)
        close(child->words_fd);
    child->out_fd = child->words_fd = -1;
}

static int start(const struct atoll_process *process, struct child *child, struct atoll_err *err)
{
    pid_t parent = getpid();
    int out[2] = {-1, -1}, words[2] = {-1, -1}, input = -1, failed;

    child->pid = -1;
    if (pipe2(out, O_CLOEXEC) == 0 && pipe2(words, O_CLOEXEC) == 0 &&
        (input = input_of(process->input)) >= 0) {
        fflush(NULL);
        child->pid = fork();
        if (child->pid == 0)
            run_child(process, input, out[1], words[1], parent);
    }
    failed = errno;
    for (int *fds[] = {&input, &out[1], &words[1], NULL}, **fd = fds; *fd; fd++)
        if (**fd >= 0)
            close(**fd);
    child->out_fd = out[0];
    child->words_fd = words[0];
    if (child->pid < 0) {
        close_ours(child);
        return atoll_err_errno(err, failed, "no process for %s", process->what);
    }
    setpgid(child->pid, child->pid); /* both do, so that it holds for whoever comes first */
    return 0;
}

static void note_end(struct child *child)
{
    if (!child->has_ended && waitpid(child->pid, &child->status, WNOHANG) == child->pid)
        child->has_ended = 1;
}

/* Kills what is left of the group.  A child that the kernel will not let die is left behind. */
static void end(struct child *child)
{
    const struct timespec pause = {.tv_nsec = REAP_PAUSE_NS};

    kill(-child->pid, SIGKILL);
    for (int i = 0; i < REAP_TRIES && !child->has_ended; i++) {
        note_end(child);
        if (!child->has_ended)
            nanosleep(&pause, NULL);
    }
    close_ours(child);
}

/* What one of the pipes has now: standard output is kept whole, the first words of standard error as a text. */
static void take(struct child *child, int *fd, struct atoll_process_result *result)
{
    char bytes[READ_BYTES];
    ssize_t n = read(*fd, bytes, sizeof(bytes));

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        close(*fd);
        *fd = -1;
    } else if (fd == &child->out_fd) {
        atoll_buffer_put_bytes(&result->out, bytes, (size_t)n);
    } else {
        for (ssize_t i = 0; i < n && child->words_length < sizeof(result->words) - 1; i++)
            result->words[child->words_length++] = bytes[i] ? bytes[i] : ' ';
        result->words[child->words_length] = '\0';
    }
}

/* 0, HOPELESS, or the code of what went wrong. */
static int collect(const struct atoll_process *process, double until_ns, struct child *child,
                   struct atoll_process_result *result)
{
    while (!child->has_ended || child->out_fd >= 0 || child->words_fd >= 0) {
        struct pollfd ready[2] = {{.fd = child->out_fd, .events = POLLIN},
                                  {.fd = child->words_fd, .events = POLLIN}};
        int was_over = child->has_ended;
        int is_silent = child->out_fd < 0 && child->words_fd < 0; /* it has closed both and is about to end */

        if (atoll_clock_mono_ns() >= until_ns)
            return ATOLL_E_TIMEOUT;
        int count = poll(ready, 2, was_over ? 0 : is_silent ? 1 : SLICE_MS);

        if (count > 0 && ready[0].revents)
            take(child, &child->out_fd, result);
        if (count > 0 && ready[1].revents)
            take(child, &child->words_fd, result);
        if (count <= 0 && was_over)
            return 0; /* all is read that it wrote; a grandchild holds the pipe */
        if (result->out.failed)
            return result->out.failed;
        if (process->hopeless && strstr(result->words, process->hopeless))
            return HOPELESS;
        note_end(child);
    }
    return 0;
}

static int judge(const struct atoll_process *process, int code, const struct child *child,
                 struct atoll_process_result *result, struct atoll_err *err)
{
    if (code == HOPELESS) {
        result->status = -1;
        return 0;
    }
    if (code == ATOLL_E_TIMEOUT) {
        return atoll_err_set(err, ATOLL_E_TIMEOUT, "%s did not answer within %g s%s%s", process->what,
                             process->deadline_s, *result->words ? "; it said: " : "", result->words);
    }
    if (code == ATOLL_E_LIMIT) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "%s answered more than %zu bytes", process->what,
                             result->out.limit_bytes);
    }
    if (code || !child->has_ended) {
        return atoll_err_set(err, code ? (enum atoll_code)code : ATOLL_E_CHILD, "%s gave no answer",
                             process->what);
    }
    result->status = atoll_process_exit_status(child->status);
    if (process->argv && result->status == NO_PROGRAM)
        return atoll_err_set(err, ATOLL_E_MISSING, "cannot start %s: is it in PATH?", process->argv[0]);
    return 0;
}

int atoll_process_run(const struct atoll_process *process, size_t out_limit_bytes,
                      struct atoll_process_result *ret_result, struct atoll_err *err)
{
    struct child child = {.out_fd = -1, .words_fd = -1};
    double until_ns = atoll_clock_mono_ns() + 1e9 * process->deadline_s;
    int code, status;

    if (start(process, &child, err) != 0)
        return -1;
    memset(ret_result, 0, sizeof(*ret_result));
    atoll_buffer_init(&ret_result->out, out_limit_bytes + 1);
    code = collect(process, until_ns, &child, ret_result);
    end(&child);
    status = judge(process, code, &child, ret_result, err);
    if (status == 0) {
        atoll_buffer_put_u8(&ret_result->out, 0); /* readers of text find its end */
        status = atoll_buffer_check(&ret_result->out, err);
    }
    if (status != 0) {
        atoll_process_result_fini(ret_result);
        return -1;
    }
    ret_result->out.length--;
    return 0;
}

void atoll_process_result_fini(struct atoll_process_result *result)
{
    atoll_buffer_fini(&result->out);
}

struct question {
    atoll_probe_function *function;
    void *context;
};

/* In the child: the answer as one text. */
static int answer(void *context, int out_fd)
{
    const struct question *question = context;
    json_t *object = question->function(question->context);
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;

    return text && atoll_write_all(out_fd, text, strlen(text)) == 0 ? 0 : 1;
}

json_t *atoll_probe(atoll_probe_function *function, void *context, const char *what, double deadline_s,
                    struct atoll_err *err)
{
    struct question question = {function, context};
    struct atoll_process process = {
        .what = what, .function = answer, .context = &question, .deadline_s = deadline_s};
    struct atoll_process_result result;
    json_t *object = NULL;

    if (atoll_process_run(&process, ATOLL_PROBE_BYTES_LIMIT, &result, err) != 0)
        return NULL;
    if (result.status > 128) {
        atoll_err_set(err, ATOLL_E_CHILD, "%s crashed the process that asked it (%s)", what,
                      strsignal(result.status - 128));
    } else {
        object =
            result.status == 0 ? json_loadb((const char *)result.out.data, result.out.length, 0, NULL) : NULL;
        if (!object)
            atoll_err_set(err, ATOLL_E_CHILD, "%s gave no answer", what);
    }
    atoll_process_result_fini(&result);
    return object;
}

static const struct {
    const char *name;
    int number;
} signal_names[] = {
    {"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"KILL", SIGKILL},   {"USR1", SIGUSR1},
    {"USR2", SIGUSR2}, {"ALRM", SIGALRM}, {"TERM", SIGTERM}, {"CONT", SIGCONT},   {"STOP", SIGSTOP},
    {"TSTP", SIGTSTP}, {"URG", SIGURG},   {"XCPU", SIGXCPU}, {"WINCH", SIGWINCH},
};

int atoll_signal_number(const char *name)
{
    const char *plain = name && strncmp(name, "SIG", 3) == 0 ? name + 3 : name;
    char *end;
    long number;

    for (size_t i = 0; plain && i < sizeof(signal_names) / sizeof(signal_names[0]); i++)
        if (strcmp(plain, signal_names[i].name) == 0)
            return signal_names[i].number;
    number = name && *name >= '0' && *name <= '9' ? strtol(name, &end, 10) : 0;
    return number >= 1 && number <= 64 && !*end ? (int)number : -1;
}

/* ---- programs that run on ---- */

int atoll_process_start(const char *const *argv, int out_fd, int err_fd, int death_signal, pid_t *ret_pid,
                        struct atoll_err *err)
{
    pid_t parent = getpid(), pid;
    int report[2], failed = 0;

    if (pipe2(report, O_CLOEXEC) != 0)
        return atoll_err_errno(err, errno, "no pipe for %s", argv[0]);
    fflush(NULL);
    pid = fork();
    if (pid == 0) { /* nothing but async-signal-safe calls */
        int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
        sigset_t none;

        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, death_signal);
        if (getppid() != parent)
            _exit(NO_PROGRAM);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        signal(SIGPIPE, SIG_DFL);
        dup2(in, STDIN_FILENO);
        if (out_fd >= 0)
            dup2(out_fd, STDOUT_FILENO);
        if (err_fd >= 0)
            dup2(err_fd, STDERR_FILENO);
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        failed = errno;
        _exit(write(report[1], &failed, sizeof(failed)) == sizeof(failed) ? NO_PROGRAM : NO_PROGRAM - 1);
    }
    close(report[1]);
    if (pid < 0) {
        failed = errno;
        close(report[0]);
        return atoll_err_errno(err, failed, "no process for %s", argv[0]);
    }
    while (read(report[0], &failed, sizeof(failed)) < 0 && errno == EINTR) {
    }
    close(report[0]);
    if (failed != 0) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
        return atoll_err_set(err, ATOLL_E_MISSING, "cannot start %s: %s", argv[0], strerror(failed));
    }
    *ret_pid = pid;
    return 0;
}

int atoll_process_exit_status(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
