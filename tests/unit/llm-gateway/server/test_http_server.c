/* test_http_server.c - the HTTP server, asked by raw sockets that keep to the rules or do not; behind it the real broker, and the fault
 * server that plays a provider.  The loop's clock is the system's plus what a test adds to it: patience ends without
 * waiting.  Guards against what hangs are in seconds of the system's clock and decide nothing. */
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

static double clock_ns(void *context)
{
    const struct door *d = context;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return d->frozen_ns > 0 ? d->frozen_ns : (double)now.tv_sec * 1e9 + (double)now.tv_nsec + d->added_ns;
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(chmod(path, 0600), 0);
}

static void remove_file(const char *folder, const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    unlink(path);
}

static struct atoll_gateway_config *load_config(const struct door *d, const char *address, int has_token)
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

static void door_open(struct door *d, const char *address, int has_token)
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

static void door_close(struct door *d)
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

static void turn(struct door *d)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_loop_run(d->loop, atoll_loop_wait_ms(d->loop, 2), &err) || atoll_broker_turn(d->broker, &err))
        fail_msg("%s", err.text);
}

static void guard(time_t begun, const char *what)
{
    if (time(NULL) - begun > GUARD_S)
        fail_msg("%s hangs", what);
}

/* ---- clients ---- */

struct client {
    int fd;
    const char *out; /* borrowed; what is still to be sent */
    size_t out_length, at_once;
    char *in; /* NUL-ended */
    size_t in_length;
    int is_over;
};

static int connect_to(const char *url)
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

static void client_open(struct client *c, const struct door *d, const char *out, size_t length)
{
    *c = (struct client){.fd = connect_to(atoll_http_server_url(d->server)),
                         .out = out,
                         .out_length = length,
                         .in = calloc(1, 1)};
}

static void client_close(struct client *c)
{
    if (c->fd >= 0)
        close(c->fd);
    free(c->in);
    *c = (struct client){.fd = -1};
}

static void client_send(struct client *c)
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

static void client_receive(struct client *c)
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
static int is_answered(const struct client *c)
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

static int status_of(const struct client *c)
{
    return strncmp(c->in, "HTTP/1.1 ", 9) == 0 ? atoi(c->in + 9) : 0;
}

static void client_run(struct door *d, struct client *c)
{
    time_t begun = time(NULL);
    while (!is_answered(c)) {
        client_send(c);
        turn(d);
        client_receive(c);
        guard(begun, "an answer");
    }
}

static int ask_bytes(struct door *d, struct client *c, const char *bytes, size_t length)
{
    client_open(c, d, bytes, length);
    client_run(d, c);
    return status_of(c);
}

#define AUTH "Authorization: Bearer " TOKEN "\r\n"
#define HOST "Host: localhost\r\n"

static char *request_text(const char *path, const char *headers, const char *body)
{
    char *text = malloc(strlen(body) + 512);
    assert_non_null(text);
    sprintf(text,
            "POST %s HTTP/1.1\r\n" HOST "%sContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
            path, headers, strlen(body), body);
    return text;
}

static int ask(struct door *d, struct client *c, const char *path, const char *body)
{
    char *text = request_text(path, AUTH, body);
    int status = ask_bytes(d, c, text, strlen(text));
    free(text);
    return status;
}

static void expect_words(const struct client *c, const char *words)
{
    if (!strstr(c->in, words))
        fail_msg("'%s' is not in\n%.2000s", words, c->in);
}

#define CHAT(model, more)                                                                                    \
    "{\"model\":\"" model "\",\"messages\":[{\"role\":\"user\",\"content\":\"Hello there\"}]" more "}"
#define CHAT_PATH "/v1/chat/completions"

/* ---- tests ---- */

