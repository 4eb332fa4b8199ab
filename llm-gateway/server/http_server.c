/* http_server.c - opens and closes: the socket that listens, and libmicrohttpd's daemon on it.  The file of a Unix socket
 * outlives a killed gateway: one that nobody answers at is replaced, one that somebody answers at is BUSY. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "llm-gateway/http/address.h"
#include "llm-gateway/server/http_server_state.h"

#define BACKLOG       1024
#define HEADER_BYTES  ((size_t)32 << 10) /* of a connection: request line, headers, and what is read at once */
#define CONNECTIONS   4096u
#define SPARE         64u /* connections that are told that there are too many */
#define IDLE_S        75u
#define CLOSING_TURNS 64

/* ---- the socket ---- */

static int open_socket(const struct atoll_address *a, struct atoll_err *err)
{
    int one = 1, fd = socket(a->socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return atoll_err_errno(err, errno, "listen: no socket");
    if (!a->is_unix)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (a->socket.ss_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
    return fd;
}

/* Whether somebody listens there, or something else has the name. */
static int make_room(const struct atoll_address *a, const char *path, struct atoll_err *err)
{
    struct stat status;
    if (lstat(path, &status))
        return errno == ENOENT ? 0 : atoll_err_errno(err, errno, "listen: %s", path);
    if (!S_ISSOCK(status.st_mode))
        return atoll_err_set(err, ATOLL_E_EXISTS, "listen: %s is there and no socket; choose another path",
                             path);
    int fd = open_socket(a, err);
    if (fd < 0)
        return -1;
    int rc = connect(fd, (const struct sockaddr *)&a->socket, a->length), number = errno;
    close(fd);
    if (!rc || number == EAGAIN) /* EAGAIN: somebody listens, and has many who wait */
        return atoll_err_set(err, ATOLL_E_BUSY,
                             "listen: another gateway listens at %s; stop it, or choose another path", path);
    if (number != ECONNREFUSED && number != ENOENT)
        return atoll_err_errno(err, number, "listen: %s", path);
    if (unlink(path) && errno != ENOENT)
        return atoll_err_errno(err, errno, "listen: the socket %s of an ended gateway cannot be removed",
                               path);
    return 0;
}

static int bind_failed(const char *address, int number, struct atoll_err *err)
{
    if (number == EADDRINUSE)
        return atoll_err_set(err, ATOLL_E_BUSY,
                             "listen: '%s' is in use; take another port, or 0 for any that is free", address);
    if (number == EADDRNOTAVAIL)
        return atoll_err_set(err, ATOLL_E_INPUT, "listen: '%s' is no address of this machine", address);
    return atoll_err_errno(err, number, "listen: cannot listen at '%s'", address);
}

/* The socket's file is never open to others, not even for a moment. */
static int bind_socket(int fd, const struct atoll_address *a)
{
    mode_t mask = a->is_unix ? umask(0177) : 0;
    int rc = bind(fd, (const struct sockaddr *)&a->socket, a->length), number = errno;
    if (a->is_unix)
        umask(mask);
    errno = number;
    return rc;
}

static void name_inet(struct atoll_http_server *server, int fd)
{
    struct sockaddr_storage name = {.ss_family = AF_INET};
    socklen_t length = sizeof(name);
    char host[INET6_ADDRSTRLEN] = "";
    getsockname(fd, (struct sockaddr *)&name, &length);
    if (name.ss_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)&name;
        inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof(host));
        snprintf(server->url, sizeof(server->url), "http://[%s]:%u", host, ntohs(in->sin6_port));
    } else {
        struct sockaddr_in in;
        memcpy(&in, &name, sizeof(in));
        inet_ntop(AF_INET, &in.sin_addr, host, sizeof(host));
        snprintf(server->url, sizeof(server->url), "http://%s:%u", host, ntohs(in.sin_port));
    }
}

static void name_unix(struct atoll_http_server *server, const char *path)
{
    struct stat status;
    snprintf(server->url, sizeof(server->url), "unix:%s", path);
    if (lstat(path, &status))
        return;
    snprintf(server->path, sizeof(server->path), "%s", path);
    server->device = status.st_dev;
    server->inode = status.st_ino;
}

