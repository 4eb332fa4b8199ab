/* http_request.c - the daemon's callbacks: a request comes in pieces, is authorized, goes to the broker, and its response
 * goes out.
 *
 *   READING -> ASKING -> READY -> SENT           a question to the broker
 *   READING -> SENT                              what the server knows itself, or refuses
 *   ASKING -> LEFT                               the caller is gone: its call is cancelled
 *
 * What is refused is read to its end (within a bound) and thrown away, for a client that is still sending would lose the
 * response in a reset.
 *
 * A connection that waits for the broker is suspended, and libmicrohttpd does not read from it: that its caller left is seen
 * here, at once where nothing more was sent, with the next tick where the next request is there already. */
#include "llm-gateway/server/http_server_state.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/json.h"
#include "base/utf8.h"
#include "llm-gateway/config/offer.h"
#include "llm-gateway/http/address.h"

#define BODY_BYTES     ((size_t)8 << 20)    /* of one request */
#define HELD_BYTES     ((size_t)256 << 20)  /* of all requests that are being read */
#define DRAIN_BYTES    ((uint64_t)64 << 20) /* of a refused request, so that its response can be read */
#define TICK_S         10.0 /* how often it is looked whether a waiting caller is there still */
#define ARENA_BYTES    ((size_t)64 << 20)
#define JSON           "application/json"
#define RESPONSE_BYTES ((size_t)96 << 20)

/* ---- what is answered: completions, lists, errors in OpenAI's form ---- */

/* What is not here: 500. */
static const short http_statuses[ATOLL_LLM_STATUS_COUNT] = {
    [ATOLL_LLM_OK] = 200,         [ATOLL_LLM_TRUNCATED] = 200,
    [ATOLL_LLM_EMPTY] = 200,      [ATOLL_LLM_REFUSED] = 200,
    [ATOLL_LLM_INVALID] = 400,    [ATOLL_LLM_DENIED] = 502, /* the gateway's key */
    [ATOLL_LLM_NOTFOUND] = 404,   [ATOLL_LLM_TOO_LARGE] = 413,
    [ATOLL_LLM_QUOTA] = 402,      [ATOLL_LLM_RATE] = 429,
    [ATOLL_LLM_OVERLOADED] = 503, [ATOLL_LLM_STREAM] = 502,
    [ATOLL_LLM_NETWORK] = 502,    [ATOLL_LLM_PROTOCOL] = 502,
    [ATOLL_LLM_TIMEOUT] = 504,    [ATOLL_LLM_CANCELLED] = 503,
    [ATOLL_LLM_BUDGET] = 402,     [ATOLL_LLM_MISS] = 404,
    [ATOLL_LLM_UNKNOWN] = 500,    [ATOLL_LLM_TOOL_CALLS] = 200,
};

struct response {
    int http_status;
    const char *type;        /* content */
    struct atoll_buffer out; /* taken by MHD's response */
    const char *allow;       /* 405: methods */
    unsigned retry_after_s;  /* 0: unsaid */
};

/* An OpenAI error object: of type server_error from 500 on, else invalid_request_error; code may be NULL. */
static void __attribute__((format(printf, 4, 5)))
response_refuse(struct response *response, int http_status, const char *code, const char *format, ...)
{
    char text[ATOLL_ERR_TEXT_BYTES], line[ATOLL_ERR_TEXT_BYTES];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    atoll_utf8_line(line, sizeof(line), text, strlen(text));
    json_t *document =
        json_pack("{s:{s:s,s:s,s:n,s:s?}}", "error", "message", line, "type",
                  http_status >= 500 ? "server_error" : "invalid_request_error", "param", "code", code);
    atoll_buffer_clear(&response->out);
    response->http_status = http_status;
    response->type = JSON;
    if (atoll_json_put(&response->out, document, NULL) != 0)
        atoll_buffer_clear(&response->out); /* no memory: the status alone */
    json_decref(document);
}