static void test_answers(void **state)
{
    static const struct {
        const char *path, *body;
        int status;
        const char *words;
    } rows[] = {
        {CHAT_PATH, CHAT("echo", ""), 200, "\"content\":\"Hello there\""},
        {CHAT_PATH, CHAT("both", ""), 200, "\"object\":\"chat.completion\""},
        {CHAT_PATH, CHAT("tokens-7-3", ""), 200, "\"prompt_tokens\":7,\"completion_tokens\":3"},
        {CHAT_PATH, CHAT("refusal", ""), 200, "\"finish_reason\":\"content_filter\""},
        {CHAT_PATH, CHAT("status-500-always", ""), 503, "\"type\":\"overloaded\""},
        {CHAT_PATH, CHAT("status-400", ""), 400, "\"type\":\"invalid\""},
        {CHAT_PATH, CHAT("nobody", ""), 404, "model_not_found"},
        {CHAT_PATH, CHAT("ehco", ""), 404, "did you mean 'echo'?"},
        {CHAT_PATH, CHAT("echo", ",\"stream\":false"), 200, "\"content\":\"Hello there\""},
        {CHAT_PATH, CHAT("echo", ",\"stream\":true"), 400, "the gateway answers in one piece; send false"},
        {"/v1/embeddings", "{\"model\":\"ok\",\"input\":[\"a\",\"b\"]}", 200, "\"embedding\""},
        {"/v1/embeddings", CHAT("ok", ""), 400, "'input' is missing"},
        {CHAT_PATH, "{\"model\":\"ok\",\"input\":\"a\"}", 400, "send 'messages'"},
    };
    struct door d;
    door_open(&d, "127.0.0.1:0", 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct client c;
        int status = ask(&d, &c, rows[i].path, rows[i].body);
        if (status != rows[i].status)
            fail_msg("row %zu: %.2000s", i, c.in);
        expect_words(&c, rows[i].words);
        client_close(&c);
    }
    door_close(&d);
}

static void test_pages(void **state)
{
    static const struct {
        const char *request, *words;
    } rows[] = {
        {"GET /healthz HTTP/1.1\r\n" HOST "\r\n", "{\"status\":\"ok\"}"},
        {"GET /v1/models HTTP/1.1\r\n" HOST AUTH "\r\n",
         "{\"id\":\"both\",\"object\":\"model\",\"created\":0,\"owned_by\":\"ensemble\",\"atoll\":{\"tools\":"
         "true}}"},
        {"GET /v1/models HTTP/1.1\r\n" HOST AUTH "\r\n",
         "{\"id\":\"silent\",\"object\":\"model\",\"created\":0,\"owned_by\":\"fault\",\"atoll\":{\"tools\":"
         "true}}"},
        {"GET /metrics HTTP/1.1\r\n" HOST AUTH "\r\n", "atoll_gateway_in_flight 0\n"},
        {"GET /metrics HTTP/1.0\r\n" AUTH "\r\n", "atoll_gateway_connections 1\n"},
    };
    struct door d;
    door_open(&d, "[::1]:0", 1);
    assert_non_null(strstr(atoll_http_server_url(d.server), "http://[::1]:"));
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct client c;
        if (ask_bytes(&d, &c, rows[i].request, strlen(rows[i].request)) != 200)
            fail_msg("row %zu: %s", i, c.in);
        expect_words(&c, rows[i].words);
        client_close(&c);
    }
    door_close(&d);
}

static char *body_of(size_t length)
{
    char *body = malloc(length + 1);
    assert_non_null(body);
    memset(body, ' ', length);
    body[length] = 0;
    return body;
}

#define POST "POST " CHAT_PATH " HTTP/1.1\r\n" HOST

