/* http_connection.c - deadlines of clients: who sends a byte now and then keeps a connection alive for libmicrohttpd,
 * but not for us.  All have the same patience, so the list by deadline is a queue and one timer serves it. */
#include <math.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "llm-gateway/server/http_server_state.h"

static void set_timer(struct atoll_server *server);

static void list_remove(struct atoll_door_connection *c)
{
    struct atoll_server *s = c->server;
    if (!c->is_listed)
        return;
    *(c->previous ? &c->previous->next : &s->first) = c->next;
    *(c->next ? &c->next->previous : &s->last) = c->previous;
    c->next = c->previous = NULL;
    c->is_listed = 0;
}

static void list_append(struct atoll_door_connection *c)
{
    struct atoll_server *s = c->server;
    c->previous = s->last;
    *(s->last ? &s->last->next : &s->first) = c;
    s->last = c;
    c->is_listed = 1;
}

/* Whether a request is being read, and nothing else is under way on this connection. */
static int is_reading(const struct atoll_door_connection *c)
{
    return c->visit ? atoll_visit_is_reading(c->visit) : !c->is_used;
}

static void expire(struct atoll_door_connection *c)
{
    static const char answer[] =
        "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    list_remove(c);
    if (is_reading(c))
        send(c->fd, answer, sizeof answer - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    shutdown(c->fd, SHUT_RDWR); /* the daemon reads the end and closes */
}

static void on_patience(void *context)
{
    struct atoll_server *s = context;
    double now_ns = atoll_loop_now_ns(s->loop);
    s->patience = 0;
    while (s->first && s->first->deadline_ns <= now_ns)
        expire(s->first);
    set_timer(s);
    atoll_door_wake(s);
}

static void set_timer(struct atoll_server *s)
{
    if (s->first && !s->patience)
        atoll_loop_at(s->loop, s->first->deadline_ns, on_patience, s, &s->patience, NULL);
}

void atoll_door_expect(struct atoll_door_connection *c, double patience_s)
{
    if (!c)
        return;
    list_remove(c);
    if (patience_s > 0) {
        c->deadline_ns = atoll_loop_now_ns(c->server->loop) + patience_s * 1e9;
        list_append(c);
    }
    set_timer(c->server); /* where it stands already it comes too early at worst, and is set again */
}

static void *begin(struct atoll_server *server, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct atoll_door_connection *c = info ? calloc(1, sizeof *c) : NULL;
    if (!c)
        return NULL; /* its requests find no context and are refused */
    c->server = server;
    c->fd = info->connect_fd;
    server->connection_count++;
    atoll_door_expect(c, ATOLL_DOOR_PATIENCE_S);
    return c;
}

void atoll_door_notify(void *server, struct MHD_Connection *connection, void **context,
                       enum MHD_ConnectionNotificationCode what)
{
    struct atoll_door_connection *c = *context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *context = begin(server, connection);
    } else if (c) {
        list_remove(c);
        c->server->connection_count--;
        *context = NULL;
        free(c);
    }
}
