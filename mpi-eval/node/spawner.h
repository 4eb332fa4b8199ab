/* spawner.h - a small process, forked before MPI_Init, that starts the evaluator processes: a child of it
 * inherits a clean environment (PATH, HOME, LANG, LC_*, TMPDIR, TZ, ATOLL_*), standard error, one socket, and
 * nothing else. Layer: mpi-eval.  Lifetime: create/destroy.  One owner thread.
 *
 * Each child is the leader of a process group of its own and dies with the spawner; the spawner leaves when
 * its owner's socket closes, after it killed every group it started: no process survives the owner, however
 * that ended. */
#ifndef ATOLL_MPI_EVAL_NODE_SPAWNER_H
#define ATOLL_MPI_EVAL_NODE_SPAWNER_H

#include <sys/types.h>

#include "base/err.h"

#define ATOLL_SPAWNER_CHILD_FD    3  /* where a child finds its socket */
#define ATOLL_SPAWNER_CHILD_LIMIT 64 /* children at a time */

struct atoll_spawner;

/* program: absolute path; argv: NULL-terminated, argv[0] included; both copied by the fork.  Call it before
 * any thread exists and before MPI_Init. */
struct atoll_spawner *atoll_spawner_create(const char *program, const char *const *argv,
                                           struct atoll_err *err);
/* Closes the socket and waits until the spawner has killed all groups and left. */
void atoll_spawner_destroy(struct atoll_spawner *spawner);

/* Starts one child.  tag: the caller's number.  ret_fd: the owner's end of the child's stream socket, the
 * caller's to close.  Blocks for the time of a fork (bounded: ATOLL_E_TIMEOUT after 10 s). */
int atoll_spawner_start(struct atoll_spawner *spawner, unsigned tag, pid_t *ret_pid, int *ret_fd,
                        struct atoll_err *err);
/* Kills the process group of a child. */
int atoll_spawner_kill(struct atoll_spawner *spawner, unsigned tag, struct atoll_err *err);
/* 1: a child ended, ret_status as of waitpid; 0: none; -1: the spawner is gone.  Never blocks. */
int atoll_spawner_exited(struct atoll_spawner *spawner, unsigned *ret_tag, int *ret_status);
int atoll_spawner_fd(const struct atoll_spawner *spawner); /* readable when a child may have ended */

#endif
