/* broker_queue.c - who may go next.
 * Calls wait in the pool of their model, oldest first; a lane serves the oldest head of its pools that may go.  What stops
 * the whole lane (its throttle, its breaker, its configured limits) stops all pools; a pool whose learned limit is used up
 * stops itself alone.  A lane has one alarm, for the earliest moment at which something it waits for is due; a place in
 * the throttle needs none: every end of a try looks again. */
#include "llm-gateway/broker/broker_state.h"

#include <math.h>
#include <stdlib.h>

#include "base/log.h"

struct atoll_lane *atoll_lane_of(const struct atoll_broker *broker, unsigned model)
{
    return &broker->lanes[broker->config->models[model].endpoint];
}

struct atoll_pool *atoll_pool_of(const struct atoll_broker *broker, unsigned model)
{
    return &broker->pools[broker->pool_of[model]];
}

/* ---- the heap of a pool ---- */

static void put(struct atoll_pool *pool, size_t place, struct atoll_call *call)
{
    pool->heap[place] = call;
    call->place = place;
}

static void sift_up(struct atoll_pool *pool, size_t place)
{
    struct atoll_call *call = pool->heap[place];
    while (place > 0 && call->arrival < pool->heap[(place - 1) / 2]->arrival) {
        put(pool, place, pool->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    put(pool, place, call);
}

static void sift_down(struct atoll_pool *pool, size_t place)
{
    struct atoll_call *call = pool->heap[place];
    for (size_t child = 2 * place + 1; child < pool->count; child = 2 * place + 1) {
        if (child + 1 < pool->count && pool->heap[child + 1]->arrival < pool->heap[child]->arrival)
            child++;
        if (pool->heap[child]->arrival > call->arrival)
            break;
        put(pool, place, pool->heap[child]);
        place = child;
    }
    put(pool, place, call);
}

int atoll_queue_push(struct atoll_call *call, struct atoll_err *err)
{
    struct atoll_pool *pool = atoll_pool_of(call->broker, call->model);
    if (pool->count == pool->capacity) {
        size_t capacity = pool->capacity ? 2 * pool->capacity : 64;
        struct atoll_call **heap = realloc(pool->heap, capacity * sizeof(struct atoll_call *));
        if (!heap)
            return atoll_err_set(err, ATOLL_E_MEMORY, "gateway: no memory for a queue of %zu calls",
                                 capacity);
        pool->heap = heap;
        pool->capacity = capacity;
    }
    put(pool, pool->count++, call);
    sift_up(pool, call->place);
    if (call->place == 0) /* another head, another amount */
        pool->blocked_ns = 0;
    return 0;
}

void atoll_queue_remove(struct atoll_call *call)
{
    struct atoll_pool *pool = atoll_pool_of(call->broker, call->model);
    size_t place = call->place;
    struct atoll_call *last = pool->heap[--pool->count];
    if (place == 0)
        pool->blocked_ns = 0;
    if (last == call)
        return;
    put(pool, place, last);
    sift_up(pool, place);
    sift_down(pool, last->place);
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

enum admission { ADMITTED, POOL_WAITS, LANE_WAITS };

/* The breaker comes last: whom it admits may be its probe. */
static enum admission admit(struct atoll_lane *lane, struct atoll_pool *pool, double tokens, double now_ns,
                            double *ret_when_ns)
{
    enum admission admission = LANE_WAITS;
    *ret_when_ns = INFINITY;
    if (!atoll_throttle_admit(&lane->throttle))
        return LANE_WAITS;
    if (!take_both(&lane->requests, &lane->tokens, tokens, now_ns, ret_when_ns))
        goto out_throttle;
    if (!take_both(&pool->requests, &pool->tokens, tokens, now_ns, ret_when_ns)) {
        admission = POOL_WAITS;
        goto out_lane;
    }
    if (atoll_breaker_admit(&lane->breaker, now_ns, ret_when_ns))
        return ADMITTED;
    atoll_bucket_return(&pool->requests, 1);
    atoll_bucket_return(&pool->tokens, tokens);
out_lane:
    atoll_bucket_return(&lane->requests, 1);
    atoll_bucket_return(&lane->tokens, tokens);
out_throttle:
    atoll_throttle_note(&lane->throttle, ATOLL_LLM_CANCELLED, now_ns, now_ns);
    return admission;
}

void atoll_lane_note(struct atoll_lane *lane, struct atoll_pool *pool, enum atoll_llm_status status,
                     double sent_ns, double tokens_not_used)
{
    double now_ns = atoll_loop_now_ns(lane->broker->loop);
    atoll_breaker_note(&lane->breaker, status, now_ns);
    atoll_throttle_note(&lane->throttle, status, sent_ns, now_ns);
    atoll_bucket_return(&lane->tokens, tokens_not_used);
    atoll_bucket_return(&pool->tokens, tokens_not_used);
    pool->blocked_ns = 0; /* buckets and their rates may be others now */
}

/* ---- serving ---- */

static void alarm_rang(void *context)
{
    struct atoll_lane *lane = context;
    lane->timer = 0;
    atoll_lane_pump(lane);
}

static void set_alarm(struct atoll_lane *lane, double when_ns)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (lane->timer && lane->timer_ns <= when_ns)
        return;
    atoll_loop_cancel(lane->broker->loop, lane->timer);
    lane->timer = 0;
    lane->timer_ns = when_ns;
    if (atoll_loop_at(lane->broker->loop, when_ns, alarm_rang, lane, &lane->timer, &err))
        atoll_log_err(ATOLL_LOG_ERROR, "gateway.timer", &err);
}

/* The pool of the lane whose head came first, of those that are not blocked. */
static struct atoll_pool *next_pool(const struct atoll_lane *lane, double now_ns, double *wake_ns)
{
    const struct atoll_broker *broker = lane->broker;
    struct atoll_pool *best = NULL;
    for (size_t i = 0; i < broker->config->model_count; i++) {
        struct atoll_pool *pool = &broker->pools[i];
        if (!pool->count || atoll_lane_of(broker, (unsigned)i) != lane)
            continue;
        if (pool->blocked_ns > now_ns)
            *wake_ns = fmin(*wake_ns, pool->blocked_ns);
        else if (!best || pool->heap[0]->arrival < best->heap[0]->arrival)
            best = pool;
    }
    return best;
}

static void pump(struct atoll_lane *lane)
{
    double now_ns = atoll_loop_now_ns(lane->broker->loop), wake_ns = INFINITY, when_ns;
    struct atoll_pool *pool;
    while ((pool = next_pool(lane, now_ns, &wake_ns)) != NULL) {
        struct atoll_call *call = pool->heap[0];
        enum admission admission =
            admit(lane, pool, atoll_try_token_estimate(call, call->model), now_ns, &when_ns);
        if (admission == ADMITTED) {
            atoll_queue_remove(call);
            atoll_call_tell(call, ATOLL_CALL_ADMITTED);
        } else if (admission == POOL_WAITS) {
            pool->blocked_ns = fmax(when_ns, now_ns + 1e6); /* a millisecond: no turning on the spot */
            wake_ns = fmin(wake_ns, pool->blocked_ns);
        } else {
            wake_ns = fmin(wake_ns, fmax(when_ns, now_ns + 1e6));
            break;
        }
    }
    if (wake_ns < INFINITY)
        set_alarm(lane, wake_ns);
}

void atoll_lane_pump(struct atoll_lane *lane)
{
    if (lane->broker->is_ending)
        return;
    if (lane->is_pumping) /* what a call that went out has changed is seen by the loop above */
        return;
    lane->is_pumping = 1;
    pump(lane);
    lane->is_pumping = 0;
}