/* An outcome as JSON; its status after the table in docs/spec/gateway.md.  The gateway has tried again where that helps: only a full or an ending one asks its client to do so. */
static void response_outcome(struct response *response, const struct atoll_llm_outcome *outcome)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    response->http_status = outcome->status < ATOLL_LLM_STATUS_COUNT ? http_statuses[outcome->status] : 500;
    if (outcome->status == ATOLL_LLM_RATE || outcome->status == ATOLL_LLM_OVERLOADED)
        response->retry_after_s = 10;
    else if (outcome->status == ATOLL_LLM_CANCELLED) /* by a gateway that ends: there will be another */
        response->retry_after_s = 1;
    if (atoll_llm_outcome_json(outcome, &response->out, &err) || atoll_buffer_check(&response->out, &err))
        response_refuse(response, 500, NULL, "%s", err.text);
}

static void response_models(struct response *response, const struct atoll_gateway_config *config)
{
    if (atoll_offer_json(config, &response->out, NULL) != 0)
        response_refuse(response, 503, NULL, "no memory for the list of models");
}

/* NULL: no memory; the response's bytes are MHD's from then on. */
static struct MHD_Response *response_finish(struct response *response)
{
    char seconds[16];
    struct atoll_buffer *out = &response->out;
    struct MHD_Response *finished = MHD_create_response_from_buffer(
        out->length, out->data, out->data ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (!finished)
        return NULL;
    out->data = NULL;
    out->length = out->capacity = 0;
    MHD_add_response_header(finished, "Content-Type", response->type);
    MHD_add_response_header(finished, "Cache-Control", "no-store");
    if (response->http_status == 401)
        MHD_add_response_header(finished, "WWW-Authenticate", "Bearer");
    if (response->allow)
        MHD_add_response_header(finished, "Allow", response->allow);
    if (response->retry_after_s) {
        snprintf(seconds, sizeof(seconds), "%u", response->retry_after_s);
        MHD_add_response_header(finished, "Retry-After", seconds);
    } else if (response->http_status >= 400) {
        MHD_add_response_header(finished, "x-should-retry", "false");
    }
    return finished;
}

/* ---- a request ---- */

enum state { READING, ASKING, READY, SENT, LEFT };
enum path { CHAT, EMBEDDINGS, MODELS, HEALTH, METRICS, PATH_COUNT };

static const struct {
    const char *url, *method;
    int is_open; /* needs no token */
} paths[PATH_COUNT] = {
    [CHAT] = {"/v1/chat/completions", "POST", 0}, [EMBEDDINGS] = {"/v1/embeddings", "POST", 0},
    [MODELS] = {"/v1/models", "GET", 0},          [HEALTH] = {"/healthz", "GET", 1},
    [METRICS] = {"/metrics", "GET", 0},
};

/* Headers that say one thing. */
enum { HOST, AUTHORIZATION, CONTENT_TYPE, CONTENT_LENGTH, TRANSFER_ENCODING, SINGLE_COUNT };
static const char *const singles[SINGLE_COUNT] = {"Host", "Authorization", "Content-Type", "Content-Length",
                                                  "Transfer-Encoding"};

/* What a call's callback finds: it outlives a request whose caller left. */
struct question {
    struct atoll_http_request *request; /* NULL: nobody is there any more */
    uint64_t call;
};

struct atoll_http_request {
    struct atoll_http_server *server;
    struct MHD_Connection *mhd;
    struct atoll_http_connection *connection; /* may be NULL: no memory for one */
    enum state state;
    enum path path;
    int is_refused, is_suspended, is_watched;
    int is_last; /* of its connection */
    uint64_t received;
    struct atoll_buffer body;
    struct question *question; /* at the broker */
    uint64_t tick;
    struct response response;
    struct atoll_http_request *next, *previous;
};

/* ---- who may come in, and with what ---- */

static const char *header(const struct atoll_http_request *x, const char *name)
{
    const char *value = MHD_lookup_connection_value(x->mhd, MHD_HEADER_KIND, name);
    return value ? value : "";
}

static int is_authorized(const struct atoll_http_request *x)
{
    static const char scheme[] = "Bearer ";
    const char *given = header(x, "Authorization");
    size_t skip = sizeof(scheme) - 1;
    if (!x->server->token)
        return 1;
    return strncasecmp(given, scheme, skip) == 0 &&
           atoll_secret_matches(x->server->token, given + skip, strlen(given + skip));
}

/* Without a token a web page in a browser of this machine could ask, also under a name that points here: what only
 * programs send is demanded. */
static int is_from_browser(const struct atoll_http_request *x)
{
    if (x->server->token || x->server->is_unix)
        return 0;
    return !atoll_address_is_here(header(x, "Host")) || header(x, "Origin")[0];
}

/* A request's headers as the daemon read them: in the order in which they came, each in its place of one block of memory. */
struct head {
    const char *block, *block_end;    /* from the method to the last line's end */
    const char *end;                  /* of what was looked at */
    unsigned counts[SINGLE_COUNT];    /* of the headers that stand once at most */
    int is_chunked, has_hidden_bytes; /* hidden: behind a NUL, where the daemon does not look */
};

static int is_blank(const char *from, const char *to)
{
    while (from < to && (!*from || strchr("\r\n\t ", *from)))
        from++;
    return from == to;
}

static enum MHD_Result on_header(void *context, enum MHD_ValueKind kind, const char *key, const char *value)
{
    struct head *head = context;
    value = value ? value : "";
    for (int i = 0; i < SINGLE_COUNT; i++)
        head->counts[i] += strcasecmp(key, singles[i]) == 0;
    head->is_chunked |= strcasecmp(key, "Transfer-Encoding") == 0 && strcasecmp(value, "chunked") == 0;
    if (key >= head->end && key < head->block_end && value > key && value < head->block_end) {
        head->has_hidden_bytes |= !is_blank(head->end, key);
        head->end = value + strlen(value);
    }
    return MHD_YES;
}

/* 1: programs between us and the client could take it for another one, or for two: nothing behind it is believed. */
static int is_ambiguous(const struct atoll_http_request *x, const char *method, const char *url,
                        const char *version)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(x->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    struct head head = {.block = method, .block_end = method + (info ? info->header_size : 0)};
    int is_inside = version > head.block && version < head.block_end;
    head.end = is_inside ? version + strlen(version) : head.block_end;
    MHD_get_connection_values(x->mhd, MHD_HEADER_KIND, on_header, &head);
    for (int i = 0; i < SINGLE_COUNT; i++)
        if (head.counts[i] > 1)
            return 1;
    if (head.counts[TRANSFER_ENCODING] &&
        (head.counts[CONTENT_LENGTH] || !head.is_chunked || strcmp(version, "HTTP/1.1") != 0))
        return 1;
    /* A path that ends before the version, and no question behind it. */
    if (is_inside && url > head.block && url + strlen(url) + 1 < version &&
        MHD_get_connection_values(x->mhd, MHD_GET_ARGUMENT_KIND, NULL, NULL) == 0)
        return 1;
    return head.has_hidden_bytes || (is_inside && !is_blank(head.end, head.block_end));
}

static void release_body(struct atoll_http_request *x)
{
    x->server->held_bytes -= x->body.length;
    atoll_buffer_fini(&x->body);
}

static void refuse(struct atoll_http_request *x, int http_status, const char *code, const char *text)
{
    response_refuse(&x->response, http_status, code, "%s", text);
    x->response.retry_after_s = http_status == 503;
    x->is_refused = 1;
    release_body(x);
}

/* Every check that needs no more than a request's headers. */
static void authorize(struct atoll_http_request *x, const char *url, const char *method, const char *version)
{
    const struct atoll_http_server *s = x->server;
    size_t i = 0;
    while (i < PATH_COUNT && strcmp(paths[i].url, url) != 0)
        i++;
    int is_unknown = i == PATH_COUNT;
    x->path = is_unknown ? METRICS : (enum path)i; /* METRICS: whatever needs a token */
    int is_json = strncasecmp(header(x, "Content-Type"), "application/json", 16) == 0;
    if (is_ambiguous(x, method, url, version)) {
        refuse(
            x, 400, "ambiguous_request",
            "send each of Host, Authorization, Content-Type and Content-Length once, no Content-Length with "
            "Transfer-Encoding: chunked, and no NUL");
        x->is_last = 1;
    } else if (s->is_closing) {
        refuse(x, 503, "gateway_ends", "the gateway ends; ask another one");
    } else if (s->connection_count > s->connection_limit) {
        refuse(x, 503, "gateway_full", "too many connections; come back later");
    } else if (!paths[x->path].is_open && !is_authorized(x)) {
        refuse(x, 401, "invalid_api_key",
               "the gateway's token is missing or wrong; send Authorization: Bearer TOKEN");
    } else if (!paths[x->path].is_open && is_from_browser(x)) {
        refuse(x, 403, "not_local",
               "this gateway has no token: it is for programs of this machine, not for web pages");
    } else if (is_unknown) {
        refuse(
            x, 404, "unknown_url",
            "no such path; there are /v1/chat/completions, /v1/embeddings, /v1/models, /healthz, /metrics");
    } else if (strcmp(paths[x->path].method, method) != 0) {
        refuse(x, 405, "method_not_supported", "wrong method for this path");
        x->response.allow = paths[x->path].method;
    } else if (x->path <= EMBEDDINGS && !s->token && !is_json) {
        refuse(x, 415, NULL, "send Content-Type: application/json");
    } else if (strtoull(header(x, "Content-Length"), NULL, 10) > BODY_BYTES) {
        refuse(x, 413, "request_too_large", "a request has at most 8 MiB");
    }
}

/* ---- waiting for the broker ---- */

static void on_readable(void *context, int fd, uint32_t events);

static void watch(struct atoll_http_request *x, int is_wanted)
{
    if (x->connection && x->is_watched != is_wanted &&
        !atoll_loop_watch(x->server->loop, x->connection->fd, is_wanted ? EPOLLIN : 0, on_readable, x,
                          NULL)) {
        x->is_watched = is_wanted;
    }
}

static void resume(struct atoll_http_request *x)
{
    watch(x, 0);
    if (x->is_suspended) {
        x->is_suspended = 0;
        MHD_resume_connection(x->mhd);
        atoll_http_daemon_wake(x->server);
    }
}

/* Nobody wants the call any more. */
static void drop_question(struct atoll_http_request *x)
{
    watch(x, 0);
    atoll_loop_cancel(x->server->loop, x->tick);
    x->tick = 0;
    if (x->question) {
        x->question->request = NULL; /* the callback frees it */
        atoll_broker_cancel(x->server->broker, x->question->call);
        x->question = NULL;
    }
}

static void leave(struct atoll_http_request *x)
{
    drop_question(x);
    x->state = LEFT;
    resume(x);
}

/* A caller that is gone is at its end; one that has sent the next request already is looked at with each tick. */
static void on_readable(void *context, int fd, uint32_t events)
{
    char byte;
    ssize_t count = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (count > 0)
        watch(context, 0);
    else if (count == 0 || (events & (EPOLLERR | EPOLLHUP)))
        leave(context);
}

static void on_tick(void *context)
{
    struct atoll_http_request *x = context;
    struct atoll_loop *loop = x->server->loop;
    struct pollfd p = {.fd = x->connection ? x->connection->fd : -1, .events = POLLRDHUP};
    x->tick = 0;
    if (poll(&p, 1, 0) == 1 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR)))
        leave(x);
    else
        atoll_loop_at(loop, atoll_loop_now_ns(loop) + TICK_S * 1e9, on_tick, x, &x->tick, NULL);
}

