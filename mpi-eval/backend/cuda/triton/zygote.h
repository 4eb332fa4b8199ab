/* zygote.h - a Python that has imported Triton and forks a child for each source, or several (torch/python/triton_zygote.py).
 * Layer: mpi-eval, backend/cuda.  Lifetime: create/destroy.  One owner thread, which the process dies with.  Asynchronous: what the
 * zygote says is polled for.  The zygote itself never reads what a candidate wrote; what its children answer is hostile.
 *
 * It leads a process group, reads its interpreter and the system's libraries, has one temporary folder to write to, no network and
 * no privileges.  Its children cannot write, start anything or signal anybody. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_TRITON_ZYGOTE_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_TRITON_ZYGOTE_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define ATOLL_TRITON_START_NS 120e9 /* for Triton to be imported, over a slow file system */

struct atoll_triton_zygote_settings {
    const char *python;    /* absolute path */
    const char *script;    /* NULL: ATOLL_TRITON_SCRIPT, else atoll_triton.py of this installation */
    unsigned arch;         /* 90 */
    double deadline_ns;    /* of a child */
    uint64_t memory_bytes; /* that a child may take beyond what the zygote has */
};

struct atoll_triton_zygote;

/* Started, not ready.  Errors: MISSING (the interpreter does not run), IO, MEMORY. */
struct atoll_triton_zygote *atoll_triton_zygote_create(const struct atoll_triton_zygote_settings *settings,
                                                       struct atoll_err *err);
void atoll_triton_zygote_destroy(struct atoll_triton_zygote *zygote); /* kills the group; NULL is fine */

/* How a child ended: triton_zygote.py. */
enum atoll_triton_end {
    ATOLL_TRITON_ANSWERED,
    ATOLL_TRITON_EXITED,
    ATOLL_TRITON_SIGNALLED,
    ATOLL_TRITON_LATE,
    ATOLL_TRITON_LONG,
    ATOLL_TRITON_END_COUNT
};

struct atoll_triton_reply {
    int is_ready; /* 1: the zygote stands ready; the rest says nothing.  0: a child's end */
    uint64_t serial;
    enum atoll_triton_end end;
    uint32_t which;      /* exit status or signal */
    uint64_t peak_bytes; /* resident, beyond the zygote's */
    double processor_ns; /* user's and system's */
    const void *bytes;   /* the child's answer, or what it printed; borrowed until the next poll */
    size_t length;
};

/* 1: something was said; 0: not yet; -1: it is gone, or does not work here (MISSING), or talks nonsense: destroy it. */
int atoll_triton_zygote_poll(struct atoll_triton_zygote *zygote, struct atoll_triton_reply *ret_reply,
                             struct atoll_err *err);
/* Images part, part + parts, ... of the request.  1: sent for; 0: not ready, or another request is still on its way; -1: too long, no
 * memory. */
int atoll_triton_zygote_send(struct atoll_triton_zygote *zygote, uint64_t serial, unsigned part,
                             unsigned parts, const void *request, size_t length);
struct pollfd atoll_triton_zygote_pollfd(const struct atoll_triton_zygote *zygote);
/* Once it is ready: "3.6.0"; the ptxas of its package. */
const char *atoll_triton_zygote_version(const struct atoll_triton_zygote *zygote);
const char *atoll_triton_zygote_ptxas(const struct atoll_triton_zygote *zygote);
double atoll_triton_zygote_age_ns(const struct atoll_triton_zygote *zygote); /* since it was started */

#endif
