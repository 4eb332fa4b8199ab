/* broker.c - the face of the broker: who comes in, and the turn that makes everything last.
 * A turn commits what happened since the last one, the store before the ledger: a settlement without its exchange would
 * be money for an answer that is lost, an exchange without its settlement is settled when the ledger is opened again.
 * After the commit calls with a new booking may be sent, and calls that are over are answered. */
#include "llm-gateway/broker/broker_state.h"

#include <stdlib.h>

#include "base/log.h"

#define DEADLINE_S 600.0

struct atoll_broker *atoll_broker_create(struct atoll_loop *loop, const struct atoll_gateway_config *config,
                                         struct atoll_metrics *metrics, struct atoll_err *err)
{
    struct atoll_broker *broker = calloc(1, sizeof *broker);
    if (!broker) {
        atoll_err_set(err, ATOLL_E_MEMORY, "gateway: no memory for a broker");
        return NULL;
    }
    broker->loop = loop;
    broker->config = config;
    broker->metrics = metrics;
    broker->next_number = broker->next_arrival = 1;
    broker->left_end = &broker->left;
    if (atoll_broker_open(broker, err)) {
        atoll_broker_close(broker);
        free(broker);
        return NULL;
    }
    return broker;
}

/* ---- coming and going ---- */

static void wake_rang(void *context)
{
    struct atoll_broker *broker = context;
    broker->wake_timer = 0;
}

void atoll_broker_wake(struct atoll_broker *broker)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (!broker->wake_timer && atoll_loop_at(broker->loop, atoll_loop_now_ns(broker->loop), wake_rang, broker,
                                             &broker->wake_timer, &err))
        atoll_log_err(ATOLL_LOG_ERROR, "gateway.timer", &err);
}

static double deadline_ns(const struct atoll_broker *broker, const struct atoll_llm_request *request)
{
    double seconds = request->deadline_s > 0          ? request->deadline_s
                     : broker->config->deadline_s > 0 ? broker->config->deadline_s
                                                      : DEADLINE_S;
    return atoll_loop_now_ns(broker->loop) + seconds * ATOLL_NS_PER_S;
}

static int is_joining_by_id(const struct atoll_broker *broker)
{
    return broker->config->mode == ATOLL_EXCHANGE_REPLAY ||
           broker->config->mode == ATOLL_EXCHANGE_REPLAY_THEN_LIVE;
}

int atoll_broker_submit(struct atoll_broker *broker, const struct atoll_llm_request *request,
                        atoll_broker_done *done, void *context, uint64_t *ret_call, struct atoll_err *err)
{
    if (broker->is_closing)
        return atoll_err_set(err, ATOLL_E_LIMIT, "gateway: it is ending and takes nothing new");
    if (broker->config->in_flight_limit && broker->waiter_count >= broker->config->in_flight_limit)
        return atoll_err_set(err, ATOLL_E_LIMIT,
                             "gateway: %u calls are held, no more at once (in_flight_limit)",
                             broker->waiter_count);
    const struct atoll_id id = atoll_llm_request_id(request);
    struct atoll_call *call =
        atoll_broker_index_call(&broker->index, request->key, &id, is_joining_by_id(broker));
    struct atoll_call *made = call ? NULL : atoll_call_create(broker, request, &id, err);
    if (!call && !made)
        return -1;
    struct atoll_waiter *waiter =
        atoll_waiter_create(call ? call : made, deadline_ns(broker, request), done, context, err);
    if (!waiter) {
        atoll_call_destroy(made);
        return -1;
    }
    if (ret_call)
        *ret_call = waiter->number;
    if (made)
        atoll_call_start(made);
    return 0;
}

void atoll_broker_cancel(struct atoll_broker *broker, uint64_t call)
{
    struct atoll_waiter *waiter = atoll_broker_index_waiter(&broker->index, call);
    if (waiter)
        atoll_waiter_leave(waiter, ATOLL_LLM_CANCELLED);
}