static const struct {
    const char *name, *request;
    int status;
    const char *words;
} hostile[] = {
    {"no token", POST "Content-Length: 2\r\n\r\n{}", 401, "WWW-Authenticate: Bearer"},
    {"wrong token", POST "Authorization: Bearer correct-horse-batterx\r\nContent-Length: 2\r\n\r\n{}", 401,
     "invalid_api_key"},
    {"shorter token", POST "Authorization: Bearer correct-horse\r\nContent-Length: 2\r\n\r\n{}", 401,
     "invalid_api_key"},
    {"longer token", POST "Authorization: Bearer " TOKEN "x\r\nContent-Length: 2\r\n\r\n{}", 401,
     "invalid_api_key"},
    {"empty token", POST "Authorization: Bearer \r\nContent-Length: 2\r\n\r\n{}", 401, "invalid_api_key"},
    {"other scheme", POST "Authorization: Basic " TOKEN "\r\nContent-Length: 2\r\n\r\n{}", 401,
     "invalid_api_key"},
    {"models without token", "GET /v1/models HTTP/1.1\r\n" HOST "\r\n", 401, "invalid_api_key"},
    {"metrics without token", "GET /metrics HTTP/1.1\r\n" HOST "\r\n", 401, "invalid_api_key"},
    {"unknown path without token", "GET /secret HTTP/1.1\r\n" HOST "\r\n", 401, "invalid_api_key"},
    {"unknown path", "GET /v1/other HTTP/1.1\r\n" HOST AUTH "\r\n", 404, "there are /v1/chat/completions"},
    {"path with dots", "GET /v1/../metrics HTTP/1.1\r\n" HOST AUTH "\r\n", 404, "unknown_url"},
    {"wrong method", "GET " CHAT_PATH " HTTP/1.1\r\n" HOST AUTH "\r\n", 405, "Allow: POST"},
    {"wrong method", "DELETE /v1/models HTTP/1.1\r\n" HOST AUTH "\r\n", 405, "Allow: GET"},
    {"no method", "FLY /healthz HTTP/1.1\r\n" HOST "\r\n", 405, "Allow: GET"},
    {"empty body", POST AUTH "Content-Length: 0\r\n\r\n", 400, "invalid_request_error"},
    {"no JSON", POST AUTH "Content-Length: 5\r\n\r\nhello", 400, "invalid_request_error"},
    {"half JSON", POST AUTH "Content-Length: 9\r\n\r\n{\"model\":", 400, "invalid_request_error"},
    {"bad UTF-8", POST AUTH "Content-Length: 17\r\n\r\n{\"model\":\"o\xff\xfek\"} ", 400,
     "invalid_request_error"},
    {"no messages", POST AUTH "Content-Length: 14\r\n\r\n{\"model\":\"ok\"}", 400, "messages"},
    {"array", POST AUTH "Content-Length: 2\r\n\r\n[]", 400, "invalid_request_error"},
    {"chunked", POST AUTH "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n4\r\n    \r\n1\r\n}\r\n0\r\n\r\n", 400,
     "invalid_request_error"},
    {"bad chunks", POST AUTH "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", 400, ""},
    {"no HTTP", "hello\r\n\r\n", 0, ""}, /* closed: there is nobody to answer to */
    {"no Host", "GET /healthz HTTP/1.1\r\n\r\n", 400, ""},
    {"length is no number", POST AUTH "Content-Length: many\r\n\r\n{}", 400, ""},
    {"far too large", POST AUTH "Content-Length: 99999999999\r\n\r\n", 413, "a request has at most 8 MiB"},
    {"asks before it sends", POST AUTH "Expect: 100-continue\r\nContent-Length: 9000000\r\n\r\n", 413,
     "a request has at most 8 MiB"},
    {"asks without token", POST "Expect: 100-continue\r\nContent-Length: 9\r\n\r\n", 401, "invalid_api_key"},
};

/* After each of them the door is as it was. */
static void expect_alive(struct door *d)
{
    struct client c;
    static const char request[] = "GET /healthz HTTP/1.1\r\n" HOST "\r\n";
    assert_int_equal(ask_bytes(d, &c, request, sizeof(request) - 1), 200);
    client_close(&c);
}

static void test_hostile(void **state)
{
    struct door d;
    door_open(&d, "127.0.0.1:0", 1);
    for (size_t pace = 0; pace < 2; pace++) { /* at once, and byte by byte */
        for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++) {
            struct client c;
            client_open(&c, &d, hostile[i].request, strlen(hostile[i].request));
            c.at_once = pace;
            client_run(&d, &c);
            if (status_of(&c) != hostile[i].status || !strstr(c.in, hostile[i].words))
                fail_msg("%s: %.1000s", hostile[i].name, c.in);
            if (strstr(c.in, TOKEN))
                fail_msg("%s: the answer holds the token", hostile[i].name);
            client_close(&c);
        }
    }
    expect_alive(&d);
    assert_int_equal(atoll_broker_count(d.broker), 0);
    door_close(&d);
}

