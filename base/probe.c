/* probe.c - the answer comes as JSON through a pipe.  A child that the kernel will not let die is left behind: the asker
 * goes on. */
#include "base/probe.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"

#define READ_BYTES    4096
#define REAP_TRIES    200
#define REAP_PAUSE_NS 10000000 /* 10 ms */

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int write_all(int fd, const char *bytes, size_t length)
{
    while (length) {
        ssize_t n = write(fd, bytes, length);

        if (n < 0 && errno != EINTR) {
            return -1;
        }
        bytes += n > 0 ? n : 0;
        length -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

__attribute__((noreturn)) static void answer(atoll_probe_function *function, void *context, int fd,
                                             pid_t parent)
{
    json_t *object;
    char *text;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(2);
    }
    object = function(context);
    text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    _exit(text && write_all(fd, text, strlen(text)) == 0 ? 0 : 1);
}

/* Reads to the end: 0, or the code of what went wrong. */
static int collect(int fd, double until_s, struct atoll_buffer *out)
{
    char bytes[READ_BYTES];

    for (;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        double left_s = until_s - now_s();
        ssize_t n;

        if (left_s <= 0) {
            return ATOLL_E_TIMEOUT;
        }
        if (poll(&ready, 1, (int)(left_s * 1000) + 1) <= 0) {
            continue;
        }
        n = read(fd, bytes, sizeof(bytes));
        if (n == 0) {
            return 0;
        }
        if (n < 0 && errno != EINTR) {
            return ATOLL_E_IO;
        }
        atoll_buffer_put_bytes(out, bytes, n > 0 ? (size_t)n : 0);
        if (out->failed) {
            return out->failed;
        }
    }
}

/* Kills the whole group, so that what the child started goes too.  The child's status, or -1 when it would not die. */
static int reap(pid_t child, int was_whole)
{
    int status;

    if (!was_whole) {
        kill(-child, SIGKILL);
        kill(child, SIGKILL);
    }
    for (int i = 0; i < REAP_TRIES; i++) {
        const struct timespec pause = {.tv_nsec = REAP_PAUSE_NS};
        pid_t got = waitpid(child, &status, WNOHANG);

        if (got == child) {
            kill(-child, SIGKILL);
            return status;
        }
        nanosleep(&pause, NULL);
    }
    kill(-child, SIGKILL);
    return -1;
}

static int judge(int code, int status, const char *what, double deadline_s, struct atoll_err *err)
{
    if (code == ATOLL_E_TIMEOUT) {
        return atoll_err_set(err, ATOLL_E_TIMEOUT, "%s did not answer within %g s", what, deadline_s);
    }
    if (code == ATOLL_E_LIMIT) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "%s answered more than %zu bytes", what,
                             ATOLL_PROBE_BYTES_LIMIT);
    }
    if (status >= 0 && WIFSIGNALED(status)) {
        return atoll_err_set(err, ATOLL_E_CHILD, "%s crashed the process that asked it (%s)", what,
                             strsignal(WTERMSIG(status)));
    }
    if (code || status != 0) {
        return atoll_err_set(err, ATOLL_E_CHILD, "%s gave no answer", what);
    }
    return 0;
}

json_t *atoll_probe(atoll_probe_function *function, void *context, const char *what, double deadline_s,
                    struct atoll_err *err)
{
    struct atoll_buffer text;
    json_t *object = NULL;
    int ends[2], code, status;
    pid_t child, parent = getpid();

    if (pipe(ends) != 0) {
        atoll_err_errno(err, errno, "no pipe to ask %s", what);
        return NULL;
    }
    fflush(NULL);
    child = fork();
    if (child < 0) {
        atoll_err_errno(err, errno, "no process to ask %s", what);
        close(ends[0]);
        close(ends[1]);
        return NULL;
    }
    if (child == 0) {
        close(ends[0]);
        answer(function, context, ends[1], parent);
    }
    setpgid(child, child); /* both do, so that it holds for whoever comes first */
    close(ends[1]);
    atoll_buffer_init(&text, ATOLL_PROBE_BYTES_LIMIT);
    code = collect(ends[0], now_s() + deadline_s, &text);
    close(ends[0]);
    status = reap(child, code == 0);
    if (judge(code, status, what, deadline_s, err) == 0) {
        object = json_loadb((const char *)text.data, text.length, 0, NULL);
        if (!object) {
            atoll_err_set(err, ATOLL_E_CHILD, "%s gave no answer", what);
        }
    }
    atoll_buffer_fini(&text);
    return object;
}
