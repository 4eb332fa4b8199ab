/* runner.h - the referee's handle on one atoll-worker: a sandboxed zygote with one shared object loaded,
 * which forks a child per sample (DESIGN.md 2, "Referee and runner").
 * Layer: mpi-eval, backend/cpu.  Lifetime: create/destroy.  One owner thread (the referee's).
 *
 * Protocol of one run.  The zygote has forked a child ahead (own process group), which has started and pinned the
 * harness's threads; the referee passes memfds of this sample's buffers; the child maps them at random addresses
 * (prefaulted), closes everything else, takes the final seccomp filter, and says ready on a shared control page; the
 * referee rings the doorbell and takes the time with its own clock until all threads are done; then kills
 * the child, waits for its death, and only then reads the buffers. Invariants: no candidate code runs in
 * the zygote (constructors, IFUNCs and undeclared imports are refused before dlopen); no buffer, secret or
 * expected value is ever mapped in the zygote; the control page is not trusted (a forged "done" gains at
 * most the latency of the kill, measured and reported as resolution). */
#ifndef ATOLL_MPI_EVAL_BACKEND_CPU_PROCESS_RUNNER_H
#define ATOLL_MPI_EVAL_BACKEND_CPU_PROCESS_RUNNER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define ATOLL_RUN_BUFFER_LIMIT 96 /* a reference has three for each tensor */
#define ATOLL_RUN_WORD_LIMIT   64
#define ATOLL_RUN_LAUNCH_LIMIT 64
#define ATOLL_RUN_WATCH_LIMIT  32

struct atoll_runner;

struct atoll_runner_settings {
    const char *worker_path; /* of atoll-worker; NULL = beside the running program */
    unsigned thread_count;   /* harness threads */
    const int *cores;        /* thread_count logical CPUs they are pinned to; NULL = not pinned */
    int spin;                /* 1: threads and referee spin (a core is free for the referee); 0: futex */
    uint64_t stack_bytes;    /* per thread, default 8 MiB */
};

/* Starts a worker and loads `object` (a shared object in memory).  symbols: functions to look up, called by
 * index. Errors: ATOLL_E_INPUT when the object is refused (what and why: constructor, IFUNC, import of
 * "fork", writable data ...) or a symbol is missing, ATOLL_E_TIMEOUT when it takes too long to load: the candidate's
 * fault; ATOLL_E_CHILD, ATOLL_E_IO: infrastructure. */
struct atoll_runner *atoll_runner_create(const struct atoll_runner_settings *settings, const void *object,
                                         size_t object_length, int allow_mutable_globals,
                                         const char *const *symbols, size_t symbol_count,
                                         struct atoll_err *err);
void atoll_runner_destroy(struct atoll_runner *runner); /* kills the worker's group and reaps it */

struct atoll_run_buffer {
    int fd;       /* memfd, mapped MAP_SHARED as a whole */
    size_t bytes; /* of the file; a multiple of the page size */
    int read_only;
};

/* One 64-bit argument of the shim `void shim(long unit_begin, long unit_end, const union atoll_run_word
 * *words)`. */
struct atoll_run_argument {
    int buffer; /* >= 0: address of this buffer + offset; -1: the value */
    size_t offset;
    union {
        int64_t i64;
        double f64;
    } value; /* i32 in i64; f32 as f64, the shim narrows */
};

struct atoll_run_launch {
    size_t symbol; /* index into symbols: a shim */
    int64_t units; /* split into thread_count equal runs of units */
    size_t argument_count;
    struct atoll_run_argument arguments[ATOLL_RUN_WORD_LIMIT];
};

enum atoll_run_kind {
    ATOLL_RUN_CANDIDATE, /* launches in order, a barrier of the harness between two */
    /* launches[0].symbol is atoll_reference_range; its arguments are, in order: dim_count dims, then per
     * tensor the input, expected and scale buffer (buffer -1 and value 0 = NULL) */
    ATOLL_RUN_REFERENCE
};