static void test_large(void **state)
{
    static const struct {
        size_t length;
        int status;
    } rows[] = {{(8 << 20) - 200, 400}, {(8 << 20) + 1, 413}, {20 << 20, 413}};
    struct door d;
    door_open(&d, "127.0.0.1:0", 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct client c;
        char *body = body_of(rows[i].length);
        if (ask(&d, &c, CHAT_PATH, body) != rows[i].status)
            fail_msg("%zu bytes: %.500s", rows[i].length, c.in);
        client_close(&c);
        free(body);
    }
    char *chunk = body_of(1 << 20), *text = malloc((12u << 20) + 4096);
    size_t length = (size_t)sprintf(text, POST AUTH "Transfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 12; i++)
        length += (size_t)sprintf(text + length, "100000\r\n%s\r\n", chunk);
    length += (size_t)sprintf(text + length, "0\r\n\r\n");
    struct client c;
    assert_int_equal(ask_bytes(&d, &c, text, length), 413);
    expect_words(&c, "request_too_large");
    client_close(&c);
    memset(chunk, 'x', 40000); /* one header of 40 KB */
    chunk[40000] = 0;
    length = (size_t)sprintf(text, "GET /healthz HTTP/1.1\r\n" HOST "X: %s\r\n\r\n", chunk);
    assert_int_equal(ask_bytes(&d, &c, text, length), 431);
    client_close(&c);
    length = (size_t)sprintf(text, "GET /%s HTTP/1.1\r\n" HOST "\r\n", chunk);
    int status = ask_bytes(&d, &c, text, length);
    assert_true(status == 414 || status == 431);
    client_close(&c);
    expect_alive(&d);
    free(chunk);
    free(text);
    door_close(&d);
}

static void await_count(struct door *d, unsigned count)
{
    time_t begun = time(NULL);
    while (atoll_broker_count(d->broker) != count) {
        turn(d);
        guard(begun, "a call");
    }
}

/* Callers that go: with half a request, and while a model thinks. */
static void test_leavers(void **state)
{
    struct door d;
    struct client c;
    door_open(&d, "127.0.0.1:0", 1);
    char *text = request_text(CHAT_PATH, AUTH, CHAT("silent", ""));
    size_t length = strlen(text);
    for (size_t sent = 1; sent < length; sent += 7) {
        client_open(&c, &d, text, sent);
        client_send(&c);
        turn(&d);
        client_close(&c);
        turn(&d);
    }
    free(text);
    for (int i = 0; i < 4; i++) {
        text = request_text(CHAT_PATH, AUTH, CHAT("silent", ""));
        client_open(&c, &d, text, strlen(text));
        client_send(&c);
        await_count(&d, 1);
        if (i >= 2) { /* more of them on the same connection does not hide that it ends */
            c.out = text;
            c.out_length = 20;
            client_send(&c);
            turn(&d);
        }
        client_close(&c);
        turn(&d);
        d.added_ns += i >= 2 ? 11e9 : 0;
        d.frozen_ns =
            i >= 2 ? 0 : clock_ns(&d); /* no tick comes: what was sent is seen, not what time it is */
        await_count(&d, 0);
        d.frozen_ns = 0;
        free(text);
    }
    expect_alive(&d);
    door_close(&d);
}

static void test_pipelined(void **state)
{
    struct door d;
    struct client c;
    char text[2048] = "";
    door_open(&d, "127.0.0.1:0", 1);
    for (int i = 0; i < 3; i++) {
        char *one = request_text(CHAT_PATH, AUTH, i == 1 ? CHAT("nobody", "") : CHAT("echo", ""));
        strcat(text, one);
        free(one);
    }
    strcat(text, "GET /healthz HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n");
    client_open(&c, &d, text, strlen(text));
    time_t begun = time(NULL);
    while (!c.is_over) {
        client_send(&c);
        turn(&d);
        client_receive(&c);
        guard(begun, "a pipeline");
    }
    const char *at = c.in;
    static const char *const pieces[] = {"HTTP/1.1 200",    "Hello there",        "HTTP/1.1 404",
                                         "model_not_found", "HTTP/1.1 200",       "Hello there",
                                         "HTTP/1.1 200",    "{\"status\":\"ok\"}"};
    for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
        at = strstr(at, pieces[i]);
        if (!at)
            fail_msg("piece %zu does not come in its turn:\n%s", i, c.in);
        at++;
    }
    client_close(&c);
    door_close(&d);
}

