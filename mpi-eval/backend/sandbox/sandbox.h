/* sandbox.h - what a child of ours may do: seccomp filters, Landlock rulesets, capabilities, resource limits.
 * Layer: mpi-eval, backend/sandbox.  Everything is built before fork (it allocates); what is applied between fork
 * and exec, or in a forked child, is a bare system call and says so ("async-signal-safe"). Sources:
 * seccomp(2), landlock(7) (ABI 1 to 6), capabilities(7). */
#ifndef ATOLL_MPI_EVAL_BACKEND_SANDBOX_SANDBOX_H
#define ATOLL_MPI_EVAL_BACKEND_SANDBOX_SANDBOX_H

#include <stddef.h>
#include <sys/resource.h>

#include "base/err.h"

enum atoll_filter_kind {
    ATOLL_FILTER_COMPILE, /* everything but network, tracing, namespaces, mounts, modules, keys ... (EPERM) */
    ATOLL_FILTER_ZYGOTE,  /* fork, threads, private and shared maps without execution, its one socket; else
                             killed */
    ATOLL_FILTER_SAMPLE,  /* futex wait without an end and wake, exit; else killed */
    ATOLL_FILTER_SAMPLE_SPIN, /* exit; else killed: its threads can neither sleep nor wake each other */
    ATOLL_FILTER_ALONE, /* on top of COMPILE, for a child without children: no program, no process, no signal to
                             another, no mode, owner or time of a file (EPERM) */
    ATOLL_FILTER_DEVICE, /* COMPILE, but for local sockets, which a device driver makes for itself */
    ATOLL_FILTER_MODULE, /* on top of COMPILE or DEVICE, for Python that runs others' modules: no program, no process, no
                             signal to another, no mode, owner or time of a file (EPERM) */
    ATOLL_FILTER_COUNT
};

struct sock_filter;
struct atoll_filter {
    struct sock_filter *code; /* owned */
    unsigned short length;    /* instructions */
};

int atoll_filter_init(struct atoll_filter *filter, enum atoll_filter_kind kind, struct atoll_err *err);
void atoll_filter_fini(struct atoll_filter *filter);
size_t atoll_filter_bytes(const struct atoll_filter *filter); /* of code */
/* For all threads of the process or only the caller; no_new_privs must be set.  0, or an errno.
 * Async-signal-safe. */
int atoll_filter_apply(const struct atoll_filter *filter, int all_threads);

enum { ATOLL_LANDLOCK_READ, ATOLL_LANDLOCK_WRITE, ATOLL_LANDLOCK_DEVICES, ATOLL_LANDLOCK_FOLDER };
struct atoll_landlock_path {
    const char *path; /* skipped where it does not exist */
    /* READ: read and execute beneath; WRITE: also create, write, remove files; DEVICES: also write and control what is
     * there; FOLDER: WRITE, and folders and links beneath */
    int writable;
};
int atoll_landlock_version(void); /* ABI; 0 where the kernel has none */
/* A ruleset that allows these paths and nothing else of the file system, no TCP, no signal or abstract socket
 * to the outside. ret_fd: close-on-exec, the caller's; -1 where the kernel has no Landlock. */
int atoll_landlock_create(const struct atoll_landlock_path *paths, size_t path_count, int *ret_fd,
                          struct atoll_err *err);
/* 0, or an errno; fd -1 does nothing.  Async-signal-safe. */
int atoll_landlock_apply(int fd);

/* no_new_privs and no capability left, as root too.  0, or an errno.  Async-signal-safe. */
int atoll_privileges_drop(void);

struct atoll_limit {
    int resource; /* RLIMIT_... */
    rlim_t value; /* soft and hard; lowered to the hard limit where that is less */
};
int atoll_limits_apply(const struct atoll_limit *limits,
                       size_t count); /* 0, or an errno.  Async-signal-safe. */

#endif
