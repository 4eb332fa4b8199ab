/* client_http.c - calls to the gateway over TCP, TLS or a Unix socket.
 *
 * A gateway may start late or be restarted: what never reached one, or came from something before it (502, 503, 504, 429
 * without the object "atoll"), or was cut off by its end, is sent again with growing pauses until the deadline.  The request's
 * key makes that safe: the gateway answers it once.  What carries "atoll" is the gateway's last word: it has tried already. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include <sodium.h>

#include "base/clock.h"
#include "base/random.h"
#include "llm-gateway/client/client_transport.h"
#include "llm-gateway/http/address.h"
#include "llm-gateway/http/secret.h"
#include "llm-gateway/http/transfer.h"
#include "llm-gateway/provider/provider.h"

#define NS_PER_S         1e9
#define URL_BYTES        2048
#define HEADER_BYTES     (ATOLL_SECRET_LIMIT_BYTES + 64)
#define REPLY_BYTES      ((size_t)96 << 20)
#define LONGEST_PAUSE_S  5.0
#define FIRST_PAUSE_S    0.2
#define LONGEST_SLEEP_MS 60000

struct transport {
    struct atoll_loop *loop;
    struct atoll_transfers *transfers;
    struct atoll_secret *token; /* NULL: none */
    char url[URL_BYTES], socket[URL_BYTES];
    int is_near; /* this machine: never by a proxy */
    int timer_fd;
    struct atoll_client_clock clock;
    struct atoll_random random;
    struct atoll_retry_settings retry;
};

/* One exchange; it outlives a call that was cancelled. */
struct flight {
    struct transport *transport;
    struct atoll_client_call *call; /* NULL: nobody waits any more */
};

static double now_of(const struct transport *t)
{
    return t->clock.now_ns(t->clock.context);
}

/* ---- create ---- */

/* "HOST:PORT", perhaps with a path, "/v1" or a slash at the end, as it stands in other programs' settings. */
static int set_url(struct transport *t, const char *scheme, const char *where, struct atoll_err *err)
{
    size_t length = strlen(where);
    while (length && where[length - 1] == '/')
        length--;
    if (length >= 3 && memcmp(where + length - 3, "/v1", 3) == 0)
        length -= 3;
    if (!length || where[0] == '/' || strpbrk(where, " \t\r\n@?#"))
        return atoll_err_set(err, ATOLL_E_USAGE, "gateway '%s%.80s': HOST:PORT is expected", scheme, where);
    if ((size_t)snprintf(t->url, sizeof(t->url), "%s%.*s", scheme, (int)length, where) >= sizeof(t->url))
        return atoll_err_set(err, ATOLL_E_USAGE, "gateway '%s%.80s...': too long", scheme, where);
    t->is_near = atoll_address_is_here(where);
    return 0;
}

static int set_socket(struct transport *t, const char *path, struct atoll_err *err)
{
    if (strlen(path) >= sizeof((struct sockaddr_un *)0)->sun_path)
        return atoll_err_set(
            err, ATOLL_E_USAGE,
            "gateway 'unix:%.80s...': a socket's path has at most %zu bytes; choose a shorter "
            "folder, such as one in /tmp",
            path, sizeof((struct sockaddr_un *)0)->sun_path - 1);
    snprintf(t->socket, sizeof(t->socket), "%s", path);
    snprintf(t->url, sizeof(t->url), "http://localhost");
    t->is_near = 1;
    return 0;
}

static void on_timer(void *context, int fd, uint32_t events)
{
    uint64_t count;
    ssize_t n = read(fd, &count, sizeof(count)); /* that it was due is all there is to know */
    (void)n;
}

static void destroy(void *transport)
{
    struct transport *t = transport;
    atoll_transfers_destroy(t->transfers);
    atoll_loop_destroy(t->loop);
    atoll_secret_destroy(t->token);
    if (t->timer_fd >= 0)
        close(t->timer_fd);
    free(t);
}

static void *create(const char *scheme, const char *where, const char *token_file,
                    const struct atoll_client_clock *clock, struct atoll_err *err)
{
    const char *path = token_file ? token_file : getenv("ATOLL_GATEWAY_TOKEN_FILE");
    struct transport *t = calloc(1, sizeof(*t));
    if (!t) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a client of the gateway");
        return NULL;
    }
    t->clock = *clock;
    t->timer_fd = -1;
    t->retry = (struct atoll_retry_settings){UINT32_MAX, FIRST_PAUSE_S, LONGEST_PAUSE_S};
    randombytes_buf(&t->random.key, sizeof(t->random.key));
    if ((scheme ? set_url(t, scheme, where, err) : set_socket(t, where, err)) != 0 ||
        (path && *path && !(t->token = atoll_secret_of_file(path, err))) ||
        !(t->loop = atoll_loop_create(clock->now_ns, clock->context, err)) ||
        !(t->transfers = atoll_transfers_create(t->loop, 0, err))) {
        goto failed;
    }
    t->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (t->timer_fd < 0) {
        atoll_err_set(err, ATOLL_E_IO, "no timer for the client of the gateway");
        goto failed;
    }
    if (atoll_loop_watch(t->loop, t->timer_fd, EPOLLIN, on_timer, t, err) == 0)
        return t;
