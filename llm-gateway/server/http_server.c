/* http_server.c - the door opens and closes; libmicrohttpd runs on the loop (server_door.h says how). */
#include "llm-gateway/server/http_server.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "llm-gateway/server/http_server_state.h"

#define HEADER_BYTES  ((size_t)32 << 10) /* of a connection: request line, headers, and what is read at once */
#define CONNECTIONS   4096u
#define SPARE         64u /* connections that are told that there are too many */
#define IDLE_S        75u
#define CLOSING_TURNS 64

static void on_run(void *context)
{
    struct atoll_server *s = context;
    MHD_UNSIGNED_LONG_LONG wait_ms;
    atoll_loop_cancel(s->loop, s->runner);
    s->runner = 0;
    MHD_run(s->daemon);
    if (MHD_get_timeout(s->daemon, &wait_ms) == MHD_YES)
        atoll_loop_at(s->loop, atoll_loop_now_ns(s->loop) + (double)wait_ms * 1e6, on_run, s, &s->runner,
                      NULL);
}

static void on_readable(void *context, int fd, uint32_t events)
{
    on_run(context);
}

void atoll_door_wake(struct atoll_server *s)
{
    atoll_loop_cancel(s->loop, s->runner);
    s->runner = 0;
    atoll_loop_at(s->loop, atoll_loop_now_ns(s->loop), on_run, s, &s->runner, NULL);
}

/* Half of the descriptors this process may have: calls of the broker need the others. */
static unsigned connection_limit(const struct atoll_gateway_config *config)
{
    struct rlimit files;
    unsigned limit = CONNECTIONS;
    if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur / 2 < limit + SPARE)
        limit = files.rlim_cur / 2 > 2 * SPARE ? (unsigned)(files.rlim_cur / 2) - SPARE : SPARE;
    return limit;
}

/* The daemon owns fd from then on. */
static int start_daemon(struct atoll_server *s, int fd, struct atoll_err *err)
{
    s->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, atoll_door_access, s,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, s->connection_limit + SPARE,
        MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, HEADER_BYTES,
        MHD_OPTION_NOTIFY_CONNECTION, atoll_door_notify, s, MHD_OPTION_NOTIFY_COMPLETED, atoll_door_completed,
        s, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (!s->daemon) {
        close(fd);
        return atoll_err_set(err, ATOLL_E_IO, "door: libmicrohttpd does not start");
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (!info)
        return atoll_err_set(err, ATOLL_E_MISSING, "door: this libmicrohttpd has no epoll");
    s->epoll_fd = info->epoll_fd;
    return atoll_loop_watch(s->loop, s->epoll_fd, EPOLLIN, on_readable, s, err);
}

struct atoll_server *atoll_server_create(struct atoll_loop *loop, struct atoll_broker *broker,
                                         const struct atoll_gateway_config *config,
                                         const struct atoll_secret *token, struct atoll_metrics *metrics,
                                         struct atoll_err *err)
{
    if (!config->listen) {
        atoll_err_set(err, ATOLL_E_INPUT, "door: the configuration names no address (listen)");
        return NULL;
    }
    struct atoll_server *s = calloc(1, sizeof *s);
    if (!s) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a door");
        return NULL;
    }
    *s = (struct atoll_server){.loop = loop,
                               .broker = broker,
                               .config = config,
                               .token = token,
                               .metrics = metrics,
                               .epoll_fd = -1,
                               .connection_limit = connection_limit(config)};
    int fd = atoll_door_listen(s, config->listen, err);
    if (fd < 0 || start_daemon(s, fd, err)) {
        atoll_server_destroy(s);
        return NULL;
    }
    return s;
}

/* Suspended connections would hold the daemon: all are woken, and their answers given some turns to get out. */
static void end_visits(struct atoll_server *s)
{
    struct atoll_visit *next;
    for (struct atoll_visit *x = s->visits; x; x = next) {
        next = atoll_visit_next(x);
        atoll_visit_close(x);
    }
    for (int i = 0; i < CLOSING_TURNS && s->visits; i++)
        MHD_run(s->daemon);
}

void atoll_server_destroy(struct atoll_server *s)
{
    if (!s)
        return;
    s->is_closing = 1;
    if (s->epoll_fd >= 0)
        atoll_loop_watch(s->loop, s->epoll_fd, 0, NULL, NULL, NULL);
    if (s->daemon) {
        end_visits(s);
        MHD_stop_daemon(s->daemon);
    }
    atoll_loop_cancel(s->loop, s->runner);
    atoll_loop_cancel(s->loop, s->patience);
    atoll_door_unlink(s);
    free(s);
}

const char *atoll_server_url(const struct atoll_server *server)
{
    return server->url;
}
