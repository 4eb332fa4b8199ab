/* http_request.c - the daemon's callbacks: a request comes in pieces, its answer goes out. */
#include <stdlib.h>
#include <string.h>

#include "llm-gateway/server/http_request.h"

#define BLOCK_BYTES 4096

struct atoll_visit *atoll_visit_next(struct atoll_visit *visit)
{
    return visit->next;
}
/* ---- what the door knows itself ---- */

static void answer_metrics(struct atoll_visit *x)
{
    struct atoll_server *s = x->server;
    atoll_metrics_gauge(s->metrics, "in_flight", atoll_broker_count(s->broker));
    atoll_metrics_gauge(s->metrics, "connections", s->connection_count);
    atoll_metrics_write(s->metrics, &x->answer.out);
    x->answer.type = "text/plain; version=0.0.4; charset=utf-8";
}

static void answer_here(struct atoll_visit *x)
{
    if (x->path == ATOLL_DOOR_MODELS) {
        atoll_answer_models(&x->answer, x->server->config);
    } else if (x->path == ATOLL_DOOR_METRICS) {
        answer_metrics(x);
    } else {
        atoll_buffer_put_bytes(&x->answer.out, "{\"status\":\"ok\"}", 15);
    }
}
/* ---- the daemon's callbacks ---- */

static struct atoll_visit *begin(struct atoll_server *server, struct MHD_Connection *connection)
{
    struct atoll_visit *x = calloc(1, sizeof *x);
    if (!x)
        return NULL;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    x->server = server;
    x->connection = connection;
    x->door = info ? info->socket_context : NULL;
    if (x->door)
        x->door->visit = x;
    atoll_buffer_init(&x->body, ATOLL_DOOR_BODY_BYTES);
    atoll_answer_init(&x->answer);
    x->next = server->visits;
    if (x->next)
        x->next->previous = x;
    server->visits = x;
    return x;
}

static enum MHD_Result send_answer(struct atoll_visit *x, int is_last)
{
    unsigned status = (unsigned)x->answer.http_status;
    struct MHD_Response *response = atoll_answer_response(&x->answer);
    if (!response)
        return MHD_NO;
    if (is_last || x->server->is_closing)
        MHD_add_response_header(response, "Connection", "close");
    x->state = ATOLL_VISIT_SENT;
    atoll_door_expect(x->door, ATOLL_DOOR_PATIENCE_S);
    enum MHD_Result rc = MHD_queue_response(x->connection, status, response);
    MHD_destroy_response(response);
    return rc;
}

/* Of a refusal nothing need be read where the client waits to hear that it may go on, or would send without end. */
static int is_answered_at_once(const struct atoll_visit *x)
{
    return x->is_refused &&
           (atoll_visit_header(x, "Expect")[0] ||
            strtoull(atoll_visit_header(x, "Content-Length"), NULL, 10) > ATOLL_DOOR_DRAIN_BYTES);
}

static enum MHD_Result take_headers(struct atoll_visit *x, const char *url, const char *method)
{
    atoll_visit_judge(x, url, method);
    if (!x->is_refused && strtoull(atoll_visit_header(x, "Content-Length"), NULL, 10) > ATOLL_DOOR_BODY_BYTES)
        atoll_visit_refuse(x, 413, "request_too_large", "a request has at most 8 MiB");
    return is_answered_at_once(x) ? send_answer(x, 1) : MHD_YES;
}

static enum MHD_Result take_body(struct atoll_visit *x, const char *bytes, size_t length)
{
    struct atoll_server *s = x->server;
    x->received += length;
    if (x->received > ATOLL_DOOR_DRAIN_BYTES)
        return MHD_NO;
    if (!x->is_refused && x->received > ATOLL_DOOR_BODY_BYTES) {
        atoll_visit_refuse(x, 413, "request_too_large", "a request has at most 8 MiB");
    } else if (!x->is_refused && s->held_bytes + length > ATOLL_DOOR_HELD_BYTES) {
        atoll_visit_refuse(x, 503, "gateway_full", "too many large requests at once; come back later");
        x->answer.retry_after_s = 1;
    }
    if (x->is_refused)
        return MHD_YES;
    atoll_buffer_put_bytes(&x->body, bytes, length);
    if (x->body.failed)
        atoll_visit_refuse(x, 503, "gateway_full", "no memory for this request");
    else
        s->held_bytes += length;
    return MHD_YES;
}

