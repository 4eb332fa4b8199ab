/* process.h - a child process that is sent to do one thing before a deadline: a program, or a function of ours that calls
 * what may hang, exit or crash (a driver).  Layer: base.  The caller must be single-threaded.
 *
 * The child is a process group of its own and dies with its parent; at the deadline the whole group is killed. */
#ifndef ATOLL_BASE_PROCESS_H
#define ATOLL_BASE_PROCESS_H

#include <stddef.h>
#include <sys/types.h>

#include <jansson.h>

#include "base/buffer.h"
#include "base/err.h"

#define ATOLL_PROCESS_WORDS_BYTES 2048

struct atoll_process {
    const char *what;         /* names it in errors: "sbatch" */
    const char *const *argv;  /* a program of PATH and its words, NULL at the end; NULL: function */
    char *const *environment; /* of the program, NULL at the end; NULL: this process's own */
    const char *input;        /* the program's standard input; NULL: empty */
    int (*function)(void *context, int out_fd); /* runs in the child; its value is the exit status */
    void *context;
    const char *hopeless; /* once it says this on standard error nobody waits any longer; NULL: none */
    double deadline_s;
};

struct atoll_process_result {
    struct atoll_buffer out;               /* its standard output, or what the function wrote; owned */
    char words[ATOLL_PROCESS_WORDS_BYTES]; /* the beginning of its standard error */
    int status;                            /* exit status; 128 + signal */
};

/* 0 when the child ended by itself (ret_result->status says how) or became hopeless (status -1).  -1: TIMEOUT, MISSING
 * (no such program), LIMIT (more output than out_limit_bytes), or why there is no child.  fini() after 0. */
int atoll_process_run(const struct atoll_process *process, size_t out_limit_bytes,
                      struct atoll_process_result *ret_result, struct atoll_err *err);
void atoll_process_result_fini(struct atoll_process_result *result);

#define ATOLL_PROBE_BYTES_LIMIT ((size_t)1 << 20) /* of an answer as text */

/* Runs in the child; its answer is an owned object, NULL when it has none. */
typedef json_t *atoll_probe_function(void *context);
/* Asks it in a child; the answer is owned by the caller.  what: names the asked in errors ("the driver").  NULL:
 * ATOLL_E_TIMEOUT, ATOLL_E_CHILD (killed by a signal, or no answer), ATOLL_E_LIMIT, or why there is no child. */
json_t *atoll_probe(atoll_probe_function *function, void *context, const char *what, double deadline_s,
                    struct atoll_err *err);

/* Starts a program of PATH that runs on, as a process group of its own; it gets death_signal when this process ends.  argv: NULL at
 * the end.  Its standard input is empty; out_fd, err_fd: its other streams, -1 for those of this process.  ret_pid: to be waited
 * for.  Errors: MISSING (no such program), and why there is no child. */
int atoll_process_start(const char *const *argv, int out_fd, int err_fd, int death_signal, pid_t *ret_pid,
                        struct atoll_err *err);
/* What waitpid told, as a shell does: the exit status, 128 + signal. */
int atoll_process_exit_status(int status);

/* A signal by the name that people and batch systems use: "TERM", "SIGTERM", "15" give 15; -1 for another word. */
int atoll_signal_number(const char *name);

#endif