static void on_outcome(void *context, const struct atoll_llm_outcome *outcome)
{
    struct question *question = context;
    struct atoll_http_request *x = question->request;
    free(question);
    if (!x)
        return;
    x->question = NULL;
    atoll_loop_cancel(x->server->loop, x->tick);
    x->tick = 0;
    response_outcome(&x->response, outcome);
    x->state = READY;
    atoll_http_connection_expect(x->connection, ATOLL_HTTP_PATIENCE_S);
    resume(x);
}

/* ---- the question ---- */

static int submit(struct atoll_http_request *x, const struct atoll_llm_request *request)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct question *question = calloc(1, sizeof(*question));
    if (!question)
        atoll_err_set(&err, ATOLL_E_MEMORY, "no memory for a call");
    if (question &&
        atoll_broker_submit(x->server->broker, request, on_outcome, question, &question->call, &err) == 0) {
        question->request = x;
        x->question = question;
        return 0;
    }
    free(question);
    if (err.code == ATOLL_E_INPUT) {
        response_refuse(&x->response, 404, "model_not_found", "%s", err.text);
    } else if (err.code == ATOLL_E_LIMIT) {
        response_refuse(&x->response, 429, "gateway_full", "%s", err.text);
        x->response.retry_after_s = 1;
    } else {
        response_refuse(&x->response, 503, NULL, "%s", err.text);
    }
    return -1;
}

