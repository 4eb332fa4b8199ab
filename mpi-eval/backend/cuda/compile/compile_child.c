/* compile_child.c - the parent's end: starts a child, sends it requests, reads its replies.  NVRTC is called in the child
 * (compile_child_main.c). */
#include "mpi-eval/backend/cuda/compile/compile_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAD_BYTES  ATOLL_COMPILE_WIRE_HEAD_BYTES
#define FIRST_BYTES ((size_t)64 << 10)
#define FROM_CHILD  1 /* index of the child's end of the socket pair */

void atoll_compile_child_init(struct atoll_compile_child *child, size_t frame_limit)
{
    memset(child, 0, sizeof(*child));
    child->fd = -1;
    child->frame_limit = frame_limit;
    atoll_buffer_init(&child->out, ATOLL_COMPILE_WIRE_REQUEST_BYTES + HEAD_BYTES);
}

void atoll_compile_child_fini(struct atoll_compile_child *child)
{
    struct atoll_compile_child_end end;
    if (child->state != ATOLL_COMPILE_CHILD_NONE)
        atoll_compile_child_end(child, &end);
    atoll_buffer_fini(&child->out);
    free(child->in);
    child->in = NULL;
}

int atoll_compile_child_start(struct atoll_compile_child *child, struct atoll_spawn *spawn,
                              struct atoll_err *err)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return atoll_err_errno(err, errno, "cannot make a socket pair");
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    spawn->fds[0] = ends[FROM_CHILD];
    spawn->fds[1] = spawn->fds[2] = -1;
    spawn->fd_count = spawn->fd_count < 3 ? 3 : spawn->fd_count;
    child->pid = atoll_spawn_start(spawn, err);
    close(ends[FROM_CHILD]);
    if (child->pid < 0) {
        close(ends[0]);
        return -1;
    }
    child->fd = ends[0];
    child->state = ATOLL_COMPILE_CHILD_STARTING;
    atoll_buffer_clear(&child->out);
    child->out_done = child->in_length = 0;
    return 0;
}

int atoll_compile_child_send(struct atoll_compile_child *child, const struct atoll_buffer *frame)
{
    if (frame->failed || frame->length > ATOLL_COMPILE_WIRE_REQUEST_BYTES)
        return -1;
    atoll_buffer_clear(&child->out);
    child->out_done = 0;
    atoll_buffer_put_blob(&child->out, frame->data, frame->length);
    return child->out.failed ? -1 : 0;
}

static int send_some(struct atoll_compile_child *child)
{
    while (child->out_done < child->out.length) {
        ssize_t put = send(child->fd, child->out.data + child->out_done, child->out.length - child->out_done,
                           MSG_NOSIGNAL | MSG_DONTWAIT);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return errno == EAGAIN ? 0 : -1;
        child->out_done += (size_t)put;
    }
    return 0;
}

/* Bytes the whole frame has, head included; only the head is asked for until it is there. */
static size_t frame_bytes(const struct atoll_compile_child *child)
{
    size_t length = 0;
    if (child->in_length < HEAD_BYTES)
        return HEAD_BYTES;
    for (size_t i = 0; i < HEAD_BYTES; i++)
        length |= (size_t)child->in[i] << (8 * i);
    return length + HEAD_BYTES;
}

static int receive_some(struct atoll_compile_child *child, struct atoll_reader *ret_frame)
{
    for (;;) {
        size_t wanted = frame_bytes(child);
        if (wanted > child->frame_limit)
            return -1;
        if (child->in_length >= HEAD_BYTES && child->in_length == wanted) {
            atoll_reader_init(ret_frame, child->in + HEAD_BYTES, wanted - HEAD_BYTES);
            child->in_length = 0;
            child->state = ATOLL_COMPILE_CHILD_READY;
            return 1;
        }
        if (child->in_length == child->in_capacity) { /* grows as bytes come, not as the child promises */
            size_t capacity = child->in_capacity ? 2 * child->in_capacity : FIRST_BYTES;
            unsigned char *grown = realloc(child->in, capacity);
            if (!grown)
                return -1;
            child->in = grown;
            child->in_capacity = capacity;
        }
        size_t room = child->in_capacity - child->in_length, left = wanted - child->in_length;
        ssize_t got = recv(child->fd, child->in + child->in_length, left < room ? left : room, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 && errno == EAGAIN ? 0 : -1;
        child->in_length += (size_t)got;
    }
}

int atoll_compile_child_poll(struct atoll_compile_child *child, struct atoll_reader *ret_frame)
{
    if (send_some(child) != 0)
        return -1;
    return receive_some(child, ret_frame);
}

void atoll_compile_child_end(struct atoll_compile_child *child, struct atoll_compile_child_end *ret_end)
{
    struct rusage used = {0};
    int status = 0;
    /* One that is on its way out keeps its own status: its socket closes after that is settled. */
    kill(-child->pid, SIGKILL);
    while (wait4(child->pid, &status, 0, &used) < 0 && errno == EINTR)
        ;
    close(child->fd);
    child->fd = -1;
    child->state = ATOLL_COMPILE_CHILD_NONE;
    *ret_end = (struct atoll_compile_child_end){status, (uint64_t)used.ru_maxrss * 1024};
}

short atoll_compile_child_events(const struct atoll_compile_child *child)
{
    int sends = child->state == ATOLL_COMPILE_CHILD_READY && child->out_done < child->out.length;
    return (short)(POLLIN | (sends ? POLLOUT : 0));
}