static void test_crowd(void **state)
{
    enum { CROWD = 200 };
    static struct client clients[CROWD];
    struct door d;
    time_t begun = time(NULL);
    door_open(&d, "127.0.0.1:0", 1);
    char *text = request_text(CHAT_PATH, AUTH, CHAT("delay-150", ""));
    for (int i = 0; i < CROWD; i++)
        client_open(&clients[i], &d, text, strlen(text));
    for (int left = CROWD; left;) {
        turn(&d);
        left = 0;
        for (int i = 0; i < CROWD; i++) {
            if (is_answered(&clients[i]))
                continue;
            left++;
            client_send(&clients[i]);
            client_receive(&clients[i]);
        }
        guard(begun, "a crowd");
    }
    for (int i = 0; i < CROWD; i++) {
        if (status_of(&clients[i]) != 200)
            fail_msg("client %d: %s", i, clients[i].in);
        client_close(&clients[i]);
    }
    free(text);
    expect_alive(&d);
    door_close(&d);
}

/* More connections than a door with few descriptors has: they hear of it. */
static void test_too_many(void **state)
{
    enum { CROWD = 150 };
    static struct client clients[CROWD];
    struct rlimit old, few;
    struct door d;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    few = (struct rlimit){.rlim_cur = 340, .rlim_max = old.rlim_max}; /* 340 / 2 - 64 = 106 */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    door_open(&d, "127.0.0.1:0", 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    for (int i = 0; i < CROWD; i++)
        client_open(&clients[i], &d, "", 0);
    time_t begun = time(NULL);
    struct client late;
    static const char request[] = "GET /healthz HTTP/1.1\r\n" HOST "\r\n";
    for (int i = 0; i < 10; i++)
        turn(&d);
    assert_int_equal(ask_bytes(&d, &late, request, sizeof(request) - 1), 503);
    expect_words(&late, "too many connections");
    expect_words(&late, "Retry-After: 1");
    client_close(&late);
    for (int i = 0; i < CROWD; i++)
        client_close(&clients[i]);
    for (int i = 0; i < 10; i++)
        turn(&d);
    expect_alive(&d);
    guard(begun, "a full door");
    door_close(&d);
}

/* Who sends a byte now and then has as little time as who sends none. */
static void test_patience(void **state)
{
    static const char *const texts[] = {"", "GET /heal", POST AUTH "Content-Length: 10\r\n\r\n12345"};
    struct door d;
    door_open(&d, "127.0.0.1:0", 1);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct client c;
        client_open(&c, &d, texts[i], strlen(texts[i]));
        client_send(&c);
        for (int step = 0; step < 5; step++)
            turn(&d);
        d.added_ns += 30e9;
        turn(&d);
        client_receive(&c);
        assert_false(c.is_over);
        d.added_ns += 31e9;
        client_run(&d, &c);
        if (status_of(&c) != 408)
            fail_msg("row %zu: %s", i, c.in);
        time_t begun = time(NULL);
        while (!c.is_over) { /* and it is closed */
            turn(&d);
            client_receive(&c);
            guard(begun, "a connection without patience");
        }
        client_close(&c);
    }
    expect_alive(&d);
    door_close(&d);
}

