/* process.h - a Python with torch in a sandbox, asked one thing at a time.
 * Layer: mpi-eval, torch.  Lifetime: start/stop.  One owner thread, which the process dies with; threads may have one each.
 *
 * The process leads a process group of its own that is stopped (SIGSTOP) between calls: nothing of it runs on the host while a
 * candidate is timed.  It reads its interpreter, the system's libraries, /proc and /sys, writes to one temporary folder, has no
 * network, and may start programs in the role rival alone, whose compiler needs them.  Memory is watched (resident pages), not
 * limited: CUDA needs addresses; so is the size of the folder.  Python's end is python/host.py.
 *
 * Frames both ways: u32 length, little-endian, and as many bytes of JSON, at most ATOLL_TORCH_FRAME_BYTES.  A request may carry a
 * descriptor (SCM_RIGHTS, with its first byte); a reply never does. */
#ifndef ATOLL_MPI_EVAL_TORCH_PROCESS_H
#define ATOLL_MPI_EVAL_TORCH_PROCESS_H

#include <stdatomic.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"

#define ATOLL_TORCH_FRAME_BYTES ((uint32_t)16 << 20)
#define ATOLL_TORCH_FORK_SERVER "fork_server" /* the role of a process that forks others */

struct atoll_torch;

struct atoll_torch_settings {
    const char *python; /* absolute path (interpreter.h) */
    const char *role;   /* "oracle", "rival", "inspect", "probe", ATOLL_TORCH_FORK_SERVER */
    const char *script; /* NULL: ATOLL_TORCH_SCRIPT, else atoll_torch.py of this installation */
    const char *gpu;    /* UUID for CUDA_VISIBLE_DEVICES; NULL: no GPU */
    unsigned threads;   /* of torch on the host; 0: 1 */
    const int *cores;   /* that it may run on; NULL: those of the caller */
    size_t core_count;
    int niceness;          /* added to the caller's */
    uint64_t memory_bytes; /* resident at most; 0: half of what there is for us */
    uint64_t folder_bytes; /* of files in its temporary folder at most; 0: 2 GB, in the role rival 16 GB */
    double start_limit_ns; /* until torch is imported and the GPU is open; 0: 180 s */
    const atomic_int *cancelled; /* looked at while a call waits: not 0 ends it; NULL none; borrowed */
};

/* What the process says of itself; "" where there is none. */
struct atoll_torch_facts {
    char python[32], torch[48], cuda[32], triton[32], device[96];
};

/* Started, sandboxed, torch imported.  Errors: MISSING (no torch, an old one, none that can use the GPU, no such role), CHILD,
 * TIMEOUT, LIMIT (memory), BUSY (cancelled). */
struct atoll_torch *atoll_torch_start(const struct atoll_torch_settings *settings, struct atoll_err *err);
/* The same by a server that was started with the same interpreter and GPU and imported torch already: what it costs is a fork.  One
 * at a time, by the server's owner thread; it is stopped before the server is.  What is promised of a process holds for each: a
 * sandbox, a folder, words, limits and a deadline of its own.  settings: as above, but python and script are the server's; niceness
 * and threads beyond 1 as well.  Errors besides: MISSING (at the start of the server: this torch cannot be forked). */
struct atoll_torch *atoll_torch_fork(struct atoll_torch *server, const struct atoll_torch_settings *settings,
                                     struct atoll_err *err);
void atoll_torch_stop(struct atoll_torch *torch); /* kills the group and removes its folder; NULL is fine */
const struct atoll_torch_facts *atoll_torch_facts(const struct atoll_torch *torch); /* borrowed */

/* One request and its reply.  request: stolen, also on failure.  fd: sent with it, borrowed; -1 none.  deadline_ns: of wall time
 * from now; then the group is killed.  ret_reply: an object with what was answered, owned by the caller.
 *
 * Errors of a process that lives on: INPUT (the doing of the problem or expression; the text says where), LIMIT (no memory on its
 * device), MISSING (this torch cannot), INTERNAL.  Of one that is gone: CHILD (it ended), TIMEOUT (killed at the deadline), LIMIT
 * (killed for its memory or its files), BUSY (cancelled), PROTOCOL (it sent what it must not). */
int atoll_torch_call(struct atoll_torch *torch, json_t *request, int fd, double deadline_ns,
                     json_t **ret_reply, struct atoll_err *err);
/* Hands over the referee's own kernels (a cubin), by which the roles oracle and rival make inputs on their GPU.  Errors: as above. */
int atoll_torch_send_kernels(struct atoll_torch *torch, const void *kernels, size_t bytes, double deadline_ns,
                             struct atoll_err *err);

#endif