/* 0: the broker has the question, and the request waits for it; -1: the response is there. */
static int ask(struct atoll_http_request *x)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_llm_request request;
    struct atoll_arena *arena = atoll_arena_create(ARENA_BYTES, &err);
    const void *bytes = x->body.data ? (const void *)x->body.data : "";
    int failed = -1;
    if (!arena || atoll_llm_request_decode(bytes, x->body.length, arena, &request, &err) != 0) {
        response_refuse(&x->response,
                        err.code == ATOLL_E_INPUT   ? 400
                        : err.code == ATOLL_E_LIMIT ? 413
                                                    : 503,
                        err.code == ATOLL_E_LIMIT ? "request_too_large" : NULL, "%s", err.text);
    } else if ((request.operation == ATOLL_LLM_EMBED) != (x->path == EMBEDDINGS)) {
        response_refuse(&x->response, 400, NULL,
                        x->path == EMBEDDINGS ? "'input' is missing: texts to embed"
                                              : "'input' belongs to /v1/embeddings; send 'messages'");
    } else {
        failed = submit(x, &request);
    }
    atoll_arena_destroy(arena);
    release_body(x); /* the broker has its own copy */
    if (failed)
        return -1;
    x->state = ASKING;
    if (x->connection)
        x->connection->is_reading = 0;
    atoll_http_connection_expect(x->connection, 0);
    atoll_loop_at(x->server->loop, atoll_loop_now_ns(x->server->loop) + TICK_S * 1e9, on_tick, x, &x->tick,
                  NULL);
    MHD_suspend_connection(x->mhd);
    x->is_suspended = 1;
    watch(x, 1);
    return 0;
}

