/* broker_step.c - the life of one call, as a table of states and events.
 *
 *   (new) --stored, or may not be asked--> ENDED
 *   (new) --> QUEUED --admitted--> PLACED --committed--> SENT --answered--> ENDED
 *               ^         |  no money now                  |
 *     committed |         v                                | worth another try
 *           RESERVED <- STARVED                            v
 *               ^--------------------- backoff -------- PAUSED
 *
 * A call that goes on after a try looks at its booking again: one that is whole is used again, else it reserves anew.
 * ABANDONED (the last deadline passed, or all cancelled) ends it in every state. */
#include "llm-gateway/broker/broker_state.h"

#include <stdio.h>

#include "base/log.h"

#define FEED_S      0.25  /* how often the ledger is asked again while other holders have what is left */
#define FEED_SOON_S 0.002 /* after a settlement: several in one */

/* ---- the end ---- */

/* The name and the sums of a call; status, texts and usage are those of its last try. */
static void describe(struct atoll_call *call)
{
    struct atoll_llm_outcome *outcome = &call->outcome;
    const struct atoll_gateway_model *model = &call->broker->config->models[call->model];
    outcome->request = call->id;
    if (outcome->is_from_store)
        return;
    outcome->cost_usd = (double)call->spent * 1e-9;
    outcome->tries = call->try_count;
    if (!call->try_count)
        return;
    outcome->started_unix_ns = call->started_unix_ns;
    outcome->elapsed_s = (atoll_loop_now_ns(call->broker->loop) - call->started_ns) / ATOLL_NS_PER_S;
    snprintf(outcome->name, sizeof outcome->name, "%s", model->name);
    snprintf(outcome->endpoint, sizeof outcome->endpoint, "%s",
             call->broker->config->endpoints[model->endpoint].name);
}

static void to_end(struct atoll_call *call)
{
    struct atoll_broker *broker = call->broker;
    atoll_loop_cancel(broker->loop, call->timer);
    call->timer = 0;
    atoll_call_list_leave(call);
    if (call->booking.number)
        call->last_reservation = call->booking.number;
    atoll_booking_drop(call, &call->booking);
    describe(call);
    if (call->outcome.status == ATOLL_LLM_CANCELLED || call->outcome.status == ATOLL_LLM_TIMEOUT)
        atoll_broker_index_remove_call(&broker->index, call);
    atoll_call_keep(call);
    if (broker->metrics)
        atoll_metrics_outcome(broker->metrics, broker->config->models[call->model].name, &call->outcome);
    call->state = ATOLL_CALL_ENDED;
    atoll_call_list_append(&broker->ended, call);
    atoll_broker_wake(broker);
}

/* ---- on the way to a try ---- */

static void go(struct atoll_call *call)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_queue_push(call, &err)) {
        atoll_llm_outcome_set(&call->outcome, ATOLL_LLM_OVERLOADED, "%s", err.text);
        to_end(call);
        return;
    }
    call->state = ATOLL_CALL_QUEUED;
    atoll_lane_pump(atoll_lane_of(call->broker, call->model));
}

static void feed_rang(void *context)
{
    struct atoll_broker *broker = context;
    const struct atoll_call *last = broker->starved.last;
    struct atoll_call *call;
    int is_last = 0;
    broker->feed_timer = 0;
    /* One that is starved again stands at the end and sets the timer: others have their chance next time. */
    while (!is_last && !broker->feed_timer && (call = broker->starved.first) != NULL) {
        is_last = call == last;
        atoll_call_list_leave(call);
        atoll_call_tell(call, ATOLL_CALL_FED);
    }
}

static void feed_after(struct atoll_broker *broker, double seconds)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    double when_ns = atoll_loop_now_ns(broker->loop) + seconds * ATOLL_NS_PER_S;
    if (broker->feed_timer && broker->feed_ns <= when_ns)
        return;
    atoll_loop_cancel(broker->loop, broker->feed_timer);
    broker->feed_timer = 0;
    broker->feed_ns = when_ns;
    if (atoll_loop_at(broker->loop, when_ns, feed_rang, broker, &broker->feed_timer, &err))
        atoll_log_err(ATOLL_LOG_ERROR, "gateway.timer", &err);
}

void atoll_broker_feed(struct atoll_broker *broker)
{
    if (broker->starved.first && !broker->is_closing)
        feed_after(broker, FEED_SOON_S);
}

/* A limit is a limit; trouble with the ledger will pass, and is none. */
static enum atoll_llm_status status_of(const struct atoll_err *why)
{
    switch (why->code) {
    case ATOLL_E_LIMIT:
    case ATOLL_E_BUSY: return ATOLL_LLM_BUDGET;
    case ATOLL_E_INPUT: return ATOLL_LLM_INVALID;
    default: return ATOLL_LLM_OVERLOADED;
    }
}

