/* http_ask.c - questions to the broker, and callers who wait for their answers or do not.
 * libmicrohttpd does not read from a suspended connection: that its caller left is seen here, at once where nothing more was
 * sent, with the next tick where the next request is there already. */
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/json.h"
#include "llm-gateway/server/http_request.h"

#define ARENA_BYTES ((size_t)64 << 20)

/* What a call's callback finds: it outlives a visit whose caller left. */
struct atoll_door_ask {
    struct atoll_visit *visit; /* NULL: nobody is there any more */
    uint64_t call;
};

/* ---- waiting for the broker ---- */

static void on_readable(void *context, int fd, uint32_t events);

static void watch(struct atoll_visit *x, int is_wanted)
{
    if (x->door && x->is_watched != is_wanted &&
        !atoll_loop_watch(x->server->loop, x->door->fd, is_wanted ? EPOLLIN : 0, on_readable, x, NULL))
        x->is_watched = is_wanted;
}

void atoll_visit_suspend(struct atoll_visit *x)
{
    MHD_suspend_connection(x->connection);
    x->is_suspended = 1;
    watch(x, 1);
}

void atoll_visit_resume(struct atoll_visit *x)
{
    watch(x, 0);
    if (!x->is_suspended)
        return;
    x->is_suspended = 0;
    MHD_resume_connection(x->connection);
    atoll_door_wake(x->server);
}

void atoll_visit_drop_ask(struct atoll_visit *x)
{
    watch(x, 0);
    atoll_loop_cancel(x->server->loop, x->tick);
    x->tick = 0;
    if (!x->ask)
        return;
    x->ask->visit = NULL; /* the callback frees it */
    atoll_broker_cancel(x->server->broker, x->ask->call);
    x->ask = NULL;
}

static void leave(struct atoll_visit *x)
{
    atoll_visit_drop_ask(x);
    x->state = ATOLL_VISIT_LEFT;
    atoll_visit_resume(x);
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

static int is_gone(const struct atoll_visit *x)
{
    struct pollfd p = {.fd = x->door ? x->door->fd : -1, .events = POLLRDHUP};
    return poll(&p, 1, 0) == 1 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

static void set_tick(struct atoll_visit *x);

static void on_tick(void *context)
{
    static const char comment[] = ": the model has not answered yet\n\n";
    struct atoll_visit *x = context;
    x->tick = 0;
    if (is_gone(x)) {
        leave(x);
        return;
    }
    if (x->is_streamed && x->is_suspended) {
        x->state = ATOLL_VISIT_STREAMING;
        atoll_buffer_put_bytes(&x->answer.out, comment, sizeof comment - 1);
        atoll_visit_resume(x);
    }
    set_tick(x);
}

static void set_tick(struct atoll_visit *x)
{
    struct atoll_loop *loop = x->server->loop;
    atoll_loop_at(loop, atoll_loop_now_ns(loop) + ATOLL_DOOR_TICK_S * 1e9, on_tick, x, &x->tick, NULL);
}

static void on_outcome(void *context, const struct atoll_llm_outcome *outcome)
{
    struct atoll_door_ask *ask = context;
    struct atoll_visit *x = ask->visit;
    free(ask);
    if (!x)
        return;
    x->ask = NULL;
    atoll_loop_cancel(x->server->loop, x->tick);
    x->tick = 0;
    if (x->state == ATOLL_VISIT_STREAMING || (x->is_streamed && !atoll_answer_is_error(outcome->status)))
        atoll_answer_events(&x->answer, outcome, x->wants_usage);
    else
        atoll_answer_outcome(&x->answer, outcome);
    x->is_over = 1;
    if (x->state == ATOLL_VISIT_ASKING)
        x->state = ATOLL_VISIT_READY;
    atoll_door_expect(x->door, ATOLL_DOOR_PATIENCE_S);
    atoll_visit_resume(x);
}

/* ---- the question ---- */

static void refuse_err(struct atoll_visit *x, const struct atoll_err *err)
{
    if (err->code == ATOLL_E_INPUT)
        atoll_answer_refuse(&x->answer, 400, "invalid_request_error", NULL, "%s", err->text);
    else if (err->code == ATOLL_E_LIMIT)
        atoll_answer_refuse(&x->answer, 413, "invalid_request_error", "request_too_large", "%s", err->text);
    else
        atoll_answer_refuse(&x->answer, 503, "server_error", NULL, "%s", err->text);
}

static void refuse_submission(struct atoll_visit *x, const char *model, const struct atoll_err *err)
{
    if (err->code == ATOLL_E_INPUT) {
        atoll_answer_refuse(&x->answer, 404, "invalid_request_error", "model_not_found", "%s", err->text);
    } else if (err->code == ATOLL_E_LIMIT) {
        atoll_answer_refuse(&x->answer, 429, "server_error", "gateway_full", "%s", err->text);
        x->answer.retry_after_s = 1;
    } else {
        atoll_answer_refuse(&x->answer, 503, "server_error", NULL, "%s", err->text);
    }
}

static int reads_usage_wish(const struct atoll_buffer *body)
{
    json_t *document = atoll_json_load(body->data, body->length, 1000000, 0, NULL);
    int wish = json_is_true(json_object_get(json_object_get(document, "stream_options"), "include_usage"));
    json_decref(document);
    return wish;
}

static int submit(struct atoll_visit *x, const struct atoll_llm_request *request)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_door_ask *ask = calloc(1, sizeof *ask);
    if (!ask)
        atoll_err_set(&err, ATOLL_E_MEMORY, "no memory for a call");
    if (!ask || atoll_broker_submit(x->server->broker, request, on_outcome, ask, &ask->call, &err)) {
        free(ask);
        refuse_submission(x, request->model, &err);
        return -1;
    }
    ask->visit = x;
    x->ask = ask;
    return 0;
}

static int put_question(struct atoll_visit *x)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_llm_request request;
    struct atoll_arena *arena = atoll_arena_create(ARENA_BYTES, &err);
    int rc = -1;
    if (!arena || atoll_llm_request_decode(x->body.data ? (const void *)x->body.data : "", x->body.length,
                                           arena, &request, &err)) {
        refuse_err(x, &err);
    } else if ((request.operation == ATOLL_LLM_EMBED) != (x->path == ATOLL_DOOR_EMBEDDINGS)) {
        atoll_answer_refuse(&x->answer, 400, "invalid_request_error", NULL,
                            x->path == ATOLL_DOOR_EMBEDDINGS
                                ? "'input' is missing: texts to embed"
                                : "'input' belongs to /v1/embeddings; send 'messages'");
    } else {
        x->is_streamed = request.is_streamed && x->path == ATOLL_DOOR_CHAT;
        x->wants_usage = x->is_streamed && reads_usage_wish(&x->body);
        rc = submit(x, &request);
    }
    atoll_arena_destroy(arena);
    atoll_visit_release_body(x); /* the broker has its own copy */
    return rc;
}
int atoll_visit_ask(struct atoll_visit *x)
{
    if (put_question(x))
        return -1;
    x->state = ATOLL_VISIT_ASKING;
    atoll_door_expect(x->door, 0);
    set_tick(x);
    atoll_visit_suspend(x);
    return 0;
}