failed:
    destroy(t);
    return NULL;
}

static void *create_http(const char *where, const char *token_file, const struct atoll_client_clock *clock,
                         struct atoll_err *err)
{
    return create("http://", where, token_file, clock, err);
}

static void *create_https(const char *where, const char *token_file, const struct atoll_client_clock *clock,
                          struct atoll_err *err)
{
    return create("https://", where, token_file, clock, err);
}

static void *create_unix(const char *where, const char *token_file, const struct atoll_client_clock *clock,
                         struct atoll_err *err)
{
    return create(NULL, where, token_file, clock, err);
}

/* ---- replies ---- */

/* What an HTTP status without the gateway's own words means. */
static enum atoll_llm_status status_of(int http_status)
{
    static const struct {
        int http_status;
        enum atoll_llm_status status;
    } rows[] = {
        {401, ATOLL_LLM_DENIED},     {402, ATOLL_LLM_QUOTA},     {403, ATOLL_LLM_DENIED},
        {404, ATOLL_LLM_NOTFOUND},   {407, ATOLL_LLM_DENIED},    {408, ATOLL_LLM_OVERLOADED},
        {409, ATOLL_LLM_OVERLOADED}, {413, ATOLL_LLM_TOO_LARGE}, {429, ATOLL_LLM_RATE},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (rows[i].http_status == http_status)
            return rows[i].status;
    return http_status >= 500   ? ATOLL_LLM_OVERLOADED
           : http_status >= 400 ? ATOLL_LLM_INVALID
                                : ATOLL_LLM_PROTOCOL;
}

/* 1: the outcome is the gateway's own. */
static int parse_reply(struct atoll_client_call *call, int http_status)
{
    static const char mark[] = "\"atoll\":{"; /* it cannot stand inside a text: its quotes would be escaped */
    const struct transport *t = call->transport;
    struct atoll_err why = ATOLL_ERR_INIT;
    atoll_secret_scrub(t->token, call->reply.data, call->reply.length); /* what is no gateway may echo it */
    int is_read = atoll_reply_parse(call->reply.data, call->reply.length, &call->outcome, &why) == 0;
    if (is_read && call->reply.length && memmem(call->reply.data, call->reply.length, mark, sizeof(mark) - 1))
        return 1;
    if (http_status >= 200 && http_status < 300) {
        int is_object = call->reply.length && call->reply.data[0] == '{';
        if (!is_read || !is_object)
            atoll_llm_outcome_set(&call->outcome, ATOLL_LLM_PROTOCOL, "the gateway's answer: %s",
                                  is_read ? "no JSON object; is there a gateway at this address?" : why.text);
    } else {
        char words[200] = "";
        if (is_read && *call->outcome.detail)
            snprintf(words, sizeof(words), ": %.190s", call->outcome.detail);
        atoll_llm_outcome_fini(&call->outcome);
        atoll_llm_outcome_set(&call->outcome, status_of(http_status), "the gateway answered %d%s%s",
                              http_status, words, http_status == 401 ? "; name the file of its token" : "");
    }
    call->outcome.http_status = http_status;
    return 0;
}

static void send_call(void *context);

/* 1: it will be sent again. */
static int plan_again(struct transport *t, struct atoll_client_call *call)
{
    double left_s = (call->deadline_ns - now_of(t)) / NS_PER_S, wait_s = 0.0;
    double unit = atoll_random_unit(atoll_random_next(&t->random));
    if (!atoll_retry_decide(&t->retry, &call->outcome, &call->headers, call->tries, left_s, unit, &wait_s))
        return 0;
    return atoll_loop_at(t->loop, now_of(t) + wait_s * NS_PER_S, send_call, call, &call->timer, NULL) == 0;
}

static void on_done(void *context, const struct atoll_transfer_end *end)
{
    struct flight *flight = context;
    struct transport *t = flight->transport;
    struct atoll_client_call *call = flight->call;
    int is_final = 0;
    free(flight);
    if (!call || call->is_concluded)
        return;
    call->transfer = 0;
    call->flight = NULL;
    if (end->status == ATOLL_LLM_OK)
        is_final = parse_reply(call, end->http_status) && call->outcome.status != ATOLL_LLM_CANCELLED;
    else
        atoll_llm_outcome_set(&call->outcome, end->status, "%s", end->detail);
    /* Cancelled, and not by us: a gateway that ended.  It is the same as one that cannot be reached. */
    if (call->outcome.status == ATOLL_LLM_CANCELLED)
        call->outcome.status = ATOLL_LLM_NETWORK;
    if (is_final || !plan_again(t, call))
        call->is_concluded = 1;
}

static void on_header(void *context, const char *name, const char *value)
{
    struct atoll_client_call *call = ((struct flight *)context)->call;
    if (call)
        atoll_reply_headers_read(&call->headers, name, value, atoll_clock_unix_s());
}

static int on_data(void *context, int http_status, const void *bytes, size_t length)
{
    struct atoll_client_call *call = ((struct flight *)context)->call;
    if (!call)
        return 1;
    atoll_buffer_put_bytes(&call->reply, bytes, length);
    return call->reply.failed;
}

/* ---- requests ---- */

static int start_transfer(struct transport *t, struct atoll_client_call *call, struct atoll_err *err)
{
    char url[URL_BYTES + 32], authorization[HEADER_BYTES];
    const char *headers[] = {"Content-Type: application/json", authorization};
    struct atoll_transfer_site site = {
        .proxy = t->is_near ? "" : NULL,
        .unix_socket = *t->socket ? t->socket : NULL,
        .silence_s =
            (call->deadline_ns - now_of(t)) / NS_PER_S + 1.0, /* an answer comes whole, after minutes */
    };
    struct flight *flight = calloc(1, sizeof(*flight));
    if (!flight)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a call of the gateway");
    *flight = (struct flight){t, call};
    snprintf(url, sizeof(url), "%s/v1/%s", t->url,
             call->operation == ATOLL_LLM_EMBED ? "embeddings" : "chat/completions");
    if (t->token)
        snprintf(authorization, sizeof(authorization), "Authorization: Bearer %s",
                 atoll_secret_text(t->token));
    struct atoll_transfer transfer = {
        .method = "POST",
        .url = url,
        .headers = headers,
        .header_count = t->token ? 2 : 1,
        .body = call->body.data,
        .body_length = call->body.length,
        .site = &site,
        .deadline_ns = call->deadline_ns,
        .body_limit_bytes = REPLY_BYTES,
        .on_header = on_header,
        .on_data = on_data,
        .on_done = on_done,
        .context = flight,
    };
    int failed = atoll_transfers_start(t->transfers, &transfer, &call->transfer, err);
    sodium_memzero(authorization, sizeof(authorization));
    call->flight = failed ? NULL : flight;
    if (failed)
        free(flight);
    return failed;
}

static void send_call(void *context)
{
    struct atoll_client_call *call = context;
    struct transport *t = call->transport;
    struct atoll_err why = ATOLL_ERR_INIT;
    call->timer = 0;
    call->tries++;
    atoll_buffer_clear(&call->reply);
    atoll_reply_headers_init(&call->headers);
    if (start_transfer(t, call, &why) == 0)
        return;
    atoll_llm_outcome_set(&call->outcome, ATOLL_LLM_NETWORK, "%s", why.text);
    if (!plan_again(t, call))
        call->is_concluded = 1;
}

/* A call without a key gets one of its own, so that sending it twice asks it once. */
static int start(void *transport, struct atoll_client_call *call, const struct atoll_llm_request *request,
                 struct atoll_err *err)
{
    struct transport *t = transport;
    struct atoll_llm_request keyed = *request;
    unsigned char random[16];
    char key[2 * sizeof(random) + 1];
    call->id = atoll_llm_request_id(request);
    if (!keyed.key || !*keyed.key) {
        randombytes_buf(random, sizeof(random));
        keyed.key = sodium_bin2hex(key, sizeof(key), random, sizeof(random));
    }
    if (atoll_llm_request_encode(&keyed, &call->body, err) != 0)
        return -1;
    call->tries = 1;
    atoll_reply_headers_init(&call->headers);
    return start_transfer(t, call, err);
}

static void stop(void *transport, struct atoll_client_call *call)
{
    struct transport *t = transport;
    struct flight *flight = call->flight;
    atoll_loop_cancel(t->loop, call->timer);
    call->timer = 0;
    if (!flight)
        return;
    flight->call = NULL;
    call->flight = NULL;
    atoll_transfers_cancel(t->transfers, call->transfer);
}

static int turn(void *transport, struct atoll_client_call *const *calls, size_t count, struct atoll_err *err)
{
    struct transport *t = transport;
    return atoll_loop_run(t->loop, 0, err);
}

static int fd_of(const void *transport)
{
    const struct transport *t = transport;
    return atoll_loop_fd(t->loop);
}

/* The loop's timers do not make its descriptor readable; this one of the system does. */
static void arm(void *transport, double next_ns)
{
    struct transport *t = transport;
    double wait_ms = fmax((next_ns - now_of(t)) / 1e6, 0.0);
    int limit_ms = wait_ms < LONGEST_SLEEP_MS ? (int)ceil(wait_ms) : LONGEST_SLEEP_MS;
    int ms = atoll_loop_wait_ms(t->loop, limit_ms);
    struct itimerspec when = {.it_value = {ms / 1000, ms % 1000 * 1000000L + 1}};
    timerfd_settime(t->timer_fd, 0, &when, NULL);
}

#define HTTP_TRANSPORT(address, maker)                                                                       \
    {                                                                                                        \
        .prefix = (address), .create = (maker), .destroy = destroy, .start = start, .stop = stop,            \
        .turn = turn, .fd = fd_of, .arm = arm                                                                \
    }
const struct atoll_client_transport atoll_client_http = HTTP_TRANSPORT("http://", create_http);
const struct atoll_client_transport atoll_client_https = HTTP_TRANSPORT("https://", create_https);
const struct atoll_client_transport atoll_client_unix = HTTP_TRANSPORT("unix:", create_unix);