/* What the ledger said is the outcome if nothing comes before the deadline. */
static void starve(struct atoll_call *call, const struct atoll_err *why)
{
    call->state = ATOLL_CALL_STARVED;
    atoll_llm_outcome_set(&call->outcome, status_of(why), "%s", why->text);
    atoll_call_list_append(&call->broker->starved, call);
    feed_after(call->broker, FEED_S);
}

/* What the last try said stays in the text: that is why another one was wanted. */
static void refuse(struct atoll_call *call, const struct atoll_err *why)
{
    char before[sizeof call->outcome.detail] = "";
    if (call->try_count)
        snprintf(before, sizeof before, "; the last try ended as %s: %.200s",
                 atoll_llm_status_name(call->outcome.status), call->outcome.detail);
    atoll_llm_outcome_set(&call->outcome, status_of(why), "%s%s", why->text, before);
    to_end(call);
}

static void commit_then(struct atoll_call *call, enum atoll_call_state state)
{
    call->state = state;
    atoll_call_list_append(&call->broker->reserved, call);
    atoll_broker_wake(call->broker);
}

static void go_without(struct atoll_call *call, const struct atoll_err *why)
{
    if (why->code == ATOLL_E_BUSY || why->code == ATOLL_E_FULL)
        starve(call, why);
    else
        refuse(call, why);
}

static int is_whole(const struct atoll_call *call)
{
    const struct atoll_booking *booking = &call->booking;
    return booking->is_held && booking->model == call->model;
}

/* Before the queue: calls that starved take what they can get. */
static void reserve(struct atoll_call *call)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    int was_whole = is_whole(call);
    if (!was_whole && atoll_booking_reserve(call, &call->booking, &err))
        go_without(call, &err);
    else if (was_whole || !call->broker->spending)
        go(call);
    else
        commit_then(call, ATOLL_CALL_RESERVED);
}

static int is_reading(enum atoll_exchange_mode mode)
{
    return mode == ATOLL_EXCHANGE_REPLAY || mode == ATOLL_EXCHANGE_REPLAY_THEN_LIVE;
}

/* 1: the store's answer is the call's. */
static int look_up(struct atoll_call *call)
{
    struct atoll_broker *broker = call->broker;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (!broker->store || !is_reading(broker->config->mode))
        return 0;
    int found = atoll_store_find(broker->store, &call->request, &call->outcome, &err);
    if (found < 0)
        atoll_log_err(ATOLL_LOG_ERROR, "gateway.store.read", &err);
    if (found > 0)
        call->outcome.is_from_store = 1;
    return found > 0;
}

static void miss(struct atoll_call *call)
{
    char hex[ATOLL_ID_HEX];
    atoll_id_hex(&call->id, hex);
    atoll_llm_outcome_set(&call->outcome, ATOLL_LLM_MISS,
                          "replay: %s holds no answer to this request (id %.16s, key '%.64s')",
                          call->broker->config->store, hex, call->request.key);
    to_end(call);
}

/* Tries that were in flight when an earlier life ended count as spent, and may be made once more. */
static void excuse(struct atoll_call *call)
{
    struct atoll_spending *spending = call->broker->spending;
    uint64_t reservation = 0;
    while (spending && atoll_spending_unknown(spending, &call->id, &reservation) == 1 &&
           atoll_spending_excuse(spending, reservation, NULL) == 0)
        continue;
}

void atoll_call_start(struct atoll_call *call)
{
    if (look_up(call)) {
        to_end(call);
    } else if (call->broker->config->mode == ATOLL_EXCHANGE_REPLAY) {
        miss(call);
    } else {
        excuse(call);
        go(call);
    }
}

/* ---- the first try ---- */

static void send(struct atoll_call *call)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_try_send(call, &err)) {
        atoll_llm_outcome_set(&call->outcome,
                              err.code == ATOLL_E_INPUT ? ATOLL_LLM_INVALID : ATOLL_LLM_NETWORK, "%s",
                              err.text);
        to_end(call);
        return;
    }
    call->state = ATOLL_CALL_SENT;
}

/* ---- a place at the endpoint ---- */

static void give_place_back(struct atoll_call *call)
{
    struct atoll_lane *lane = atoll_lane_of(call->broker, call->model);
    struct atoll_pool *pool = atoll_pool_of(call->broker, call->model);
    atoll_bucket_return(&lane->requests, 1);
    atoll_bucket_return(&pool->requests, 1);
    atoll_lane_note(lane, pool, ATOLL_LLM_CANCELLED, atoll_loop_now_ns(call->broker->loop),
                    atoll_try_token_estimate(call, call->model));
}

/* Only now is money set aside: what waits in a queue when a gateway is killed has cost nothing. */
static void admitted(struct atoll_call *call)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    int was_whole = is_whole(call);
    if (!was_whole && atoll_booking_reserve(call, &call->booking, &err)) {
        give_place_back(call);
        go_without(call, &err);
    } else if (was_whole || !call->broker->spending) {
        send(call);
    } else {
        commit_then(call, ATOLL_CALL_PLACED);
    }
}

/* ---- after a try ---- */

