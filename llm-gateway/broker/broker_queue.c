/* broker_queue.c - who may go next.
 * Calls wait in the queue of their model, oldest first; an endpoint serves the oldest head of its queues that may go.  What
 * stops the whole endpoint (its throttle, its breaker, its configured limits) stops all its queues; a queue whose learned
 * limit is used up stops itself alone.  An endpoint has one timer, for the earliest moment at which something it waits for is
 * due; a place in the throttle needs none: every end of a try looks again. */
#include "llm-gateway/broker/broker_state.h"

#include <math.h>
#include <stdlib.h>

#include "base/log.h"

/* ---- lists, and the next turn ---- */

void atoll_call_list_append(struct atoll_call_list *list, struct atoll_call *call)
{
    call->list = list;
    call->next = NULL;
    call->previous = list->last;
    if (list->last)
        list->last->next = call;
    else
        list->first = call;
    list->last = call;
}

void atoll_call_list_leave(struct atoll_call *call)
{
    if (!call->list)
        return;
    if (call->previous)
        call->previous->next = call->next;
    else
        call->list->first = call->next;
    if (call->next)
        call->next->previous = call->previous;
    else
        call->list->last = call->previous;
    call->list = NULL;
    call->next = call->previous = NULL;
}

static void wake_rang(void *context)
{
    struct atoll_broker *broker = context;
    broker->wake_timer = 0;
}

void atoll_broker_wake(struct atoll_broker *broker)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (!broker->wake_timer && atoll_loop_at(broker->loop, atoll_loop_now_ns(broker->loop), wake_rang, broker,
                                             &broker->wake_timer, &err)) {
        atoll_log_err(ATOLL_LOG_ERROR, "gateway.timer", &err);
    }
}

struct atoll_broker_endpoint *atoll_broker_endpoint_of(const struct atoll_broker *broker, unsigned model)
{
    return &broker->endpoints[broker->config->models[model].endpoint];
}

struct atoll_queue *atoll_queue_of(const struct atoll_broker *broker, unsigned model)
{
    return &broker->queues[broker->queue_of[model]];
}

static void make_due(struct atoll_broker_endpoint *endpoint)
{
    endpoint->is_due = 1;
    atoll_broker_wake(endpoint->broker);
}

/* ---- the heap of a queue ---- */

static void put(struct atoll_queue *queue, size_t place, struct atoll_call *call)
{
    queue->heap[place] = call;
    call->place = place;
}

