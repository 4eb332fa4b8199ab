/* peer.c - one connection.  It reads at any time, so that a caller who leaves is noticed; a request is looked at when the
 * reply before it has gone out. */
#include "tests/provider/peer.h"

#include <ctype.h>
#include <errno.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BYTES    ((size_t)64 << 10)
#define REQUEST_LIMIT ((size_t)256 << 20)

enum state { STATE_READ, STATE_WAIT, STATE_WRITE, STATE_SILENT };

struct peer {
    struct atoll_loop *loop;
    struct service *service;
    SSL *tls;
    int fd;
    enum state state;
    struct atoll_buffer in;
    struct service_request request;
    struct reply reply;
    uint64_t sent, timer;
    int is_waiting_for_write; /* the socket, or TLS, takes no more now */
};

static void peer_drop(struct peer *peer, int is_reset)
{
    if (peer->state != STATE_READ && peer->reply.is_counted)
        tally_note(&peer->service->tally, peer->reply.id, TALLY_BROKEN,
                   peer->reply.end == TALLY_ANSWERED ? peer->reply.input : 0,
                   peer->reply.end == TALLY_ANSWERED ? peer->reply.output : 0);
    if (peer->state != STATE_READ)
        reply_fini(&peer->reply);
    atoll_loop_cancel(peer->loop, peer->timer);
    atoll_loop_watch(peer->loop, peer->fd, 0, NULL, NULL, NULL);
    if (is_reset)
        setsockopt(peer->fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
    if (peer->tls && !is_reset)
        SSL_shutdown(peer->tls);
    SSL_free(peer->tls);
    close(peer->fd);
    atoll_buffer_fini(&peer->in);
    peer->service->tally.open--;
    free(peer);
}

/* ---- bytes ---- */

enum { IO_AGAIN = -1, IO_END = -2 };

static ssize_t tls_result(struct peer *peer, int result)
{
    if (result > 0)
        return result;
    int reason = SSL_get_error(peer->tls, result);
    ERR_clear_error();
    if (reason == SSL_ERROR_WANT_WRITE)
        peer->is_waiting_for_write = 1;
    return reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE ? IO_AGAIN : IO_END;
}

static ssize_t socket_result(ssize_t result)
{
    if (result > 0)
        return result;
    return result < 0 && (errno == EAGAIN || errno == EINTR) ? IO_AGAIN : IO_END;
}

/* The queue of errors is the thread's: what another peer's connection left in it would count as this one's. */
static ssize_t bytes_read(struct peer *peer, void *into, size_t room)
{
    ERR_clear_error();
    return peer->tls ? tls_result(peer, SSL_read(peer->tls, into, (int)room))
                     : socket_result(recv(peer->fd, into, room, 0));
}

static ssize_t bytes_write(struct peer *peer, const void *from, size_t length)
{
    if (length > READ_BYTES)
        length = READ_BYTES;
    ERR_clear_error();
    if (peer->tls)
        return tls_result(peer, SSL_write(peer->tls, from, (int)length));
    ssize_t result = socket_result(send(peer->fd, from, length, MSG_NOSIGNAL));
    if (result == IO_AGAIN)
        peer->is_waiting_for_write = 1;
    return result;
}

/* ---- the reply ---- */

static void peer_go(struct peer *peer);

static void on_due(void *context)
{
    struct peer *peer = context;
    peer->timer = 0;
    peer->state = STATE_WRITE;
    peer_go(peer);
}

static void wait_ms(struct peer *peer, double ms)
{
    peer->state = STATE_WAIT;
    atoll_loop_at(peer->loop, atoll_loop_now_ns(peer->loop) + ms * 1e6, on_due, peer, &peer->timer, NULL);
}

/* How much may go out at once from here: to the end, the break, or the end of a step. */
static size_t step_length(const struct peer *peer, const unsigned char *bytes, size_t length)
{
    const struct reply *reply = &peer->reply;
    if (length > reply->break_at - peer->sent)
        length = (size_t)(reply->break_at - peer->sent);
    if (reply->step_bytes && length > reply->step_bytes)
        length = reply->step_bytes;
    if (reply->slow_ms > 0 && !reply->step_bytes && length > 2) {
        const unsigned char *end = memmem(bytes, length, "\n\n", 2);
        if (end && end + 2 < bytes + length)
            length = (size_t)(end + 2 - bytes);
    }
    return length;
}

/* 1: the peer is gone. */
static int reply_breaks(struct peer *peer)
{
    if (peer->reply.break_kind == BREAK_SILENCE) {
        peer->state = STATE_SILENT;
        return 0;
    }
    peer_drop(peer, peer->reply.break_kind == BREAK_RESET);
    return 1;
}

/* 1: the peer is gone. */
static int reply_ends(struct peer *peer)
{
    int is_closed = peer->reply.is_closed;
    if (peer->reply.is_counted)
        tally_note(&peer->service->tally, peer->reply.id, peer->reply.end, peer->reply.input,
                   peer->reply.output);
    reply_fini(&peer->reply);
    peer->state = STATE_READ;
    if (is_closed)
        peer_drop(peer, 0);
    return is_closed;
}

/* 1: the peer is gone. */
static int reply_write(struct peer *peer)
{
    struct reply *reply = &peer->reply;
    uint64_t whole = reply_length(reply);
    while (peer->state == STATE_WRITE && !peer->is_waiting_for_write) {
        size_t length = 0;
        if (peer->sent >= reply->break_at)
            return reply_breaks(peer);
        if (peer->sent == whole)
            return reply_ends(peer);
        const unsigned char *bytes = reply_at(reply, peer->sent, &length);
        ssize_t wrote = bytes_write(peer, bytes, step_length(peer, bytes, length));
        if (wrote == IO_END) {
            peer_drop(peer, 0);
            return 1;
        }
        if (wrote == IO_AGAIN)
            return 0;
        peer->sent += (uint64_t)wrote;
        if (peer->sent < whole && peer->sent < reply->break_at && (reply->step_bytes || reply->slow_ms > 0))
            wait_ms(peer, reply->slow_ms);
    }
    return 0;
}

/* ---- the request ---- */

static void header_read(struct service_request *request, const char *line, size_t *ret_length)
{
    unsigned long long length;
    const char *boundary = strcasestr(line, "boundary=");
    if (strncasecmp(line, "content-length:", 15) == 0 && sscanf(line + 15, "%llu", &length) == 1)
        *ret_length = (size_t)length;
    else if (strncasecmp(line, "authorization: bearer ", 22) == 0)
        snprintf(request->key, sizeof(request->key), "%.*s", (int)strcspn(line + 22, "\r\n"), line + 22);
    else if (strncasecmp(line, "x-api-key: ", 11) == 0)
        snprintf(request->key, sizeof(request->key), "%.*s", (int)strcspn(line + 11, "\r\n"), line + 11);
    else if (strncasecmp(line, "anthropic-version:", 18) == 0)
        request->is_anthropic = 1;
    else if (strncasecmp(line, "content-type:", 13) == 0 && boundary)
        snprintf(request->boundary, sizeof(request->boundary), "%.*s",
                 (int)strcspn(boundary + 9 + (boundary[9] == '"'), "\"\r\n;"),
                 boundary + 9 + (boundary[9] == '"'));
}

/* A proxy is asked with the whole URL: whatever host it names, it is this one.
 * 1: a whole request stands at the beginning of in; 0 not yet; -1 it is none. */
static int request_read(struct peer *peer, size_t *ret_length)
{
    struct service_request *request = &peer->request;
    char *text = (char *)peer->in.data;
    char *head_end = peer->in.length ? memmem(text, peer->in.length, "\r\n\r\n", 4) : NULL;
    size_t body_length = 0;
    if (!head_end) /* what begins otherwise is TLS, or nothing that is known here */
        return peer->in.length > READ_BYTES || (peer->in.length && !isupper(peer->in.data[0])) ? -1 : 0;
    *request = (struct service_request){.method = ""};
    *head_end = '\0'; /* put back below: the head is read again when more comes */
    int is_request =
        sscanf(text, "%15s http://%*[^/ ]%255[^ ?]", request->method, request->path) == 2 ||
        sscanf(text, "%15s %255[^ ?]?%63[^ ]", request->method, request->path, request->query) >= 2;
    for (const char *line = strstr(text, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        header_read(request, line, &body_length);
    }
    *head_end = '\r';
    request->body = head_end + 4;
    request->body_length = body_length;
    *ret_length = (size_t)(request->body - text) + body_length;
    if (!is_request || body_length > REQUEST_LIMIT)
        return -1;
    return peer->in.length >= *ret_length;
}

/* 1: there is something to do. */
static int request_take(struct peer *peer)
{
    size_t length;
    int is_there = request_read(peer, &length);
    if (is_there == 0)
        return 0;
    reply_init(&peer->reply);
    peer->sent = 0;
    if (is_there > 0) {
        service_answer(peer->service, &peer->request, &peer->reply);
        memmove(peer->in.data, peer->in.data + length, peer->in.length - length);
        peer->in.length -= length;
    } else {
        peer->reply.is_closed = 1;
        reply_say(&peer->reply, 400, "not a request");
    }
    peer->state = STATE_WRITE;
    if (peer->reply.delay_ms > 0)
        wait_ms(peer, peer->reply.delay_ms);
    return 1;
}

/* 1: the peer is gone. */
static int peer_fill(struct peer *peer)
{
    static char bytes[READ_BYTES]; /* one thread */
    for (;;) {
        ssize_t got = bytes_read(peer, bytes, sizeof(bytes));
        if (got == IO_AGAIN)
            return 0;
        if (got > 0)
            atoll_buffer_put_bytes(&peer->in, bytes, (size_t)got);
        if (got == IO_END || peer->in.failed) {
            peer_drop(peer, 0);
            return 1;
        }
        if (!peer->tls && (size_t)got < sizeof(bytes))
            return 0;
    }
}

static void on_ready(void *context, int fd, uint32_t epoll_events)
{
    struct peer *peer = context;
    if (epoll_events & EPOLLOUT)
        peer->is_waiting_for_write = 0;
    if ((epoll_events & (EPOLLIN | EPOLLHUP | EPOLLERR)) && peer_fill(peer))
        return;
    peer_go(peer);
}

/* Does what can be done, then waits for what is missing.  The peer may be gone after it. */
static void peer_go(struct peer *peer)
{
    for (;;) {
        if (peer->state == STATE_READ && !request_take(peer))
            break;
        if (peer->state != STATE_WRITE)
            break;
        if (reply_write(peer))
            return;
        if (peer->state != STATE_READ)
            break;
    }
    atoll_loop_watch(peer->loop, peer->fd,
                     peer->is_waiting_for_write ? (uint32_t)(EPOLLIN | EPOLLOUT) : (uint32_t)EPOLLIN,
                     on_ready, peer, NULL);
}

void peer_start(struct atoll_loop *loop, struct service *service, SSL_CTX *tls, int fd)
{
    struct peer *peer = calloc(1, sizeof(*peer));
    if (!peer)
        abort();
    peer->loop = loop;
    peer->service = service;
    peer->fd = fd;
    atoll_buffer_init(&peer->in, REQUEST_LIMIT + READ_BYTES);
    if (tls) {
        peer->tls = SSL_new(tls);
        if (!peer->tls)
            abort();
        SSL_set_fd(peer->tls, fd);
        SSL_set_accept_state(peer->tls);
    }
    service->tally.connections++;
    service->tally.open++;
    atoll_loop_watch(loop, fd, EPOLLIN, on_ready, peer, NULL);
}
