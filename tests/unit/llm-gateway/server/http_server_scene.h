/* http_server_scene.h - a door that is open, and callers on raw sockets. */
#ifndef ATOLL_TESTS_UNIT_LLM_GATEWAY_SERVER_HTTP_SERVER_SCENE_H
#define ATOLL_TESTS_UNIT_LLM_GATEWAY_SERVER_HTTP_SERVER_SCENE_H

#include "tests/support/expect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "llm-gateway/http/secret.h"
#include "llm-gateway/server/http_server.h"
#include "tests/provider/launch.h"

#define TOKEN   "correct-horse-battery"
#define GUARD_S 60

struct door {
    struct provider provider;
    char folder[64], address[300];
    struct atoll_gateway_config *config;
    struct atoll_secret *token;
    struct atoll_metrics *metrics;
    struct atoll_loop *loop;
    struct atoll_broker *broker;
    struct atoll_http_server *server;
    double added_ns, frozen_ns; /* frozen: not 0, the clock stands */
};

static inline double clock_ns(void *context)
{
    const struct door *d = context;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return d->frozen_ns > 0 ? d->frozen_ns : (double)now.tv_sec * 1e9 + (double)now.tv_nsec + d->added_ns;
}

static inline void write_file(const char *folder, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(chmod(path, 0600), 0);
}

static inline void remove_file(const char *folder, const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    unlink(path);
}

static inline struct atoll_gateway_config *load_config(const struct door *d, const char *address,
                                                       int has_token)
{
    static const char *const models[] = {
        "ok", "echo", "silent", "delay-150", "status-500-always", "refusal", "tokens-7-3", "status-400"};
    char text[4096], path[128];
    struct atoll_err err = ATOLL_ERR_INIT;
    int used = snprintf(text, sizeof(text),
                        "version: 1\ncalls: {tries: 1}\nlisten: {address: '%s'%s}\n"
                        "endpoints: [{name: fault, provider: chat, url: '%s/v1', proxy: none}]\nmodels:\n",
                        address, has_token ? ", token_file: token" : "", d->provider.url);
    for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++)
        used += snprintf(text + used, sizeof(text) - (size_t)used, "  - {name: %s, endpoint: fault}\n",
                         models[i]);
    snprintf(text + used, sizeof(text) - (size_t)used,
             "ensembles: [{name: both, members: [{model: ok}, {model: echo}]}]\n");
    write_file(d->folder, "gateway.yaml", text);
    snprintf(path, sizeof(path), "%s/gateway.yaml", d->folder);
    struct atoll_gateway_config *config = atoll_gateway_config_load(path, &err);
    if (!config)
        fail_msg("%s", err.text);
    return config;
}

static inline void door_open(struct door *d, const char *address, int has_token)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char path[128];
    *d = (struct door){.folder = "/tmp/atoll-door-XXXXXX"};
    assert_non_null(mkdtemp(d->folder));
    provider_start(&d->provider, NULL, NULL);
    write_file(d->folder, "token", TOKEN "\n");
    snprintf(d->address, sizeof(d->address), "%s", address);
    d->config = load_config(d, address, has_token);
    snprintf(path, sizeof(path), "%s/token", d->folder);
    d->token = has_token ? atoll_secret_of_file(path, &err) : NULL;
    d->metrics = atoll_metrics_create(&err);
    d->loop = atoll_loop_create(clock_ns, d, &err);
    d->broker = atoll_broker_create(d->loop, d->config, d->metrics, &err);
    d->server = d->broker
                    ? atoll_http_server_create(d->loop, d->broker, d->config, d->token, d->metrics, &err)
                    : NULL;
    if (!d->server)
        fail_msg("%s", err.text);
}

static inline void door_close(struct door *d)
{
    atoll_http_server_destroy(d->server);
    atoll_broker_destroy(d->broker);
    atoll_loop_destroy(d->loop);
    atoll_metrics_destroy(d->metrics);
    atoll_secret_destroy(d->token);
    atoll_gateway_config_destroy(d->config);
    provider_stop(&d->provider);
    remove_file(d->folder, "token");
    remove_file(d->folder, "gateway.yaml");
    assert_int_equal(rmdir(d->folder), 0);
}

static inline void turn(struct door *d)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_loop_run(d->loop, atoll_loop_wait_ms(d->loop, 2), &err) || atoll_broker_turn(d->broker, &err))
        fail_msg("%s", err.text);
}

static inline void guard(time_t begun, const char *what)
{
    if (time(NULL) - begun > GUARD_S)
        fail_msg("%s hangs", what);
}

struct client {
    int fd;
    const char *out; /* borrowed; what is still to be sent */
    size_t out_length, at_once;
    char *in; /* NUL-ended */
    size_t in_length;
    int is_over;
};

