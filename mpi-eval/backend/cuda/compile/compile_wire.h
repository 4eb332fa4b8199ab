/* compile_wire.h - what a compile child and its parent say to each other over a stream socket.  A frame is a u32 length
 * (little-endian) and that many bytes, laid out with base/buffer.h:
 *   child, once:   u32 0 or 1, text: ready, or why it cannot be
 *   parent:        u64 serial, text file name, blob translation unit (its last byte is NUL), u32 count, texts: options
 *   child:         u64 serial, u32 nvrtcResult, u32 1 when the child leaves now, blob log, blob cubin
 * Layer: mpi-eval, backend/cuda. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_COMPILE_COMPILE_WIRE_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_COMPILE_COMPILE_WIRE_H

#define ATOLL_COMPILE_WIRE_FD            0 /* of the socket in the child */
#define ATOLL_COMPILE_WIRE_REQUEST_BYTES ((size_t)18 << 20)
#define ATOLL_COMPILE_WIRE_OPTION_LIMIT  512
#define ATOLL_COMPILE_WIRE_LOG_BYTES     ((size_t)64 << 10) /* the rest of a log is cut off */
#define ATOLL_COMPILE_WIRE_EXIT_MEMORY   73 /* exit status: the compiler died for want of memory */
#define ATOLL_COMPILE_WIRE_HEAD_BYTES    4

#endif
