/* compile.h - compile children: cc on one translation unit, sandboxed, with deadline and memory limit.
 * Layer: mpi-eval, backend/cpu.  Lifetime: create/destroy.  One owner thread; asynchronous: start jobs,
 * poll fds, collect. Output lies in node-local scratch (ATOLL_SCRATCH, else TMPDIR, else /tmp; a private
 * 0700 folder removed on destroy), never in the campaign directory.  Children are in process groups of
 * their own and die with their parent. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CPU_COMPILE_H
#define ATOLL_MPI_EVAL_BACKEND_CPU_COMPILE_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

struct atoll_compiler;

struct atoll_compiler_settings {
    const char *command;   /* "cc"; searched in PATH once */
    const char *flags;     /* split at blanks; no shell */
    unsigned slots;        /* children at once, >= 1 */
    double deadline_ns;    /* per job, of running time (pauses do not count) */
    uint64_t memory_bytes; /* RLIMIT_AS of cc and what it starts */
    uint64_t output_bytes; /* RLIMIT_FSIZE */
};

/* Errors: ATOLL_E_MISSING with the remedy when there is no compiler that makes a working shared object. */
struct atoll_compiler *atoll_compiler_create(const struct atoll_compiler_settings *settings,
                                             struct atoll_err *err);
void atoll_compiler_destroy(struct atoll_compiler *compiler); /* kills what runs */
/* "gcc (Debian 12.2.0-14) 12.2.0 -O3 ...": version and flags, borrowed. */
const char *atoll_compiler_version(const struct atoll_compiler *compiler);

/* Queues a job.  text: the translation unit (copied); file_name: what diagnostics call it ("candidate.c").
 * defines: "NAME=VALUE" (copied).  job: the caller's number, given back. */
int atoll_compiler_submit(struct atoll_compiler *compiler, uint64_t job, const char *file_name,
                          const char *text, size_t length, const char *const *defines, size_t define_count,
                          struct atoll_err *err);
/* Fills at most `limit` pollfds that become readable when something may have happened; returns how many. */
size_t atoll_compiler_pollfds(const struct atoll_compiler *compiler, struct pollfd *ret_fds, size_t limit);
/* Milliseconds until the next deadline of a running job; -1 none. */
int atoll_compiler_timeout_ms(const struct atoll_compiler *compiler);

enum atoll_compile_status {
    ATOLL_COMPILE_OK,
    ATOLL_COMPILE_ERROR,
    ATOLL_COMPILE_TIMEOUT,
    ATOLL_COMPILE_MEMORY,
    ATOLL_COMPILE_BROKEN /* ours, not the candidate's */
};
struct atoll_compiled {
    uint64_t job;
    enum atoll_compile_status status;
    void *object; /* owned by the receiver (free); NULL unless OK */
    size_t object_length;
    /* owned; "" or the first errors with the source lines they name, at most 2 KiB, no paths of ours */
    char *diagnostics;
    double wall_ns;
};
/* 1: a finished job is in ret_compiled; 0: none yet; never blocks. */
int atoll_compiler_collect(struct atoll_compiler *compiler, struct atoll_compiled *ret_compiled);
/* Stops and continues all children (SIGSTOP, SIGCONT to their groups): for timing windows.
 * Async-signal-cheap, may be called from the referee's thread. */
void atoll_compiler_pause(struct atoll_compiler *compiler);
void atoll_compiler_resume(struct atoll_compiler *compiler);
/* submit and wait for one job. */
int atoll_compiler_run(struct atoll_compiler *compiler, const char *file_name, const char *text,
                       size_t length, const char *const *defines, size_t define_count,
                       struct atoll_compiled *ret_compiled, struct atoll_err *err);

#endif
