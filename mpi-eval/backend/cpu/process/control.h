/* control.h - what the referee's process and atoll-worker agree on: descriptors, the shared control page,
 * socket messages. Layer: mpi-eval, backend/cpu.  Both are built from the same tree and start each other: the
 * version only catches a worker left over from another build.
 *
 *   referee                     zygote (worker)                sample child
 *   SETUP ------------------>   sandbox, checks
 *         <------------ LOADING   loads, resolves: the candidate's time
 *         <--- LOADED | REFUSED
 *                             fork ------------------------> threads, stacks, code
 *         <-------------------------------------------- READY  sleeps: nothing of the worker moves
 *   RUN + buffer fds ---------- waitid ----------------------> maps; page.ready = 1, the starting thread ends
 *   page.armed = 1 ------------------------------------------> threads wake, read the buffers (touch) or flush the object,
 *                                                              filter; page.awake = 1
 *   page.armed = 2 ------------------------------------------> probe; page.switches, cpu_ns; page.standing = 1
 *   page.doorbell = 1 ---------------------------------------> launches
 *         <--------------------------------------------------  page.done = 1, parks
 *   SIGKILL to its group ------------------------------------> dies
 *         <------------ ENDED   after a probe of its own; the child stays a zombie
 *                             wipes the page, fork ... (reaps it when the next one has ended, so that the pid that the
 *                             referee kills is never another process)
 *
 * A child is set up before it is known what it will run, while the referee looks at what the one before it left; a RUN that
 * comes before READY waits for it in the socket.
 * Buffers may be written until the doorbell: the child only maps them before.
 * The page is writable by candidate code: nothing on it is believed beyond "it may be done now" once the doorbell
 * rang. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CPU_PROCESS_CONTROL_H
#define ATOLL_MPI_EVAL_BACKEND_CPU_PROCESS_CONTROL_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/task/task.h"
#include "mpi-eval/backend/cpu/process/runner.h"

#define ATOLL_CONTROL_VERSION      8
#define ATOLL_CONTROL_SYMBOL_LIMIT 64
#define ATOLL_CONTROL_SYMBOL_BYTES 64
#define ATOLL_CONTROL_THREAD_LIMIT 1024
#define ATOLL_CONTROL_TEXT_BYTES   512
#define ATOLL_CONTROL_PAGE_BYTES   4096

enum atoll_control_fd {
    ATOLL_CONTROL_FD_SOCKET = 3,
    ATOLL_CONTROL_FD_OBJECT,
    ATOLL_CONTROL_FD_PAGE,
    ATOLL_CONTROL_FD_COUNT
};

struct atoll_control_page {
    _Alignas(128) _Atomic uint32_t ready;    /* child: threads exist */
    _Alignas(128) _Atomic uint32_t armed;    /* referee: 1 take your places, 2 stand still */
    _Alignas(128) _Atomic uint32_t awake;    /* child: every thread has left its futex, the filter is on */
    _Alignas(128) _Atomic uint32_t standing; /* child: every thread waits for the doorbell alone */
    _Atomic int64_t switches, cpu_ns;        /* child, before standing: what its threads have used so far */
    _Atomic int64_t flushed_bytes;           /* child, before standing: of its object's pages */
    _Alignas(128) _Atomic uint32_t doorbell; /* referee: go */
    _Alignas(128) _Atomic uint32_t done;     /* child: last thread left the last launch */
    _Alignas(128) char trouble[256];         /* child, before ready: why it cannot run */
};

enum atoll_control_type {
    ATOLL_CONTROL_SETUP = 1,
    ATOLL_CONTROL_LOADING,
    ATOLL_CONTROL_LOADED,
    ATOLL_CONTROL_REFUSED,
    ATOLL_CONTROL_RUN,
    ATOLL_CONTROL_READY,
    ATOLL_CONTROL_ENDED
};

struct atoll_control_setup {
    uint32_t type, version;
    uint32_t thread_count, spin, allow_mutable_globals, symbol_count;
    uint64_t stack_bytes;
    int64_t load_cpu_ns; /* processor time for loading the object; then SIGPROF ends the worker */
    int32_t cores[ATOLL_CONTROL_THREAD_LIMIT]; /* -1: not pinned */
    char symbols[ATOLL_CONTROL_SYMBOL_LIMIT][ATOLL_CONTROL_SYMBOL_BYTES];
};

