/* stream.h - frames over one stream socket, non-blocking in both directions, with bounded queues.
 * Layer: mpi-eval.  Lifetime: create/destroy.  Single owner; never blocks.
 * A byte stream has no place to start again after garbage: the first broken frame ends the stream for good.
 */
#ifndef ATOLL_MPI_EVAL_NODE_STREAM_H
#define ATOLL_MPI_EVAL_NODE_STREAM_H

#include "base/frame.h"

struct atoll_stream;

/* fd: taken, made non-blocking and close-on-exec.  queue_bytes: the most that may wait to be written; 0 =
 * twice the limit of one frame. */
struct atoll_stream *atoll_stream_create(int fd, size_t queue_bytes, struct atoll_err *err);
void atoll_stream_destroy(struct atoll_stream *stream); /* closes; what was not written is lost */
int atoll_stream_fd(const struct atoll_stream *stream);
short atoll_stream_events(
    const struct atoll_stream *stream); /* for poll: POLLIN, and POLLOUT while bytes wait */

/* Queues one frame and writes what the socket takes.  ATOLL_E_LIMIT when the queue is full (the peer does not
 * read), ATOLL_E_CHILD when the peer is gone. */
int atoll_stream_send(struct atoll_stream *stream, uint16_t type, const void *payload, size_t length,
                      struct atoll_err *err);
/* The same for a frame that is encoded already. */
int atoll_stream_send_encoded(struct atoll_stream *stream, const void *frame, size_t length,
                              struct atoll_err *err);
/* Writes what the socket takes now. */
int atoll_stream_flush(struct atoll_stream *stream, struct atoll_err *err);
size_t atoll_stream_waiting_bytes(const struct atoll_stream *stream);

/* 1: the next frame, its payload borrowed until the next call; 0: none yet; -1: the stream is over,
 * ATOLL_E_CHILD after an end of file (frames that came before it were all delivered), ATOLL_E_PROTOCOL or
 * ATOLL_E_SCHEMA after garbage. */
int atoll_stream_receive(struct atoll_stream *stream, struct atoll_frame *ret_frame, struct atoll_err *err);

#endif
