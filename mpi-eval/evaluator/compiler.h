/* compiler.h - compile children behind one interface, whatever compiles: translation units in, objects out.
 * Layer: mpi-eval.  Lifetime: created by a backend (atoll_cc_create, atoll_nvrtc_create), destroyed here.  One owner
 * thread; asynchronous: submit jobs, poll descriptors, collect.  Children are in process groups of their own, sandboxed,
 * and die with their parent.  Output lies in node-local scratch, never in the campaign directory. */
#ifndef ATOLL_MPI_EVAL_EVALUATOR_COMPILER_H
#define ATOLL_MPI_EVAL_EVALUATOR_COMPILER_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A candidate's unit, in any language, begins so and ends in the language's suffix: it is hostile, and other units are ours. */
#define ATOLL_COMPILE_CANDIDATE "candidate."

struct atoll_compiler;

struct atoll_compiler_settings {
    const char *command; /* cpu: "cc", searched in PATH once.  cuda: "nvrtc", or an nvcc */
    const char *flags;   /* split at blanks; no shell */
    const char *target;  /* cuda: "sm_90a"; NULL elsewhere */
    unsigned slots;      /* children at once, >= 1 */
    /* Of a candidate's job, of processor time, and at most ATOLL_COMPILE_PATIENCE times as much of running time (pauses do not
     * count); others have 180 s at least. */
    double deadline_ns;
    uint64_t memory_bytes; /* address space of a child */
    uint64_t output_bytes; /* of one object */
};

enum atoll_compile_status {
    ATOLL_COMPILE_OK,
    ATOLL_COMPILE_ERROR,
    ATOLL_COMPILE_TIMEOUT,
    ATOLL_COMPILE_MEMORY,
    ATOLL_COMPILE_BROKEN,    /* ours, not the candidate's */
    ATOLL_COMPILE_FORBIDDEN, /* what was compiled breaks a static rule; diagnostics: which */
    ATOLL_COMPILE_PLAN       /* what was compiled does not go with the plan; diagnostics: why */
};

struct atoll_compiled {
    uint64_t job;
    enum atoll_compile_status status;
    void *object; /* owned by the receiver (free); NULL unless OK: a shared object, a cubin */
    size_t object_length;
    /* owned; "" or the first errors with the source lines they name, at most 2 KiB, no paths of ours */
    char *diagnostics;
    char *
        report; /* owned; the compiler's own words on resources (ptxas -v; cpu: the hot loop in assembler), "" where it has none; at most 8 KiB */
    double wall_ns;
    double processor_ns; /* the compiler's; where it is not known, wall_ns */
    int from_cache;      /* 1: nothing was compiled */
};

/* What an implementation provides; its struct atoll_compiler starts with a pointer to this. */
struct atoll_compiler_kind {
    void (*destroy)(struct atoll_compiler *c);
    const char *(*version)(const struct atoll_compiler *c);
    int (*submit)(struct atoll_compiler *c, uint64_t job, const char *file_name, const char *text,
                  size_t length, const char *const *defines, size_t define_count, struct atoll_err *err);
    size_t (*pollfds)(const struct atoll_compiler *c, struct pollfd *ret_fds, size_t limit);
    int (*timeout_ms)(const struct atoll_compiler *c);
    int (*collect)(struct atoll_compiler *c, struct atoll_compiled *ret_compiled);
    unsigned (*idle_count)(struct atoll_compiler *c);
    void (*pause)(struct atoll_compiler *c);
    void (*resume)(struct atoll_compiler *c);
};
struct atoll_compiler {
    const struct atoll_compiler_kind *kind;
    struct atoll_compiled *kept; /* finished jobs that atoll_compiler_run came across; NULL at first */
    size_t kept_count;
};

void atoll_compiler_destroy(struct atoll_compiler *compiler); /* kills what runs; NULL is fine */
/* "gcc (Debian 12.2.0-14) 12.2.0 -O3 ...", "nvrtc 13.0 sm_90a ...": version and flags, borrowed. */
const char *atoll_compiler_version(const struct atoll_compiler *compiler);
/* Queues a job.  text: the translation unit (copied); file_name: what diagnostics call it ("candidate.c").
 * defines: "NAME=VALUE" (copied).  job: the caller's number below UINT64_MAX, given back. */
int atoll_compiler_submit(struct atoll_compiler *compiler, uint64_t job, const char *file_name,
                          const char *text, size_t length, const char *const *defines, size_t define_count,
                          struct atoll_err *err);
/* Fills at most `limit` pollfds that become readable when something may have happened; returns how many. */
size_t atoll_compiler_pollfds(const struct atoll_compiler *compiler, struct pollfd *ret_fds, size_t limit);
/* Milliseconds until the next deadline of a running job; -1 none. */
int atoll_compiler_timeout_ms(const struct atoll_compiler *compiler);
/* 1: a finished job is in ret_compiled; 0: none yet; never blocks. */
int atoll_compiler_collect(struct atoll_compiler *compiler, struct atoll_compiled *ret_compiled);
/* Children that have nothing to do: so many jobs more would begin at once.  0 while children stand still. */
unsigned atoll_compiler_idle_count(struct atoll_compiler *compiler);
/* Frees what it owns; what the receiver took must be NULL.  Twice is fine. */
void atoll_compiled_fini(struct atoll_compiled *compiled);
/* Stops and continues all children (SIGSTOP, SIGCONT to their groups): for timing windows.
 * Async-signal-cheap, may be called from the referee's thread.  A compiler whose children do not disturb the
 * device does nothing. */
void atoll_compiler_pause(struct atoll_compiler *compiler);
void atoll_compiler_resume(struct atoll_compiler *compiler);
/* Waits for a job that was submitted; what else finishes meanwhile is collected later. */
int atoll_compiler_wait(struct atoll_compiler *compiler, uint64_t job, struct atoll_compiled *ret_compiled,
                        struct atoll_err *err);
/* submit and wait for one job. */
int atoll_compiler_run(struct atoll_compiler *compiler, const char *file_name, const char *text,
                       size_t length, const char *const *defines, size_t define_count,
                       struct atoll_compiled *ret_compiled, struct atoll_err *err);

#endif