/* ---- the daemon's callbacks ---- */

static struct atoll_http_request *begin(struct atoll_http_server *server, struct MHD_Connection *mhd)
{
    struct atoll_http_request *x = calloc(1, sizeof(*x));
    if (!x)
        return NULL;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    x->server = server;
    x->mhd = mhd;
    x->connection = info ? info->socket_context : NULL;
    if (x->connection)
        x->connection->is_reading = 1;
    atoll_buffer_init(&x->body, BODY_BYTES);
    x->response = (struct response){.http_status = 200, .type = JSON};
    atoll_buffer_init(&x->response.out, RESPONSE_BYTES);
    x->next = server->requests;
    if (x->next)
        x->next->previous = x;
    server->requests = x;
    return x;
}

static enum MHD_Result send_response(struct atoll_http_request *x, int is_last)
{
    unsigned status = (unsigned)x->response.http_status;
    struct MHD_Response *response = response_finish(&x->response);
    if (!response)
        return MHD_NO;
    if (is_last || x->server->is_closing)
        MHD_add_response_header(response, "Connection", "close");
    x->state = SENT;
    if (x->connection)
        x->connection->is_reading = 0;
    atoll_http_connection_expect(x->connection, ATOLL_HTTP_PATIENCE_S);
    enum MHD_Result rc = MHD_queue_response(x->mhd, status, response);
    MHD_destroy_response(response);
    return rc;
}