static void sift_up(struct atoll_queue *queue, size_t place)
{
    struct atoll_call *call = queue->heap[place];
    while (place > 0 && call->arrival < queue->heap[(place - 1) / 2]->arrival) {
        put(queue, place, queue->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    put(queue, place, call);
}

static void sift_down(struct atoll_queue *queue, size_t place)
{
    struct atoll_call *call = queue->heap[place];
    for (size_t child = 2 * place + 1; child < queue->count; child = 2 * place + 1) {
        if (child + 1 < queue->count && queue->heap[child + 1]->arrival < queue->heap[child]->arrival)
            child++;
        if (queue->heap[child]->arrival > call->arrival)
            break;
        put(queue, place, queue->heap[child]);
        place = child;
    }
    put(queue, place, call);
}

int atoll_queue_push(struct atoll_call *call, struct atoll_err *err)
{
    struct atoll_queue *queue = atoll_queue_of(call->broker, call->model);
    if (atoll_array_reserve(&queue->heap, &queue->capacity, queue->count + 1, sizeof(*queue->heap), err))
        return atoll_err_add(err, "the gateway's queue of calls");
    put(queue, queue->count++, call);
    sift_up(queue, call->place);
    if (call->place == 0) /* another head, another amount */
        queue->blocked_ns = 0;
    make_due(atoll_broker_endpoint_of(call->broker, call->model));
    return 0;
}

void atoll_queue_remove(struct atoll_call *call)
{
    struct atoll_queue *queue = atoll_queue_of(call->broker, call->model);
    size_t place = call->place;
    struct atoll_call *last = queue->heap[--queue->count];
    if (place == 0)
        queue->blocked_ns = 0;
    if (last == call)
        return;
    put(queue, place, last);
    sift_up(queue, place);
    sift_down(queue, last->place);
}

/* ---- what an endpoint allows ---- */

static int take_both(struct atoll_bucket *requests, struct atoll_bucket *tokens, double amount, double now_ns,
                     double *ret_when_ns)
{
    if (!atoll_bucket_take(requests, 1, now_ns, ret_when_ns))
        return 0;
    if (atoll_bucket_take(tokens, amount, now_ns, ret_when_ns))
        return 1;
    atoll_bucket_return(requests, 1);
    return 0;
}

enum admission { ADMITTED, QUEUE_WAITS, ENDPOINT_WAITS };

/* The breaker comes last: whom it admits may be its probe. */
static enum admission admit(struct atoll_broker_endpoint *endpoint, struct atoll_queue *queue, double tokens,
                            double now_ns, double *ret_when_ns)
{
    enum admission admission = ENDPOINT_WAITS;
    *ret_when_ns = INFINITY;
    if (!atoll_throttle_admit(&endpoint->throttle))
        return ENDPOINT_WAITS;
    if (!take_both(&endpoint->requests, &endpoint->tokens, tokens, now_ns, ret_when_ns))
        goto out_throttle;
    if (!take_both(&queue->requests, &queue->tokens, tokens, now_ns, ret_when_ns)) {
        admission = QUEUE_WAITS;
        goto out_endpoint;
    }
    if (atoll_breaker_admit(&endpoint->breaker, now_ns, ret_when_ns))
        return ADMITTED;
    atoll_bucket_return(&queue->requests, 1);
    atoll_bucket_return(&queue->tokens, tokens);
out_endpoint:
    atoll_bucket_return(&endpoint->requests, 1);
    atoll_bucket_return(&endpoint->tokens, tokens);
out_throttle:
    atoll_throttle_note(&endpoint->throttle, ATOLL_LLM_CANCELLED, now_ns, now_ns);
    return admission;
}

void atoll_broker_endpoint_note(struct atoll_broker_endpoint *endpoint, struct atoll_queue *queue,
                                enum atoll_llm_status status, double sent_ns, double tokens_not_used)
{
    double now_ns = atoll_loop_now_ns(endpoint->broker->loop);
    atoll_breaker_note(&endpoint->breaker, status, now_ns);
    atoll_throttle_note(&endpoint->throttle, status, sent_ns, now_ns);
    atoll_bucket_return(&endpoint->tokens, tokens_not_used);
    atoll_bucket_return(&queue->tokens, tokens_not_used);
    queue->blocked_ns = 0; /* buckets and their rates may be others now */
    make_due(endpoint);
}

/* ---- serving ---- */

static void timer_rang(void *context)
{
    struct atoll_broker_endpoint *endpoint = context;
    endpoint->timer = 0;
    make_due(endpoint);
}

static void set_timer(struct atoll_broker_endpoint *endpoint, double when_ns)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (endpoint->timer && endpoint->timer_ns <= when_ns)
        return;
    atoll_loop_cancel(endpoint->broker->loop, endpoint->timer);
    endpoint->timer = 0;
    endpoint->timer_ns = when_ns;
    if (atoll_loop_at(endpoint->broker->loop, when_ns, timer_rang, endpoint, &endpoint->timer, &err))
        atoll_log_err(ATOLL_LOG_ERROR, "gateway.timer", &err);
}

/* The queue of the endpoint whose head came first, of those that are not blocked. */
static struct atoll_queue *next_queue(const struct atoll_broker_endpoint *endpoint, double now_ns,
                                      double *wake_ns)
{
    const struct atoll_broker *broker = endpoint->broker;
    struct atoll_queue *best = NULL;
    for (size_t i = 0; i < broker->config->model_count; i++) {
        struct atoll_queue *queue = &broker->queues[i];
        if (!queue->count || atoll_broker_endpoint_of(broker, (unsigned)i) != endpoint)
            continue;
        if (queue->blocked_ns > now_ns)
            *wake_ns = fmin(*wake_ns, queue->blocked_ns);
        else if (!best || queue->heap[0]->arrival < best->heap[0]->arrival)
            best = queue;
    }
    return best;
}

struct atoll_call *atoll_broker_endpoint_next(struct atoll_broker_endpoint *endpoint)
{
    double now_ns = atoll_loop_now_ns(endpoint->broker->loop), wake_ns = INFINITY, when_ns;
    struct atoll_queue *queue;
    while ((queue = next_queue(endpoint, now_ns, &wake_ns)) != NULL) {
        struct atoll_call *call = queue->heap[0];
        enum admission admission = admit(endpoint, queue, call->token_estimate, now_ns, &when_ns);
        if (admission == ADMITTED) {
            atoll_queue_remove(call);
            return call;
        }
        when_ns = fmax(when_ns, now_ns + 1e6); /* a millisecond: no turning on the spot */
        wake_ns = fmin(wake_ns, when_ns);
        if (admission == ENDPOINT_WAITS)
            break;
        queue->blocked_ns = when_ns;
    }
    if (wake_ns < INFINITY)
        set_timer(endpoint, wake_ns);
    return NULL;
}
