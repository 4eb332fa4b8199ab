/* broker_send.c - one try: its HTTP request, and from the end of the exchange to the outcome, the cost and the limits.
 * What surely costs nothing: a try whose request never left, and one that was answered with a status that is none of
 * success.  Everything else costs what its reply says, or, where that says nothing, the worst case. */
#include "llm-gateway/broker/broker_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/clock.h"
#include "base/log.h"

#define URL_BYTES      2048
#define HEADER_LIMIT   16
#define BODY_KEPT      ((size_t)256 << 10) /* the buffer of bodies keeps no more between tries */
#define RECEIVE_LIMIT  ((size_t)512 << 20) /* of all replies that are coming */
#define REPLY_BYTES    ((size_t)4 << 20)
#define REPLY_MOST     ((size_t)64 << 20)
#define BYTES_OF_TOKEN 2048 /* an event per token, with all that providers put around it */

/* ---- what a try may cost, and did ----
 * A reservation holds one try's worst case: the input's bound at the dearest input price, and the output limit.  Tries that
 * cost nothing hand it on to the next one; one that cost something ends it, and the next one needs its own.  So no settlement
 * exceeds its reservation unless the provider says so. */

static uint64_t sum_of(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t output_limit(const struct atoll_call *call)
{
    if (call->request.operation == ATOLL_LLM_EMBED)
        return 0;
    return call->request.max_output_tokens ? call->request.max_output_tokens : call->traits.max_output_tokens;
}

double atoll_call_token_estimate(const struct atoll_call *call)
{
    return (double)atoll_llm_request_input_estimate(&call->request) + (double)output_limit(call);
}

int atoll_reservation_make(struct atoll_call *call, struct atoll_err *err)
{
    struct atoll_broker *broker = call->broker;
    const struct atoll_gateway_model *model = &broker->config->models[call->model];
    if (call->reservation.is_held)
        return 0;
    uint64_t input = atoll_llm_request_input_bound(&call->request), output = output_limit(call);
    struct atoll_reservation made = {.is_held = 1,
                                     .model = call->model,
                                     .money = atoll_price_worst(model->price, input, output),
                                     .tokens = sum_of(input, output)};
    const struct atoll_spending_purpose purpose = {.campaign = call->request.campaign,
                                                   .task = call->request.task,
                                                   .model = model->name,
                                                   .request = call->id};
    if (broker->spending && atoll_spending_reserve(broker->spending, &purpose, made.money, made.tokens,
                                                   atoll_clock_unix_ns(), &made.number, err)) {
        return -1;
    }
    call->reservation = made;
    return 0;
}

static void settle(struct atoll_call *call, struct atoll_reservation *reservation, atoll_nanousd money,
                   uint64_t tokens)
{
    struct atoll_broker *broker = call->broker;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (!reservation->is_held)
        return;
    call->spent = sum_of(call->spent, money);
    if (broker->spending && atoll_spending_settle(broker->spending, reservation->number, money, tokens, &err))
        atoll_log_err(ATOLL_LOG_ERROR, "gateway.budget.settle", &err);
    *reservation = (struct atoll_reservation){0};
    broker->is_budget_freed = 1;
    atoll_broker_wake(broker);
}

void atoll_reservation_drop(struct atoll_call *call)
{
    if (call->reservation.number)
        call->last_reservation = call->reservation.number;
    settle(call, &call->reservation, 0, 0);
}

/* What a try cost, from what its reply said; fills usage. */
static atoll_nanousd cost_of(const struct atoll_try *it, int may_be_billed, struct atoll_llm_outcome *outcome)
{
    struct atoll_llm_usage *usage = &outcome->usage;
    const struct atoll_call *call = it->call;
    if (!may_be_billed) {
        *usage = (struct atoll_llm_usage){0};
        return 0;
    }
    if (!usage->is_estimated)
        return atoll_price_cost(call->broker->config->models[call->model].price, usage);
    *usage = (struct atoll_llm_usage){.input = atoll_llm_request_input_bound(&call->request),
                                      .output = output_limit(call),
                                      .is_estimated = 1};
    return it->reservation.money;
}

static void try_destroy(struct atoll_try *it)
{
    it->broker->received_bytes -= it->received_bytes;
    atoll_reply_reader_destroy(it->reader);
    free(it);
}

/* ---- the reply ---- */

static void on_header(void *context, const char *name, const char *value)
{
    struct atoll_try *it = context;
    atoll_reply_headers_read(&it->headers, name, value, (double)atoll_clock_unix_ns() * 1e-9);
}

static int on_data(void *context, int http_status, const void *bytes, size_t length)
{
    struct atoll_try *it = context;
    it->http_status = http_status;
    if (it->first_byte_ns <= 0)
        it->first_byte_ns = atoll_loop_now_ns(it->broker->loop);
    it->received_bytes += length;
    it->broker->received_bytes += length;
    it->is_crowded = it->broker->received_bytes > RECEIVE_LIMIT;
    it->is_refused = it->is_refused || atoll_reply_reader_feed(it->reader, bytes, length) != 0;
    return it->is_refused || it->is_crowded;
}

/* What came of the reply so far, as an outcome. */
static void read_reply(struct atoll_try *it, int is_whole, struct atoll_llm_outcome *outcome)
{
    atoll_llm_outcome_fini(outcome);
    if (it->http_status)
        atoll_reply_reader_finish(it->reader, it->http_status, is_whole, outcome);
    else
        outcome->usage.is_estimated = 1;
    outcome->http_status = it->http_status;
    outcome->first_byte_s = it->first_byte_ns > 0 ? (it->first_byte_ns - it->sent_ns) / ATOLL_NS_PER_S : 0;
    /* A server that echoes what it was sent must not bring its key into the store, logs and archives. */
    atoll_secret_scrub_outcome(atoll_broker_endpoint_of(it->broker, it->reservation.model)->key, outcome);
}

static int is_success(int http_status)
{
    return http_status >= 200 && http_status < 300;
}

static void read_end(struct atoll_try *it, const struct atoll_transfer_end *end,
                     struct atoll_llm_outcome *outcome)
{
    it->http_status = end->http_status;
    read_reply(it, end->status == ATOLL_LLM_OK, outcome);
    if (!atoll_llm_request_may_call(&it->call->request) || it->call->traits.has_no_tools)
        atoll_llm_outcome_drop_calls(outcome);
    if (end->status == ATOLL_LLM_OK || it->is_refused)
        return;
    if (it->is_crowded) {
        atoll_llm_outcome_set(outcome, ATOLL_LLM_OVERLOADED,
                              "all replies that are coming hold more than %zu MiB: this one was given up",
                              RECEIVE_LIMIT >> 20);
        return;
    }
    if (!it->http_status || end->status == ATOLL_LLM_PROTOCOL)
        atoll_llm_outcome_set(outcome, end->status, "%s", end->detail);
    else if (is_success(it->http_status) && !atoll_llm_status_is_answer(outcome->status))
        atoll_llm_outcome_set(outcome, end->status == ATOLL_LLM_TIMEOUT ? ATOLL_LLM_TIMEOUT : outcome->status,
                              "%.200s: %.200s", outcome->detail, end->detail);
}

static void learn(struct atoll_try *it)
{
    const struct atoll_reply_headers *h = &it->headers;
    struct atoll_queue *queue = atoll_queue_of(it->broker, it->reservation.model);
    double now_ns = atoll_loop_now_ns(it->broker->loop);
    atoll_bucket_learn(&queue->requests, h->request_limit, h->request_left, h->request_reset_s, now_ns);
    atoll_bucket_learn(&queue->tokens, h->token_limit, h->token_left, h->token_reset_s, now_ns);
}

/* Money, tokens and limits of a try that is over. */
static void account(struct atoll_try *it, int may_be_billed, enum atoll_llm_status status,
                    struct atoll_llm_outcome *outcome)
{
    struct atoll_call *call = it->call;
    unsigned model = it->reservation.model;
    double not_used = it->token_estimate;
    call->last_reservation = it->reservation.number;
    atoll_nanousd money = cost_of(it, may_be_billed, outcome);
    if (may_be_billed)
        not_used = outcome->usage.is_estimated
                       ? 0
                       : not_used - (double)sum_of(outcome->usage.input, outcome->usage.output);
    if (may_be_billed || call->reservation.is_held) {
        settle(call, &it->reservation, money, sum_of(outcome->usage.input, outcome->usage.output));
    } else {
        call->reservation = it->reservation;
        it->reservation = (struct atoll_reservation){0};
    }
    atoll_broker_endpoint_note(atoll_broker_endpoint_of(it->broker, model), atoll_queue_of(it->broker, model),
                               status, it->sent_ns, not_used);
}

static void on_done(void *context, const struct atoll_transfer_end *end)
{
    struct atoll_try *it = context;
    struct atoll_call *call = it->call;
    struct atoll_broker *broker = it->broker;
    if (call) {
        struct atoll_broker_endpoint *endpoint = atoll_broker_endpoint_of(broker, call->model);
        read_end(it, end, &call->outcome);
        atoll_secret_scrub_outcome(endpoint->key, &call->outcome); /* what the exchange's end says, too */
        learn(it);
        account(it, it->http_status ? is_success(it->http_status) : end->is_sent, call->outcome.status,
                &call->outcome);
        call->headers = it->headers;
        if (broker->metrics)
            atoll_metrics_try(broker->metrics, endpoint->config->name, end->http_status);
        call->attempt = NULL;
        atoll_call_list_append(&broker->finished, call);
        atoll_broker_wake(broker);
    }
    try_destroy(it);
}

void atoll_try_stop(struct atoll_try *it, enum atoll_llm_status why)
{
    struct atoll_call *call = it->call;
    read_reply(it, 0, &call->outcome);
    account(it, 1, why, &call->outcome);
    call->outcome.detail[0] = '\0'; /* that it is not whole */
    call->attempt = NULL;
    it->call = NULL;
    atoll_transfers_cancel(it->broker->transfers, it->transfer);
}

/* ---- the request ---- */

static size_t reply_limit(const struct atoll_call *call)
{
    uint64_t output = output_limit(call);
    if (call->request.operation == ATOLL_LLM_EMBED || output > (REPLY_MOST - REPLY_BYTES) / BYTES_OF_TOKEN)
        return REPLY_MOST;
    return REPLY_BYTES + (size_t)output * BYTES_OF_TOKEN;
}

/* Headers with a key are wiped by the caller. */
static size_t collect_headers(const struct atoll_buffer *lines, const char *ret_headers[HEADER_LIMIT])
{
    size_t count = 0;
    ret_headers[count++] = "Content-Type: application/json";
    for (size_t at = 0; at < lines->length && count < HEADER_LIMIT;
         at += strlen((const char *)lines->data + at) + 1)
        ret_headers[count++] = (const char *)lines->data + at;
    return count;
}

static int start(struct atoll_try *it, const struct atoll_broker_endpoint *endpoint, const char *path,
                 double deadline_ns, struct atoll_err *err)
{
    struct atoll_broker *broker = it->broker;
    const char *headers[HEADER_LIMIT];
    char url[URL_BYTES];
    int length = snprintf(url, sizeof(url), "%s%s", endpoint->config->url, path);
    if (length < 0 || (size_t)length >= sizeof(url))
        return atoll_err_set(err, ATOLL_E_INPUT, "endpoint %s: its url is too long", endpoint->config->name);
    const struct atoll_transfer transfer = {.method = "POST",
                                            .url = url,
                                            .headers = headers,
                                            .header_count = collect_headers(&broker->headers, headers),
                                            .body = broker->body.data,
                                            .body_length = broker->body.length,
                                            .site = &endpoint->config->site,
                                            .deadline_ns = deadline_ns,
                                            .body_limit_bytes = reply_limit(it->call),
                                            .on_header = on_header,
                                            .on_data = on_data,
                                            .on_done = on_done,
                                            .context = it};
    return atoll_transfers_start(broker->transfers, &transfer, &it->transfer, err);
}

static int compose(struct atoll_try *it, const struct atoll_broker_endpoint *endpoint, double deadline_ns,
                   struct atoll_err *err)
{
    struct atoll_broker *broker = it->broker;
    const struct atoll_call *call = it->call;
    enum atoll_provider provider = endpoint->config->provider;
    const char *path = atoll_provider_path(provider, call->request.operation);
    if (!path)
        return atoll_err_set(err, ATOLL_E_INPUT, "endpoint %s: '%s' has no such operation",
                             endpoint->config->name, atoll_provider_name(provider));
    it->reader = atoll_reply_reader_create(provider, call->request.operation, err);
    if (!it->reader)
        return -1;
    int result = 0;
    if (atoll_provider_body(provider, &call->request, &call->traits, &broker->body, err) ||
        atoll_provider_headers(provider, endpoint->key ? atoll_secret_text(endpoint->key) : NULL,
                               &broker->headers, err) ||
        start(it, endpoint, path, deadline_ns, err))
        result = -1;
    sodium_memzero(broker->headers.data, broker->headers.length);
    atoll_buffer_clear(&broker->headers);
    atoll_buffer_clear(&broker->body);
    if (broker->body.capacity > BODY_KEPT)
        atoll_buffer_fini(&broker->body);
    return result;
}

int atoll_try_send(struct atoll_call *call, double deadline_ns, struct atoll_err *err)
{
    struct atoll_broker *broker = call->broker;
    struct atoll_broker_endpoint *endpoint = atoll_broker_endpoint_of(broker, call->model);
    struct atoll_try *it = calloc(1, sizeof(*it));
    double now_ns = atoll_loop_now_ns(broker->loop), tokens = call->token_estimate;
    if (!it) {
        atoll_err_set(err, ATOLL_E_MEMORY, "gateway: no memory for a try");
    } else {
        *it = (struct atoll_try){.broker = broker, .call = call, .sent_ns = now_ns, .token_estimate = tokens};
        atoll_reply_headers_init(&it->headers);
    }
    if (!it || compose(it, endpoint, deadline_ns, err)) {
        atoll_broker_endpoint_note(endpoint, atoll_queue_of(broker, call->model), ATOLL_LLM_CANCELLED, now_ns,
                                   tokens);
        if (it)
            try_destroy(it);
        return -1;
    }
    it->reservation = call->reservation;
    call->reservation = (struct atoll_reservation){0};
    call->attempt = it;
    if (call->try_count++ == 0) {
        call->started_ns = now_ns;
        call->started_unix_ns = atoll_clock_unix_ns();
    }
    return 0;
}