static enum MHD_Result take_body(struct atoll_http_request *x, const char *bytes, size_t length)
{
    struct atoll_http_server *s = x->server;
    x->received += length;
    if (x->received > DRAIN_BYTES)
        return MHD_NO;
    if (!x->is_refused && x->received > BODY_BYTES)
        refuse(x, 413, "request_too_large", "a request has at most 8 MiB");
    else if (!x->is_refused && s->held_bytes + length > HELD_BYTES)
        refuse(x, 503, "gateway_full", "too many large requests at once; come back later");
    if (x->is_refused)
        return MHD_YES;
    atoll_buffer_put_bytes(&x->body, bytes, length);
    if (x->body.failed)
        refuse(x, 503, "gateway_full", "no memory for this request");
    else
        s->held_bytes += length;
    return MHD_YES;
}

static enum MHD_Result take_end(struct atoll_http_request *x)
{
    struct atoll_http_server *s = x->server;
    if (x->is_refused)
        return send_response(x, 0);
    switch (x->path) {
    case MODELS: response_models(&x->response, s->config); break;
    case HEALTH: atoll_buffer_put_bytes(&x->response.out, "{\"status\":\"ok\"}", 15); break;
    case METRICS:
        atoll_metrics_gauge(s->metrics, "in_flight", atoll_broker_count(s->broker));
        atoll_metrics_gauge(s->metrics, "connections", s->connection_count);
        atoll_metrics_write(s->metrics, &x->response.out);
        x->response.type = "text/plain; version=0.0.4; charset=utf-8";
        break;
    default:
        if (ask(x) == 0)
            return MHD_YES;
    }
    return send_response(x, 0);
}

enum MHD_Result atoll_http_request_access(void *server, struct MHD_Connection *connection, const char *url,
                                          const char *method, const char *version, const char *upload,
                                          size_t *upload_length, void **context)
{
    struct atoll_http_request *x = *context;
    if (!x) {
        *context = x = begin(server, connection);
        if (!x)
            return MHD_NO;
        authorize(x, url, method, version);
        /* Of a refusal nothing need be read where the client waits to hear that it may go on, or would send without end. */
        int is_answered =
            x->is_last || (x->is_refused && (header(x, "Expect")[0] ||
                                             strtoull(header(x, "Content-Length"), NULL, 10) > DRAIN_BYTES));
        return is_answered ? send_response(x, 1) : MHD_YES;
    }
    if (*upload_length) {
        size_t length = *upload_length;
        *upload_length = 0;
        return take_body(x, upload, length);
    }
    switch (x->state) {
    case READING: return take_end(x);
    case READY: return send_response(x, 0);
    case LEFT: return MHD_NO;
    case ASKING: /* not ours to wake */
    case SENT: break;
    }
    return MHD_YES;
}

void atoll_http_request_completed(void *server, struct MHD_Connection *connection, void **context,
                                  enum MHD_RequestTerminationCode why)
{
    struct atoll_http_request *x = *context;
    if (!x)
        return;
    *context = NULL;
    drop_question(x);
    if (x->connection) {
        x->connection->is_reading = 0;
        atoll_http_connection_expect(x->connection, ATOLL_HTTP_PATIENCE_S);
    }
    *(x->previous ? &x->previous->next : &x->server->requests) = x->next;
    if (x->next)
        x->next->previous = x->previous;
    release_body(x);
    atoll_buffer_fini(&x->response.out);
    free(x);
}

void atoll_http_requests_close(struct atoll_http_server *server)
{
    struct atoll_http_request *next;
    for (struct atoll_http_request *x = server->requests; x; x = next) {
        next = x->next;
        drop_question(x);
        if (x->state == ASKING) {
            refuse(x, 503, "gateway_ends", "the gateway ends; ask another one");
            x->state = READY;
        }
        resume(x);
    }
}