static enum MHD_Result take_end(struct atoll_visit *x)
{
    if (!x->is_refused && x->path > ATOLL_DOOR_EMBEDDINGS) {
        answer_here(x);
    } else if (!x->is_refused && !atoll_visit_ask(x)) {
        return MHD_YES;
    }
    return send_answer(x, 0);
}

static ssize_t read_stream(void *context, uint64_t position, char *bytes, size_t limit)
{
    struct atoll_visit *x = context;
    const struct atoll_buffer *out = &x->answer.out;
    size_t left = out->length - x->streamed;
    if (x->state == ATOLL_VISIT_LEFT)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (!left && x->is_over)
        return out->failed ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM;
    if (!left) {
        atoll_buffer_clear(&x->answer.out);
        x->streamed = 0;
        atoll_visit_suspend(x);
        return 0;
    }
    size_t length = left < limit ? left : limit;
    memcpy(bytes, out->data + x->streamed, length);
    x->streamed += length;
    return (ssize_t)length;
}

static enum MHD_Result send_stream(struct atoll_visit *x)
{
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_stream, x, NULL);
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", "text/event-stream");
    MHD_add_response_header(response, "Cache-Control", "no-store");
    enum MHD_Result rc = MHD_queue_response(x->connection, 200, response);
    MHD_destroy_response(response);
    return rc;
}

static enum MHD_Result proceed(struct atoll_visit *x)
{
    switch (x->state) {
    case ATOLL_VISIT_READING: return take_end(x);
    case ATOLL_VISIT_READY: return send_answer(x, 0);
    case ATOLL_VISIT_STREAMING: return send_stream(x);
    case ATOLL_VISIT_LEFT: return MHD_NO;
    case ATOLL_VISIT_ASKING: /* not ours to wake */
    case ATOLL_VISIT_SENT: break;
    }
    return MHD_YES;
}

enum MHD_Result atoll_door_access(void *server, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_length, void **context)
{
    struct atoll_visit *x = *context;
    if (!x) {
        x = begin(server, connection);
        *context = x;
        return x ? take_headers(x, url, method) : MHD_NO;
    }
    if (*upload_length) {
        size_t length = *upload_length;
        *upload_length = 0;
        return take_body(x, upload, length);
    }
    return proceed(x);
}

void atoll_door_completed(void *server, struct MHD_Connection *connection, void **context,
                          enum MHD_RequestTerminationCode why)
{
    struct atoll_visit *x = *context;
    if (!x)
        return;
    *context = NULL;
    atoll_visit_drop_ask(x);
    if (x->door) {
        x->door->visit = NULL;
        x->door->is_used = 1;
        atoll_door_expect(x->door, ATOLL_DOOR_PATIENCE_S);
    }
    *(x->previous ? &x->previous->next : &x->server->visits) = x->next;
    if (x->next)
        x->next->previous = x->previous;
    atoll_visit_release_body(x);
    atoll_answer_fini(&x->answer);
    free(x);
}

int atoll_visit_is_reading(const struct atoll_visit *visit)
{
    return visit->state == ATOLL_VISIT_READING;
}

void atoll_visit_close(struct atoll_visit *x)
{
    atoll_visit_drop_ask(x);
    if (x->state == ATOLL_VISIT_ASKING) {
        atoll_answer_refuse(&x->answer, 503, "server_error", "gateway_ends",
                            "the gateway ends; ask another one");
        x->answer.retry_after_s = 1;
        x->state = ATOLL_VISIT_READY;
    } else if (x->state == ATOLL_VISIT_STREAMING) {
        x->is_over = 1; /* without [DONE]: it is no whole answer */
    }
    atoll_visit_resume(x);
}
