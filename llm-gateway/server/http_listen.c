/* http_listen.c - sockets of the door.  The file of a Unix socket outlives a killed gateway: one that nobody answers at
 * is replaced, one that somebody answers at is BUSY. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "llm-gateway/server/http_server_state.h"

#define BACKLOG 1024

static int open_socket(const struct atoll_address *a, struct atoll_err *err)
{
    int one = 1, fd = socket(a->socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return atoll_err_errno(err, errno, "door: no socket");
    if (!a->is_unix)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (a->socket.ss_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    return fd;
}

/* Whether somebody listens there, or something else has the name. */
static int make_room(const struct atoll_address *a, const char *path, struct atoll_err *err)
{
    struct stat status;
    if (lstat(path, &status))
        return errno == ENOENT ? 0 : atoll_err_errno(err, errno, "door: %s", path);
    if (!S_ISSOCK(status.st_mode))
        return atoll_err_set(err, ATOLL_E_EXISTS, "door: %s is there and no socket; choose another path",
                             path);
    int fd = open_socket(a, err);
    if (fd < 0)
        return -1;
    int rc = connect(fd, (const struct sockaddr *)&a->socket, a->length), number = errno;
    close(fd);
    if (!rc || number == EAGAIN) /* EAGAIN: somebody listens, and has many who wait */
        return atoll_err_set(err, ATOLL_E_BUSY,
                             "door: another gateway listens at %s; stop it, or choose another path", path);
    if (number != ECONNREFUSED && number != ENOENT)
        return atoll_err_errno(err, number, "door: %s", path);
    if (unlink(path) && errno != ENOENT)
        return atoll_err_errno(err, errno, "door: the socket %s of an ended gateway cannot be removed", path);
    return 0;
}

static int bind_failed(const char *address, int number, struct atoll_err *err)
{
    if (number == EADDRINUSE)
        return atoll_err_set(err, ATOLL_E_BUSY,
                             "door: '%s' is in use; take another port, or 0 for any that is free", address);
    if (number == EADDRNOTAVAIL)
        return atoll_err_set(err, ATOLL_E_INPUT, "door: '%s' is no address of this machine", address);
    return atoll_err_errno(err, number, "door: cannot listen at '%s'", address);
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

static void name_inet(struct atoll_server *server, int fd)
{
    struct sockaddr_storage name = {.ss_family = AF_INET};
    socklen_t length = sizeof name;
    char host[INET6_ADDRSTRLEN] = "";
    getsockname(fd, (struct sockaddr *)&name, &length);
    if (name.ss_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)&name;
        inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof host);
        snprintf(server->url, sizeof server->url, "http://[%s]:%u", host, ntohs(in->sin6_port));
    } else {
        struct sockaddr_in in;
        memcpy(&in, &name, sizeof in);
        inet_ntop(AF_INET, &in.sin_addr, host, sizeof host);
        snprintf(server->url, sizeof server->url, "http://%s:%u", host, ntohs(in.sin_port));
    }
}

static void name_unix(struct atoll_server *server, const char *path)
{
    struct stat status;
    snprintf(server->url, sizeof server->url, "unix:%s", path);
    if (lstat(path, &status))
        return;
    snprintf(server->path, sizeof server->path, "%s", path);
    server->device = status.st_dev;
    server->inode = status.st_ino;
}

int atoll_door_listen(struct atoll_server *server, const char *address, struct atoll_err *err)
{
    struct atoll_address a;
    if (atoll_address_parse(address, &a, err))
        return -1;
    if (!a.is_local && !server->token)
        return atoll_err_set(err, ATOLL_E_DENIED,
                             "door: others than this machine could use '%s'; give a token (--token FILE, or "
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

void atoll_door_unlink(struct atoll_server *server)
{
    struct stat status;
    if (server->path[0] && !lstat(server->path, &status) && status.st_dev == server->device &&
        status.st_ino == server->inode)
        unlink(server->path);
}