static inline int connect_to(const char *url)
{
    struct sockaddr_storage name = {.ss_family = AF_INET};
    socklen_t length;
    const char *colon = strrchr(url, ':');
    if (strncmp(url, "unix:", 5) == 0) {
        struct sockaddr_un *un = (struct sockaddr_un *)&name;
        un->sun_family = AF_UNIX;
        snprintf(un->sun_path, sizeof(un->sun_path), "%s", url + 5);
        length = sizeof(*un);
    } else if (strncmp(url, "http://[", 8) == 0) {
        struct sockaddr_in6 *in = (struct sockaddr_in6 *)&name;
        *in = (struct sockaddr_in6){.sin6_family = AF_INET6,
                                    .sin6_port = htons((unsigned short)atoi(colon + 1)),
                                    .sin6_addr = in6addr_loopback};
        length = sizeof(*in);
    } else {
        struct sockaddr_in *in = (struct sockaddr_in *)&name;
        *in = (struct sockaddr_in){.sin_family = AF_INET,
                                   .sin_port = htons((unsigned short)atoi(colon + 1)),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        length = sizeof(*in);
    }
    int fd = socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&name, length))
        fail_msg("%s: %s", url, strerror(errno));
    return fd;
}

static inline void client_open(struct client *c, const struct door *d, const char *out, size_t length)
{
    *c = (struct client){.fd = connect_to(atoll_http_server_url(d->server)),
                         .out = out,
                         .out_length = length,
                         .in = calloc(1, 1)};
}

static inline void client_close(struct client *c)
{
    if (c->fd >= 0)
        close(c->fd);
    free(c->in);
    *c = (struct client){.fd = -1};
}

static inline void client_send(struct client *c)
{
    size_t length = c->at_once && c->at_once < c->out_length ? c->at_once : c->out_length;
    ssize_t sent = length ? send(c->fd, c->out, length, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;
    if (sent > 0) {
        c->out += sent;
        c->out_length -= (size_t)sent;
    } else if (sent < 0 && errno != EAGAIN) {
        c->out_length = 0; /* it wants no more: its answer may be there all the same */
    }
}

static inline void client_receive(struct client *c)
{
    char piece[65536];
    ssize_t got = recv(c->fd, piece, sizeof(piece), MSG_DONTWAIT);
    if (got > 0) {
        c->in = realloc(c->in, c->in_length + (size_t)got + 1);
        assert_non_null(c->in);
        memcpy(c->in + c->in_length, piece, (size_t)got);
        c->in_length += (size_t)got;
        c->in[c->in_length] = 0;
    } else if (got == 0 || errno != EAGAIN) {
        c->is_over = 1;
    }
}

/* One whole response: its end is told by a length, the last chunk, or the connection's end. */
static inline int is_answered(const struct client *c)
{
    const char *head_end = strstr(c->in, "\r\n\r\n"), *length = strcasestr(c->in, "\r\ncontent-length: ");
    if (c->is_over)
        return 1;
    if (!head_end)
        return 0;
    if (length && length < head_end)
        return c->in_length >= (size_t)(head_end + 4 - c->in) + strtoul(length + 18, NULL, 10);
    return strstr(head_end, "\r\n0\r\n\r\n") != NULL;
}

static inline int status_of(const struct client *c)
{
    return strncmp(c->in, "HTTP/1.1 ", 9) == 0 ? atoi(c->in + 9) : 0;
}

static inline void client_run(struct door *d, struct client *c)
{
    time_t begun = time(NULL);
    while (!is_answered(c)) {
        client_send(c);
        turn(d);
        client_receive(c);
        guard(begun, "an answer");
    }
}

static inline int ask_bytes(struct door *d, struct client *c, const char *bytes, size_t length)
{
    client_open(c, d, bytes, length);
    client_run(d, c);
    return status_of(c);
}

#define AUTH "Authorization: Bearer " TOKEN "\r\n"
#define HOST "Host: localhost\r\n"

static inline char *request_text(const char *path, const char *headers, const char *body)
{
    char *text = malloc(strlen(body) + 512);
    assert_non_null(text);
    sprintf(text,
            "POST %s HTTP/1.1\r\n" HOST "%sContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
            path, headers, strlen(body), body);
    return text;
}

static inline int ask(struct door *d, struct client *c, const char *path, const char *body)
{
    char *text = request_text(path, AUTH, body);
    int status = ask_bytes(d, c, text, strlen(text));
    free(text);
    return status;
}

static inline void expect_words(const struct client *c, const char *words)
{
    if (!strstr(c->in, words))
        fail_msg("'%s' is not in\n%.2000s", words, c->in);
}

#define CHAT(model, more)                                                                                    \
    "{\"model\":\"" model "\",\"messages\":[{\"role\":\"user\",\"content\":\"Hello there\"}]" more "}"
#define CHAT_PATH "/v1/chat/completions"

static inline char *body_of(size_t length)
{
    char *body = malloc(length + 1);
    assert_non_null(body);
    memset(body, ' ', length);
    body[length] = 0;
    return body;
}

#define POST "POST " CHAT_PATH " HTTP/1.1\r\n" HOST

/* After each of them the door is as it was. */
static inline void expect_alive(struct door *d)
{
    struct client c;
    static const char request[] = "GET /healthz HTTP/1.1\r\n" HOST "\r\n";
    assert_int_equal(ask_bytes(d, &c, request, sizeof(request) - 1), 200);
    client_close(&c);
}

#endif