void atoll_broker_stop(struct atoll_broker *broker)
{
    broker->is_closing = 1;
}

unsigned atoll_broker_count(const struct atoll_broker *broker)
{
    return broker->waiter_count;
}

/* ---- turns ---- */

/* What a list holds now; what is appended from here on waits for the next commit. */
static void take(struct atoll_call_list *list, struct atoll_call_list *ret_taken)
{
    *ret_taken = *list;
    *list = (struct atoll_call_list){NULL, NULL};
    for (struct atoll_call *call = ret_taken->first; call; call = call->next)
        call->list = ret_taken;
}

static void send_reserved(struct atoll_call_list *reserved)
{
    while (reserved->first) {
        struct atoll_call *call = reserved->first;
        atoll_call_list_leave(call);
        atoll_call_tell(call, ATOLL_CALL_COMMITTED);
    }
}

static void answer_ended(struct atoll_broker *broker, struct atoll_call_list *ended)
{
    while (ended->first) {
        struct atoll_call *call = ended->first;
        atoll_call_list_leave(call);
        if (call->is_unkept && atoll_call_keep(call)) {
            atoll_call_list_append(&broker->ended, call);
            atoll_broker_wake(broker);
            continue;
        }
        atoll_broker_index_remove_call(&broker->index, call);
        atoll_waiters_answer(call);
        atoll_call_destroy(call);
    }
}

static void show(struct atoll_broker *broker)
{
    if (!broker->metrics)
        return;
    atoll_metrics_gauge(broker->metrics, "calls", broker->waiter_count);
    atoll_metrics_gauge(broker->metrics, "exchanges", atoll_transfers_count(broker->transfers));
}

int atoll_broker_turn(struct atoll_broker *broker, struct atoll_err *err)
{
    struct atoll_call_list reserved, ended;
    if (broker->is_turning)
        return 0;
    if (atoll_broker_commit(broker, err))
        return -1;
    broker->is_turning = 1;
    take(&broker->reserved, &reserved);
    take(&broker->ended, &ended);
    send_reserved(&reserved);
    answer_ended(broker, &ended);
    atoll_waiters_answer_left(broker);
    show(broker);
    broker->is_turning = 0;
    return 0;
}

/* ---- the end ---- */

static void cancel_all(struct atoll_broker *broker)
{
    for (size_t row = 0; row < broker->index.row_count; row++) {
        struct atoll_waiter *next;
        for (struct atoll_waiter *w = broker->index.by_number[row]; w; w = next) {
            next = w->next_in_row;
            atoll_waiter_leave(w, ATOLL_LLM_CANCELLED);
        }
    }
}

/* Answers that could not be made durable are none: the next life will not know them. */
static void disown(const struct atoll_call_list *ended)
{
    for (struct atoll_call *call = ended->first; call; call = call->next) {
        call->is_unkept = 0;
        if (call->outcome.is_from_store)
            continue;
        atoll_llm_outcome_fini(&call->outcome);
        atoll_llm_outcome_set(&call->outcome, ATOLL_LLM_CANCELLED,
                              "the gateway ended before its answer could be made durable");
        call->outcome.request = call->id;
    }
}

static void answer_last(struct atoll_broker *broker)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_call_list ended;
    take(&broker->ended, &ended);
    if (atoll_broker_sync(broker, &err)) { /* what is not durable stays reserved: it counts as spent */
        atoll_log_err(ATOLL_LOG_ERROR, "gateway.commit", &err);
        disown(&ended);
    }
    answer_ended(broker, &ended);
}

void atoll_broker_destroy(struct atoll_broker *broker)
{
    if (!broker)
        return;
    broker->is_closing = broker->is_ending = 1;
    cancel_all(broker);
    do
        answer_last(broker);
    while (broker->ended.first); /* those for which the store had no room */
    atoll_waiters_answer_left(broker);
    atoll_broker_close(broker);
    atoll_loop_cancel(broker->loop, broker->wake_timer);
    atoll_loop_cancel(broker->loop, broker->feed_timer);
    free(broker);
}