/* buffer >= 0: its address + offset; -1: the bits as they are. */
struct atoll_control_word {
    int32_t buffer;
    uint32_t unused;
    union {
        uint64_t offset;
        int64_t i64;
        double f64;
    } value;
};

struct atoll_control_launch {
    uint32_t symbol, word_count;
    int64_t units;
    struct atoll_control_word words[ATOLL_RUN_WORD_LIMIT];
};

struct atoll_control_buffer {
    uint64_t bytes;
    uint32_t read_only, unused;
};

/* Sent with one descriptor per buffer, in order; cut after the last launch. */
struct atoll_control_run {
    uint32_t type, kind;
    uint32_t buffer_count, launch_count;
    uint32_t dim_count, tensor_count;
    uint32_t touch, flush;
    uint64_t scratch_doubles;
    int64_t dims[ATOLL_TASK_DIM_LIMIT];
    struct atoll_control_word reference[3 * ATOLL_TASK_TENSOR_LIMIT];
    struct atoll_control_buffer buffers[ATOLL_RUN_BUFFER_LIMIT];
    struct atoll_control_launch launches[ATOLL_RUN_LAUNCH_LIMIT];
};

struct atoll_control_reply {
    uint32_t type;
    int32_t code;       /* REFUSED: enum atoll_code */
    int32_t pid;        /* READY, ENDED */
    int32_t end_code;   /* ENDED: CLD_EXITED, CLD_KILLED ... of waitid */
    int32_t end_status; /* ENDED: exit status or signal */
    int32_t unused;
    int64_t switches, cpu_ns;   /* ENDED: of all its threads; -1 unknown */
    int64_t ended_ns, probe_ns; /* ENDED: when that was (CLOCK_MONOTONIC_RAW); the worker's probe after it */
    char text
        [ATOLL_CONTROL_TEXT_BYTES]; /* REFUSED: why; ENDED: what the page says of trouble, not to be believed */
};

/* One argument word as a shim sees it. */
union atoll_run_word {
    int64_t i64;
    double f64;
    void *pointer;
};

/* From the worker's side.  0, or -1: the referee is gone. */
static inline int atoll_control_send(const struct atoll_control_reply *reply)
{
    ssize_t sent;
    do
        sent = send(ATOLL_CONTROL_FD_SOCKET, reply, sizeof(*reply), MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof(*reply) ? 0 : -1;
}

/* Waits while *word == expected, at most timeout_ns (negative: for ever).  May return early.  shared: other
 * processes wake. */
static inline void atoll_futex_wait(_Atomic uint32_t *word, uint32_t expected, long timeout_ns, int shared)
{
    struct timespec limit = {timeout_ns / 1000000000L, timeout_ns % 1000000000L};
    syscall(SYS_futex, word, FUTEX_WAIT | (shared ? 0 : FUTEX_PRIVATE_FLAG), expected,
            timeout_ns < 0 ? NULL : &limit, NULL, 0);
}

static inline void atoll_futex_wake(_Atomic uint32_t *word, int shared)
{
    syscall(SYS_futex, word, FUTEX_WAKE | (shared ? 0 : FUTEX_PRIVATE_FLAG), INT_MAX, NULL, NULL, 0);
}

static inline int64_t atoll_cpu_time_ns(const struct rusage *usage)
{
    return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000000L +
           (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000L;
}

/* Work of a fixed number of cycles that fills a core and needs no memory: how long it takes tells what the core is worth at the
 * moment, when a neighbour on the same core, another clock or a hypervisor takes something of it.  About 15 us. */
static inline void atoll_probe_core(void)
{
    uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
    for (int i = 0; i < 8000; i++) {
        a = a * 5 + 1;
        b = b * 5 + 2;
        c = c * 5 + 3;
        d = d * 5 + 4;
        e = e * 5 + 5;
        f = f * 5 + 6;
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    }
}

/* Tells the core that this is a spin loop. */
static inline void atoll_cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
