/* spawn.h - starts a sandboxed program: fork, sandbox, exec, with nothing but bare system calls in between.
 * Layer: mpi-eval, backend/sandbox.  Thread-safe; may be called from a process with threads (vfork: no page
 * tables are copied and a failure before exec comes back as an error).  The child leads a process group of
 * its own, has no other descriptors than those given, a clean signal state, and gets SIGKILL when the thread
 * that started it ends. */
#ifndef ATOLL_MPI_EVAL_BACKEND_SANDBOX_SPAWN_H
#define ATOLL_MPI_EVAL_BACKEND_SANDBOX_SPAWN_H

#include <sys/types.h>

#include "mpi-eval/backend/sandbox/sandbox.h"

#define ATOLL_SPAWN_FD_LIMIT 8

struct atoll_spawn {
    const char *path;
    char *const *argv, *const *environment;
    const char *folder;            /* working directory; NULL = this process's */
    int fds[ATOLL_SPAWN_FD_LIMIT]; /* become 0, 1, 2 ...; -1 = /dev/null */
    size_t fd_count;
    const struct atoll_limit *limits;
    size_t limit_count;
    int ruleset;                       /* Landlock; -1 none */
    const struct atoll_filter *filter; /* NULL none */
    int drop_privileges;
    int niceness; /* added to this process's: 0 to 19 */
};

/* The child's pid, or -1 and err. */
pid_t atoll_spawn_start(const struct atoll_spawn *spawn, struct atoll_err *err);

/* What a program says on its standard output until it closes it, `bytes - 1` bytes are there or it is silent for
 * timeout_ms; then it is killed with its group and reaped.  argv[0] is the program's path; environment NULL: this
 * process's.  The exit status is not asked for: a program that prints nothing said nothing.  (base/process.h forks, which a
 * process with threads must not.)  0, or -1 and err when it did not start. */
int atoll_spawn_output(char *const *argv, char *const *environment, int timeout_ms, char *ret_text,
                       size_t bytes, struct atoll_err *err);

#endif
