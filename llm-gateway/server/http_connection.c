/* http_connection.c - turns of the daemon, and deadlines for what clients must do: all clients have the same patience, so the list by deadline is a queue and one timer serves it. */
#include "llm-gateway/server/http_server_state.h"

#include <stdlib.h>
#include <sys/socket.h>

/* ---- the daemon ---- */

void atoll_http_daemon_run(void *server)
{
    struct atoll_http_server *s = server;
    MHD_UNSIGNED_LONG_LONG wait_ms;
    atoll_loop_cancel(s->loop, s->runner);
    s->runner = 0;
    MHD_run(s->daemon);
    if (MHD_get_timeout(s->daemon, &wait_ms) == MHD_YES) {
        atoll_loop_at(s->loop, atoll_loop_now_ns(s->loop) + (double)wait_ms * 1e6, atoll_http_daemon_run, s,
                      &s->runner, NULL);
    }
}

void atoll_http_daemon_wake(struct atoll_http_server *s)
{
    atoll_loop_cancel(s->loop, s->runner);
    s->runner = 0;
    atoll_loop_at(s->loop, atoll_loop_now_ns(s->loop), atoll_http_daemon_run, s, &s->runner, NULL);
}

/* ---- deadlines ---- */

static void list_remove(struct atoll_http_connection *c)
{
    struct atoll_http_server *s = c->server;
    if (!c->is_listed)
        return;
    *(c->previous ? &c->previous->next : &s->first) = c->next;
    *(c->next ? &c->next->previous : &s->last) = c->previous;
    c->next = c->previous = NULL;
    c->is_listed = 0;
}

static void set_timer(struct atoll_http_server *server);

static void on_patience(void *context)
{
    static const char timeout[] =
        "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    struct atoll_http_server *s = context;
    double now_ns = atoll_loop_now_ns(s->loop);
    s->patience = 0;
    while (s->first && s->first->deadline_ns <= now_ns) {
        struct atoll_http_connection *c = s->first;
        list_remove(c);
        if (c->is_reading)
            send(c->fd, timeout, sizeof(timeout) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        shutdown(c->fd, SHUT_RDWR); /* the daemon reads the end and closes */
    }
    set_timer(s);
    atoll_http_daemon_wake(s);
}

static void set_timer(struct atoll_http_server *s)
{
    if (s->first && !s->patience)
        atoll_loop_at(s->loop, s->first->deadline_ns, on_patience, s, &s->patience, NULL);
}

void atoll_http_connection_expect(struct atoll_http_connection *c, double patience_s)
{
    if (!c)
        return;
    struct atoll_http_server *s = c->server;
    list_remove(c);
    if (patience_s > 0) {
        c->deadline_ns = atoll_loop_now_ns(s->loop) + patience_s * 1e9;
        c->previous = s->last;
        *(s->last ? &s->last->next : &s->first) = c;
        s->last = c;
        c->is_listed = 1;
    }
    set_timer(s); /* where it stands already it comes too early at worst, and is set again */
}

void atoll_http_connection_notify(void *server, struct MHD_Connection *connection, void **context,
                                  enum MHD_ConnectionNotificationCode what)
{
    struct atoll_http_connection *c = *context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        c = info ? calloc(1, sizeof(*c)) : NULL;
        *context = c;
        if (!c)
            return; /* its requests find no context and are refused */
        c->server = server;
        c->fd = info->connect_fd;
        c->is_reading = 1;
        c->server->connection_count++;
        atoll_http_connection_expect(c, ATOLL_HTTP_PATIENCE_S);
    } else if (c) {
        list_remove(c);
        c->server->connection_count--;
        *context = NULL;
        free(c);
    }
}
