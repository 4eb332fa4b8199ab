/* provider_main.c - the fault server: hostile and flawless model providers on real sockets (README.md).
 *   fault_provider [--tls FILE.pem] [--unix PATH]   prints its URL as one line; ends when its stdin is closed
 *   fault_provider --make-certificates FOLDER */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/provider/certificate.h"
#include "tests/provider/peer.h"

struct server {
    struct atoll_loop *loop;
    struct service service;
    SSL_CTX *tls;
    int fd, is_ended, is_tcp;
};

static void on_caller(void *context, int fd, uint32_t epoll_events)
{
    struct server *server = context;
    for (;;) {
        int caller = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (caller < 0)
            return;
        if (server->is_tcp)
            setsockopt(caller, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        peer_start(server->loop, &server->service, server->tls, caller);
    }
}

static void on_stdin(void *context, int fd, uint32_t epoll_events)
{
    struct server *server = context;
    char bytes[256];
    if (read(fd, bytes, sizeof(bytes)) <= 0)
        server->is_ended = 1;
}

static int listen_tcp(struct server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    server->is_tcp = 1;
    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (server->fd < 0 || bind(server->fd, (struct sockaddr *)&address, length) || listen(server->fd, 4096) ||
        getsockname(server->fd, (struct sockaddr *)&address, &length))
        return -1;
    snprintf(server->service.url, sizeof(server->service.url), "%s://127.0.0.1:%d",
             server->tls ? "https" : "http", ntohs(address.sin_port));
    return 0;
}

static int listen_unix(struct server *server, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    snprintf(server->service.url, sizeof(server->service.url), "unix:%s", path);
    server->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return server->fd < 0 || bind(server->fd, (struct sockaddr *)&address, sizeof(address)) ||
           listen(server->fd, 4096);
}

static int tls_prepare(struct server *server, const char *file)
{
    server->tls = SSL_CTX_new(TLS_server_method());
    if (!server->tls || SSL_CTX_use_certificate_chain_file(server->tls, file) != 1 ||
        SSL_CTX_use_PrivateKey_file(server->tls, file, SSL_FILETYPE_PEM) != 1) {
        fprintf(stderr, "fault_provider: %s: no certificate with key\n", file);
        return -1;
    }
    SSL_CTX_set_mode(server->tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
    return 0;
}

static int serve(struct server *server, const char *unix_path)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    int flags = fcntl(0, F_GETFL);
    fcntl(0, F_SETFL, flags | O_NONBLOCK);
    server->loop = atoll_loop_create(NULL, NULL, &err);
    if (!server->loop || (unix_path ? listen_unix(server, unix_path) : listen_tcp(server)) ||
        atoll_loop_watch(server->loop, server->fd, EPOLLIN, on_caller, server, &err) ||
        atoll_loop_watch(server->loop, 0, EPOLLIN, on_stdin, server, &err)) {
        fprintf(stderr, "fault_provider: %s\n", err.code ? err.text : strerror(errno));
        return 1;
    }
    puts(server->service.url);
    fflush(stdout);
    while (!server->is_ended)
        if (atoll_loop_run(server->loop, 10000, &err))
            return 1;
    return 0;
}

int main(int argc, char **argv)
{
    static struct server server;
    const char *unix_path = NULL;
    struct rlimit files;
    signal(SIGPIPE, SIG_IGN);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (value && strcmp(argv[i], "--make-certificates") == 0)
            return certificates_make(value) ? 1 : 0;
        if (value && strcmp(argv[i], "--unix") == 0) {
            unix_path = value;
        } else if (!value || strcmp(argv[i], "--tls") != 0) {
            fprintf(stderr,
                    "usage: fault_provider [--tls FILE.pem] [--unix PATH] | --make-certificates FOLDER\n");
            return 2;
        } else if (tls_prepare(&server, value)) {
            return 1;
        }
    }
    service_init(&server.service);
    int status = serve(&server, unix_path);
    if (server.service.tally.open)
        _exit(status); /* a peer frees itself when its connection ends: what is open goes with the process */
    service_fini(&server.service);
    SSL_CTX_free(server.tls);
    atoll_loop_destroy(server.loop);
    return status;
}