static int is_final(enum atoll_llm_status status)
{
    return atoll_llm_status_is_answer(status) || status == ATOLL_LLM_REFUSED || status == ATOLL_LLM_EMPTY;
}

static void pause_rang(void *context)
{
    struct atoll_call *call = context;
    call->timer = 0;
    atoll_call_tell(call, ATOLL_CALL_RESUMED);
}

/* 1: it is tried again. */
static int try_again(struct atoll_call *call)
{
    const struct atoll_retry_settings *settings = &call->broker->config->retry;
    double now_ns = atoll_loop_now_ns(call->broker->loop), wait_s = 0;
    double left_s = (atoll_call_deadline_ns(call) - now_ns) / ATOLL_NS_PER_S;
    double unit = atoll_random_unit(
        atoll_random_at(atoll_id_u64(&call->id) ^ (uint64_t)call->started_unix_ns, call->try_count));
    if (left_s <= 0)
        return 0;
    int is_worth =
        atoll_retry_decide(settings, &call->outcome, &call->headers, call->try_count, left_s, unit, &wait_s);
    if (!is_worth || atoll_loop_at(call->broker->loop, now_ns + wait_s * ATOLL_NS_PER_S, pause_rang, call,
                                   &call->timer, NULL))
        return 0;
    call->state = ATOLL_CALL_PAUSED;
    return 1;
}

static void judge(struct atoll_call *call)
{
    if (is_final(call->outcome.status) || !try_again(call))
        to_end(call);
}

/* ---- abandoned ---- */

static const char *const while_texts[ATOLL_CALL_STATE_COUNT] = {
    [ATOLL_CALL_STARVED] = "waiting for the ledger to give money or tokens",
    [ATOLL_CALL_RESERVED] = "its reservation was written",
    [ATOLL_CALL_PLACED] = "its reservation was written",
    [ATOLL_CALL_PAUSED] = "waiting before another try",
    [ATOLL_CALL_QUEUED] = "waiting for a place at the endpoint",
    [ATOLL_CALL_SENT] = "the model was answering",
};

/* What the last try said stays in the text. */
static void abandon(struct atoll_call *call)
{
    struct atoll_llm_outcome *outcome = &call->outcome;
    int is_late = call->abandoned_as == ATOLL_LLM_TIMEOUT;
    int is_starved = is_late && call->state == ATOLL_CALL_STARVED;
    char before[sizeof outcome->detail] = "";
    if (outcome->detail[0])
        snprintf(before, sizeof before, "; before: %s: %.300s", atoll_llm_status_name(outcome->status),
                 outcome->detail);
    atoll_llm_outcome_set(outcome, is_starved ? outcome->status : call->abandoned_as, "%s while %s%s",
                          is_late ? "the call's deadline passed" : "cancelled", while_texts[call->state],
                          before);
    to_end(call);
}

static void abandon_placed(struct atoll_call *call)
{
    struct atoll_lane *lane = atoll_lane_of(call->broker, call->model);
    give_place_back(call);
    abandon(call);
    atoll_lane_pump(lane);
}

static void abandon_queued(struct atoll_call *call)
{
    atoll_queue_remove(call);
    abandon(call);
}

/* What came of the answer is kept: it is paid for. */
static void abandon_sent(struct atoll_call *call)
{
    atoll_try_read(call->attempt, 0, &call->outcome);
    atoll_try_stop(call->attempt, call->abandoned_as, &call->outcome);
    call->outcome.detail[0] = '\0'; /* that it is not whole */
    abandon(call);
}

/* ---- the table ---- */

typedef void call_step(struct atoll_call *call);

static call_step *const steps[ATOLL_CALL_STATE_COUNT][ATOLL_CALL_EVENT_COUNT] = {
    [ATOLL_CALL_STARVED] = {[ATOLL_CALL_FED] = reserve, [ATOLL_CALL_ABANDONED] = abandon},
    [ATOLL_CALL_RESERVED] = {[ATOLL_CALL_COMMITTED] = go, [ATOLL_CALL_ABANDONED] = abandon},
    [ATOLL_CALL_PAUSED] = {[ATOLL_CALL_RESUMED] = go, [ATOLL_CALL_ABANDONED] = abandon},
    [ATOLL_CALL_PLACED] = {[ATOLL_CALL_COMMITTED] = send, [ATOLL_CALL_ABANDONED] = abandon_placed},
    [ATOLL_CALL_QUEUED] = {[ATOLL_CALL_ADMITTED] = admitted, [ATOLL_CALL_ABANDONED] = abandon_queued},
    [ATOLL_CALL_SENT] = {[ATOLL_CALL_ANSWERED] = judge, [ATOLL_CALL_ABANDONED] = abandon_sent},
};

void atoll_call_tell(struct atoll_call *call, enum atoll_call_event event)
{
    call_step *step = steps[call->state][event];
    if (step)
        step(call);
    else
        atoll_log(ATOLL_LOG_ERROR, "gateway.call.event", "a call in state %d cannot take event %d",
                  (int)call->state, (int)event);
}