/* What another program on the way could take for another request, or for two.  Honest ones around it are answered. */
static void test_ambiguous(void **state)
{
#define NEXT "GET /v1/models HTTP/1.1\r\n" HOST AUTH "Connection: close\r\n\r\n"
#define ROW(status, text)                                                                                    \
    {                                                                                                        \
        status, text NEXT, sizeof(text NEXT) - 1                                                             \
    }
    static const struct {
        int status;
        const char *bytes;
        size_t length;
    } rows[] = {
        ROW(200, "GET /healthz HTTP/1.1\r\n" HOST "\r\n"),
        ROW(200, "GET /healthz HTTP/1.1\r\n" HOST "X-Spaced:  \t two \r\nX-Empty:\r\n\r\n"),
        ROW(400, "POST /healthz HTTP/1.1\r\n" HOST
                 "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        ROW(400, "GET /healthz HTTP/1.1\r\n" HOST "Content-Length: 0\r\nContent-Length: 9\r\n\r\n"),
        ROW(400, "GET /healthz HTTP/1.1\r\n" HOST "Content-Length: 0\r\nContent-Length: 0\r\n\r\n"),
        ROW(400, "GET /healthz HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip\r\n\r\n"),
        ROW(400, "GET /healthz HTTP/1.1\r\n" HOST
                 "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        ROW(400, "GET /healthz HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        ROW(400, "GET /healthz HTTP/1.1\r\n" HOST "Host: evil.example\r\n\r\n"),
        ROW(400, "GET /v1/models HTTP/1.1\r\n" HOST AUTH "Authorization: Bearer other\r\n\r\n"),
        ROW(400, "GET /v1/models HTTP/1.1\r\n" HOST "Authorization: Bearer " TOKEN "\0junk\r\n\r\n"),
        ROW(400, "GET /v1/models HTTP/1.1\r\n" HOST "Authorization: Bearer " TOKEN "\0\0j\r\nX: y\r\n\r\n"),
        ROW(400, "GET /v1/models HTTP/1.1\r\n" HOST AUTH "X: a\0b\r\n\r\n"),
        ROW(400, "GET /v1/models\0x HTTP/1.1\r\n" HOST AUTH "\r\n"),
        ROW(200, "GET /v1/models?limit=100 HTTP/1.1\r\n" HOST AUTH "\r\n"),
    };
    struct door d;
    door_open(&d, "127.0.0.1:0", 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct client c;
        time_t begun = time(NULL);
        client_open(&c, &d, rows[i].bytes, rows[i].length);
        while (!c.is_over) { /* each of them ends its connection */
            client_send(&c);
            turn(&d);
            client_receive(&c);
            guard(begun, "a connection's end");
        }
        int is_list = strstr(c.in, "\"object\":\"list\"") != NULL;
        if (status_of(&c) != rows[i].status || is_list != (rows[i].status == 200))
            fail_msg("row %zu: %.1000s", i, c.in);
        client_close(&c);
    }
    expect_alive(&d);
    door_close(&d);
}

/* Without a token the door is for programs of this machine. */
static void test_browsers(void **state)
{
    static const struct {
        const char *request;
        int status;
    } rows[] = {
        {"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n", 200},
        {"GET /v1/models HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", 200},
        {"GET /v1/models HTTP/1.1\r\nHost: LOCALHOST\r\n\r\n", 200},
        {"GET /v1/models HTTP/1.1\r\nHost: 127.1.2.3\r\n\r\n", 200},
        {"GET /v1/models HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403},
        {"GET /v1/models HTTP/1.1\r\nHost: localhost.evil.example:80\r\n\r\n", 403},
        {"GET /v1/models HTTP/1.1\r\nHost: localhostevil.example\r\n\r\n", 403},
        {"GET /v1/models HTTP/1.1\r\nHost: 127.evil.example\r\n\r\n", 403},
        {"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n\r\n", 403},
        {"GET /v1/models HTTP/1.1\r\nHost: localhost:80.evil.example\r\n\r\n", 403},
        {"GET /v1/models HTTP/1.1\r\nHost: [::1].evil.example\r\n\r\n", 403},
        {"GET /v1/models HTTP/1.1\r\nHost: localhost@evil.example\r\n\r\n", 403},
        {"GET /v1/models HTTP/1.1\r\nHost: 0x7f.1\r\n\r\n", 403},
        {"GET /v1/models HTTP/1.0\r\n\r\n", 403},
        {"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n\r\n", 403},
        {POST "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}", 415},
        {POST "Content-Length: 2\r\n\r\n{}", 415},
        {POST "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", 400},
    };
    struct door d;
    door_open(&d, "127.0.0.1:0", 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct client c;
        if (ask_bytes(&d, &c, rows[i].request, strlen(rows[i].request)) != rows[i].status)
            fail_msg("row %zu: %s", i, c.in);
        client_close(&c);
    }
    door_close(&d);
}

static void test_unix(void **state)
{
    char address[] = "unix:/tmp/atoll-door-test-XXXXXX";
    struct atoll_err err = ATOLL_ERR_INIT;
    struct stat status;
    struct door d;
    struct client c;
    close(mkstemp(address + 5)); /* a name of its own */
    const char *path = address + 5;
    unlink(path);
    door_open(&d, address, 0);
    assert_string_equal(atoll_http_server_url(d.server), address);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(ask(&d, &c, CHAT_PATH, CHAT("echo", "")), 200);
    client_close(&c);
    /* it is taken */
    assert_null(atoll_http_server_create(d.loop, d.broker, d.config, NULL, d.metrics, &err));
    assert_int_equal(err.code, ATOLL_E_BUSY);
    assert_non_null(strstr(err.text, "another gateway listens"));
    assert_int_equal(stat(path, &status), 0);
    door_close(&d);
    assert_int_equal(stat(path, &status), -1); /* gone with its gateway */
    /* what a killed gateway leaves is replaced */
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
    close(fd);
    door_open(&d, address, 0);
    expect_alive(&d);
    door_close(&d);
}

static void test_addresses(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct door d;
    door_open(&d, "127.0.0.1:0", 1);
    const char *colon = strrchr(atoll_http_server_url(d.server), ':');
    char taken[64], file[128];
    snprintf(taken, sizeof(taken), "127.0.0.1%s", colon);
    snprintf(file, sizeof(file), "unix:%s/token", d.folder);
    const struct {
        const char *address;
        int has_token;
        enum atoll_code code;
        const char *words;
    } rows[] = {
        {taken, 1, ATOLL_E_BUSY, "is in use"},
        {"0.0.0.0:0", 0, ATOLL_E_DENIED, "give a token"},
        {"192.0.2.1:0", 1, ATOLL_E_INPUT, "no address of this machine"},
        {file, 1, ATOLL_E_EXISTS, "no socket"},
        {"unix:/nonexistent/door", 1, ATOLL_E_NOTFOUND, "cannot listen"},
        {"here", 1, ATOLL_E_INPUT, "is no address to listen at"},
        {NULL, 1, ATOLL_E_INPUT, "names no address"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_gateway_config config = *d.config;
        config.listen = rows[i].address;
        atoll_err_clear(&err);
        assert_null(atoll_http_server_create(d.loop, d.broker, &config, rows[i].has_token ? d.token : NULL,
                                             d.metrics, &err));
        if (err.code != rows[i].code || !strstr(err.text, rows[i].words))
            fail_msg("row %zu: %d '%s'", i, (int)err.code, err.text);
    }
    atoll_http_server_destroy(NULL);
    door_close(&d);
}

/* A door that closes says so to those who wait. */
static void test_end(void **state)
{
    struct client clients[2];
    char *texts[2];
    struct door d;
    door_open(&d, "127.0.0.1:0", 1);
    for (int i = 0; i < 2; i++) {
        texts[i] = request_text(CHAT_PATH, AUTH, CHAT("silent", ""));
        client_open(&clients[i], &d, texts[i], strlen(texts[i]));
        client_send(&clients[i]);
        await_count(&d, (unsigned)i + 1);
    }
    atoll_http_server_destroy(d.server);
    d.server = NULL;
    for (int i = 0; i < 2; i++) {
        time_t begun = time(NULL);
        while (!clients[i].is_over) {
            client_receive(&clients[i]);
            guard(begun, "an end");
        }
        assert_int_equal(status_of(&clients[i]), 503);
        expect_words(&clients[i], "gateway_ends");
        expect_words(&clients[i], "Retry-After: 1"); /* clients look for the next gateway */
        client_close(&clients[i]);
        free(texts[i]);
    }
    await_count(&d, 0);
    door_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),   cmocka_unit_test(test_pages),    cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_large),     cmocka_unit_test(test_leavers),  cmocka_unit_test(test_pipelined),
        cmocka_unit_test(test_crowd),     cmocka_unit_test(test_too_many), cmocka_unit_test(test_patience),
        cmocka_unit_test(test_ambiguous), cmocka_unit_test(test_browsers), cmocka_unit_test(test_unix),
        cmocka_unit_test(test_addresses), cmocka_unit_test(test_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
