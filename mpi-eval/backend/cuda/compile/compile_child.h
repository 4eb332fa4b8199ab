/* compile_child.h - the parent's end of one atoll-compile-cuda, and what both say to each other.
 * Layer: mpi-eval, backend/cuda.  Lifetime: init/fini; may be started again after it ended.  What comes from the child is
 * hostile. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_COMPILE_COMPILE_CHILD_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_COMPILE_COMPILE_CHILD_H

#include <sys/resource.h>

#include "base/buffer.h"
#include "mpi-eval/backend/sandbox/spawn.h"
#include "mpi-eval/evaluator/compiler.h"

/* What both send over a stream socket.  A frame is a u32 length
 * (little-endian) and that many bytes, laid out with base/buffer.h:
 *   child, once:   u32 0 or 1, text: ready, or why it cannot be
 *   parent:        u64 serial, u32 seconds of processor time, text file name, blob translation unit (its last byte is NUL), u32
 *                  count, texts: options
 *   child:         u64 serial, u32 nvrtcResult, u32 1 when the child leaves now, blob log, blob cubin */
#define ATOLL_COMPILE_WIRE_FD            0 /* of the socket in the child */
#define ATOLL_COMPILE_WIRE_REQUEST_BYTES ((size_t)18 << 20)
#define ATOLL_COMPILE_WIRE_OPTION_LIMIT  512
#define ATOLL_COMPILE_WIRE_LOG_BYTES     ((size_t)64 << 10) /* the rest of a log is cut off */
#define ATOLL_COMPILE_WIRE_EXIT_MEMORY   73 /* exit status: the compiler died for want of memory */
#define ATOLL_COMPILE_WIRE_HEAD_BYTES    4
/* A result that NVRTC does not have: the PTX it made breaks a rule; the log says which. */
#define ATOLL_COMPILE_WIRE_FORBIDDEN 0xF0B1DDu
#define ATOLL_COMPILE_WIRE_CANDIDATE ATOLL_COMPILE_CANDIDATE "cu" /* the unit whose PTX is judged */

enum atoll_compile_child_state {
    ATOLL_COMPILE_CHILD_NONE,
    ATOLL_COMPILE_CHILD_STARTING, /* until its first frame */
    ATOLL_COMPILE_CHILD_READY
};

struct atoll_compile_child {
    enum atoll_compile_child_state state;
    pid_t pid;
    int fd;
    struct atoll_buffer out; /* not sent from out_done on */
    size_t out_done;
    unsigned char *in; /* the frame that is coming, in_length of it there */
    size_t in_length, in_capacity, frame_limit;
};

/* How a child ended. */
struct atoll_compile_child_end {
    int wait_status;
    uint64_t peak_bytes; /* of resident memory */
};

void atoll_compile_child_init(struct atoll_compile_child *child, size_t frame_limit);
void atoll_compile_child_fini(struct atoll_compile_child *child); /* kills it */
/* spawn: its first three descriptors are filled here. */
int atoll_compile_child_start(struct atoll_compile_child *child, struct atoll_spawn *spawn,
                              struct atoll_err *err);
/* Queues a frame; -1: no memory, or more than the wire's limit. */
int atoll_compile_child_send(struct atoll_compile_child *child, const struct atoll_buffer *frame);
/* Sends and receives what can be had without blocking.  1: a frame, ret_frame borrowed until the next pump; 0: none yet;
 * -1: the child is gone or talks nonsense (end it). */
int atoll_compile_child_poll(struct atoll_compile_child *child, struct atoll_reader *ret_frame);
/* Kills its group, waits for it, and leaves state NONE. */
void atoll_compile_child_end(struct atoll_compile_child *child, struct atoll_compile_child_end *ret_end);
short atoll_compile_child_events(const struct atoll_compile_child *child); /* for poll */

#endif
