/* stream.c - frames over one stream socket.
 * Input: bytes are read in chunks behind what is left of an unfinished frame; a delivered frame is cut off at
 * the next call, so its payload stays where it is until then.  Output: a queue that is compacted when its
 * head half is written. Invariants: out.offset <= out.length; in.consumed <= in.length; after `over` nothing
 * is read or written. */
#include "mpi-eval/node/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BYTES  (64u << 10)
#define FRAME_LIMIT ((size_t)ATOLL_FRAME_PAYLOAD_LIMIT + ATOLL_FRAME_HEADER_BYTES)
#define KEEP_BYTES  (1u << 20)

struct atoll_stream {
    int fd;
    int over;   /* nothing more can be read */
    int at_end; /* the peer closed; what is buffered is still delivered */
    struct atoll_buffer in, out;
    size_t consumed;   /* bytes of `in` that were delivered */
    size_t out_offset; /* bytes of `out` that were written */
};

struct atoll_stream *atoll_stream_create(int fd, size_t queue_bytes, struct atoll_err *err)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
        atoll_err_errno(err, errno, "cannot prepare the socket of a peer");
        return NULL;
    }
    struct atoll_stream *stream = calloc(1, sizeof(*stream));
    if (!stream) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the stream of a peer");
        return NULL;
    }
    stream->fd = fd;
    atoll_buffer_init(&stream->in, FRAME_LIMIT + READ_BYTES);
    atoll_buffer_init(&stream->out, queue_bytes ? queue_bytes : 2 * FRAME_LIMIT);
    return stream;
}

void atoll_stream_destroy(struct atoll_stream *stream)
{
    if (!stream)
        return;
    close(stream->fd);
    atoll_buffer_fini(&stream->in);
    atoll_buffer_fini(&stream->out);
    free(stream);
}

int atoll_stream_fd(const struct atoll_stream *stream)
{
    return stream->fd;
}

size_t atoll_stream_waiting_bytes(const struct atoll_stream *stream)
{
    return stream->out.length - stream->out_offset;
}

short atoll_stream_events(const struct atoll_stream *stream)
{
    return (short)(POLLIN | (atoll_stream_waiting_bytes(stream) ? POLLOUT : 0));
}

static void compact_queue(struct atoll_stream *stream)
{
    size_t left = atoll_stream_waiting_bytes(stream);
    if (left == 0) {
        atoll_buffer_clear(&stream->out);
    } else if (stream->out_offset >= stream->out.length / 2) {
        memmove(stream->out.data, stream->out.data + stream->out_offset, left);
        stream->out.length = left;
    } else {
        return;
    }
    stream->out_offset = 0;
}

int atoll_stream_flush(struct atoll_stream *stream, struct atoll_err *err)
{
    while (atoll_stream_waiting_bytes(stream) > 0) {
        ssize_t n = send(stream->fd, stream->out.data + stream->out_offset,
                         atoll_stream_waiting_bytes(stream), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0)
            stream->out_offset += (size_t)n;
        else if (n < 0 && errno == EINTR)
            continue;
        else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        else
            return atoll_err_set(err, ATOLL_E_CHILD, "the peer process is gone: %s", strerror(errno));
    }
    compact_queue(stream);
    return 0;
}

/* Takes back what a failed append left behind, so that the queue never holds half a frame. */
static int restore_queue(struct atoll_stream *stream, size_t length, struct atoll_err *err)
{
    stream->out.length = length;
    stream->out.failed = 0;
    return atoll_err_set(err, ATOLL_E_LIMIT, "a peer process does not read: %zu bytes wait for it", length);
}

int atoll_stream_send(struct atoll_stream *stream, uint16_t type, const void *payload, size_t length,
                      struct atoll_err *err)
{
    size_t before = stream->out.length;
    if (length > ATOLL_FRAME_PAYLOAD_LIMIT) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "a message of %zu bytes is longer than a frame may be",
                             length);
    }
    if (atoll_frame_encode(&stream->out, type, payload, length, NULL) != 0 || stream->out.failed)
        return restore_queue(stream, before, err);
    return atoll_stream_flush(stream, err);
}

int atoll_stream_send_encoded(struct atoll_stream *stream, const void *frame, size_t length,
                              struct atoll_err *err)
{
    size_t before = stream->out.length;
    atoll_buffer_put_bytes(&stream->out, frame, length);
    if (stream->out.failed)
        return restore_queue(stream, before, err);
    return atoll_stream_flush(stream, err);
}

static void cut_input(struct atoll_stream *stream)
{
    size_t left = stream->in.length - stream->consumed;
    if (stream->consumed == 0)
        return;
    memmove(stream->in.data, stream->in.data + stream->consumed, left);
    stream->in.length = left;
    stream->consumed = 0;
    if (left == 0 && stream->in.capacity > KEEP_BYTES) {
        size_t limit = stream->in.limit_bytes;
        atoll_buffer_fini(&stream->in);
        atoll_buffer_init(&stream->in, limit);
    }
}

/* 1: bytes came; 0: none now, or the peer closed (at_end). */
static int fill_input(struct atoll_stream *stream, struct atoll_err *err)
{
    unsigned char chunk[READ_BYTES];
    ssize_t n;
    do {
        n = recv(stream->fd, chunk, sizeof(chunk), MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n > 0) {
        atoll_buffer_put_bytes(&stream->in, chunk, (size_t)n);
        return atoll_buffer_check(&stream->in, err) == 0 ? 1 : -1;
    }
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return 0;
    stream->at_end = 1;
    return 0;
}

int atoll_stream_receive(struct atoll_stream *stream, struct atoll_frame *ret_frame, struct atoll_err *err)
{
    if (stream->over)
        return atoll_err_set(err, ATOLL_E_CHILD, "the stream of the peer process is over");
    cut_input(stream);
    for (;;) {
        if (stream->in.length > 0) {
            int rc =
                atoll_frame_decode(stream->in.data, stream->in.length, ret_frame, &stream->consumed, err);
            if (rc < 0)
                stream->over = 1;
            if (rc != 0)
                return rc;
        }
        int filled = stream->at_end ? 0 : fill_input(stream, err);
        if (filled == 0 && !stream->at_end)
            return 0;
        if (filled == 0) {
            atoll_err_set(err, ATOLL_E_CHILD,
                          stream->in.length > 0 ? "the peer process ended in the middle of a message"
                                                : "the peer process closed its socket");
        }
        if (filled <= 0) {
            stream->over = 1;
            return -1;
        }
    }
}