struct atoll_run_request {
    enum atoll_run_kind kind;
    /* 1: once armed, each thread reads its share of all buffers: they are in its core's caches as far as they fit */
    int touch;
    /* 1: once armed, the pages of the object are put out of every cache: tables and code are as cold as the buffers */
    int flush;
    size_t buffer_count;
    struct atoll_run_buffer buffers[ATOLL_RUN_BUFFER_LIMIT];
    size_t launch_count;
    struct atoll_run_launch launches[ATOLL_RUN_LAUNCH_LIMIT];
    const long long *dims; /* REFERENCE */
    size_t dim_count, tensor_count;
    size_t scratch_doubles;                               /* REFERENCE: per thread */
    const struct atoll_run_argument *reference_arguments; /* REFERENCE: 3 * tensor_count */
    double deadline_ns;
    /* Words of the caller's own mappings of buffers, read when the sample says done and again after its
     * death. */
    size_t watch_count;
    const volatile uint64_t *watch[ATOLL_RUN_WATCH_LIMIT];
    /* Called before the sample's threads are woken and after its death (timing window: pause compile children); may be
     * NULL. */
    void (*window_begin)(void *context);
    void (*window_end)(void *context);
    void *context;
};

enum atoll_run_status {
    ATOLL_RUN_DONE,
    ATOLL_RUN_CRASHED,   /* signal */
    ATOLL_RUN_FORBIDDEN, /* killed by seccomp: it made a system call */
    ATOLL_RUN_EXITED,    /* left without finishing */
    ATOLL_RUN_TIMEOUT,
    ATOLL_RUN_LOST /* the worker failed, not the candidate; create another */
};

struct atoll_run_result {
    enum atoll_run_status status;
    int signal;
    double ns;        /* doorbell to done by the referee's clock (CLOCK_MONOTONIC_RAW) */
    double setup_ns;  /* waited for a child that stands ready */
    double stop_ns;   /* done to the child's death */
    long preemptions; /* involuntary context switches of its threads while it ran; -1 unknown */
    /* At most this much of the span its threads did not have their cores, for others took one; -1 unknown (they may
     * sleep) */
    double lost_ns;
    double blind_ns;    /* for so long nobody had looked when the begin or the end was seen */
    double own_ns;      /* processor time of a thread in the span and until it died; -1 unknown */
    double probe_ns[2]; /* fixed work on the sample's cores before it and after it; 0 unknown */
    size_t flushed_bytes;
    unsigned late_count; /* watched words that changed after done */
    char detail[256];    /* "segmentation fault (SIGSEGV)", "forbidden system call" ... */
};

/* One run, and settled after it.  Returns 0 with ret_result for everything the candidate did; -1 only for bad requests of
 * ours. */
int atoll_runner_run(struct atoll_runner *runner, const struct atoll_run_request *request,
                     struct atoll_run_result *ret_result, struct atoll_err *err);
/* The same in steps.  After start, which waits for nothing, the caller may write the buffers while the child is set up; arm waits
 * for that and lets the threads take their cores (the caller may go on writing and flushing); finish rings and judges.  request:
 * borrowed until finish. start returns -1 only for bad requests of ours, and then nothing is to be
 * finished. */
int atoll_runner_start(struct atoll_runner *runner, const struct atoll_run_request *request,
                       struct atoll_err *err);
void atoll_runner_arm(struct atoll_runner *runner);
void atoll_runner_finish(struct atoll_runner *runner, const struct atoll_run_request *request,
                         struct atoll_run_result *ret_result);
/* After a finish the worker sets up the child of the next run.  Waits until that stands still: before anything is timed,
 * here or in another worker. */
void atoll_runner_settle(struct atoll_runner *runner);
const char *atoll_run_status_name(enum atoll_run_status s);

/* What containment this kernel gives: "no-new-privs seccomp landlock-7 rlimits"; written into ret_text. */
const char *atoll_runner_isolation(char *ret_text, size_t bytes);

#endif