/* A socket that listens, and the URL; -1. */
static int start_listening(struct atoll_http_server *server, const char *address, struct atoll_err *err)
{
    struct atoll_address a;
    if (atoll_address_parse(address, &a, err))
        return -1;
    if (!a.is_local && !server->token)
        return atoll_err_set(
            err, ATOLL_E_DENIED,
            "listen: others than this machine could use '%s'; give a token (--token FILE, or "
            "token_file in listen)",
            address);
    const char *path = a.is_unix ? address + strlen("unix:") : NULL;
    if (path && make_room(&a, path, err))
        return -1;
    int fd = open_socket(&a, err);
    if (fd < 0)
        return -1;
    if (bind_socket(fd, &a) || listen(fd, BACKLOG)) {
        bind_failed(address, errno, err);
        close(fd);
        return -1;
    }
    server->is_unix = a.is_unix;
    if (path)
        name_unix(server, path);
    else
        name_inet(server, fd);
    return fd;
}

/* ---- the daemon ---- */

static void on_readable(void *context, int fd, uint32_t events)
{
    atoll_http_daemon_run(context);
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
static int start_daemon(struct atoll_http_server *s, int fd, struct atoll_err *err)
{
    s->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, atoll_http_request_access, s,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, s->connection_limit + SPARE,
        MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, HEADER_BYTES,
        MHD_OPTION_NOTIFY_CONNECTION, atoll_http_connection_notify, s, MHD_OPTION_NOTIFY_COMPLETED,
        atoll_http_request_completed, s, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (!s->daemon) {
        close(fd);
        return atoll_err_set(err, ATOLL_E_IO, "libmicrohttpd does not start");
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (!info)
        return atoll_err_set(err, ATOLL_E_MISSING, "this libmicrohttpd has no epoll");
    s->epoll_fd = info->epoll_fd;
    return atoll_loop_watch(s->loop, s->epoll_fd, EPOLLIN, on_readable, s, err);
}

struct atoll_http_server *atoll_http_server_create(struct atoll_loop *loop, struct atoll_broker *broker,
                                                   const struct atoll_gateway_config *config,
                                                   const struct atoll_secret *token,
                                                   struct atoll_metrics *metrics, struct atoll_err *err)
{
    if (!config->listen) {
        atoll_err_set(err, ATOLL_E_INPUT, "the configuration names no address (listen)");
        return NULL;
    }
    struct atoll_http_server *s = calloc(1, sizeof(*s));
    if (!s) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for an HTTP server");
        return NULL;
    }
    *s = (struct atoll_http_server){.loop = loop,
                                    .broker = broker,
                                    .config = config,
                                    .token = token,
                                    .metrics = metrics,
                                    .epoll_fd = -1,
                                    .connection_limit = connection_limit(config)};
    int fd = start_listening(s, config->listen, err);
    if (fd < 0 || start_daemon(s, fd, err)) {
        atoll_http_server_destroy(s);
        return NULL;
    }
    return s;
}

void atoll_http_server_destroy(struct atoll_http_server *s)
{
    struct stat status;
    if (!s)
        return;
    s->is_closing = 1;
    if (s->epoll_fd >= 0)
        atoll_loop_watch(s->loop, s->epoll_fd, 0, NULL, NULL, NULL);
    if (s->daemon) {
        /* Suspended connections would hold the daemon: all are woken, and their responses given some turns to get out. */
        atoll_http_requests_close(s);
        for (int i = 0; i < CLOSING_TURNS && s->requests; i++)
            MHD_run(s->daemon);
        MHD_stop_daemon(s->daemon);
    }
    atoll_loop_cancel(s->loop, s->runner);
    atoll_loop_cancel(s->loop, s->patience);
    if (s->path[0] && lstat(s->path, &status) == 0 && status.st_dev == s->device && status.st_ino == s->inode)
        unlink(s->path);
    free(s);
}

const char *atoll_http_server_url(const struct atoll_http_server *server)
{
    return server->url;
}
