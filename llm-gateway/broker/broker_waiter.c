/* broker_waiter.c - those who wait for a call.  Each has a deadline of its own; a call goes on while one of them waits.
 * The last one stays with its call until that has settled what it cost, and gets the call's own outcome. */
#include "llm-gateway/broker/broker_state.h"

#include <stdlib.h>

static void remove_from_call(struct atoll_waiter *waiter)
{
    struct atoll_waiter **link = &waiter->call->waiters;
    while (*link && *link != waiter)
        link = &(*link)->next;
    if (*link)
        *link = waiter->next;
    waiter->call = NULL;
}

void atoll_waiter_leave(struct atoll_waiter *waiter, enum atoll_llm_status why)
{
    struct atoll_call *call = waiter->call;
    struct atoll_broker *broker = waiter->broker;
    if (!call)
        return;
    atoll_loop_cancel(broker->loop, waiter->timer);
    waiter->timer = 0;
    int is_over = call->state == ATOLL_CALL_ENDED;
    if (!is_over && call->waiters == waiter && !waiter->next) {
        call->abandoned_as = why;
        atoll_call_tell(call, ATOLL_CALL_ABANDONED);
        return;
    }
    if (is_over && why == ATOLL_LLM_TIMEOUT) /* its outcome is there, and comes with this turn */
        return;
    remove_from_call(waiter);
    waiter->left_as = why;
    waiter->next = NULL;
    *broker->left_end = waiter;
    broker->left_end = &waiter->next;
    atoll_broker_wake(broker);
}

static void deadline_passed(void *context)
{
    struct atoll_waiter *waiter = context;
    waiter->timer = 0;
    atoll_waiter_leave(waiter, ATOLL_LLM_TIMEOUT);
}

struct atoll_waiter *atoll_waiter_create(struct atoll_call *call, double deadline_ns, atoll_broker_done *done,
                                         void *context, struct atoll_err *err)
{
    struct atoll_broker *broker = call->broker;
    struct atoll_waiter *waiter = calloc(1, sizeof *waiter);
    if (!waiter) {
        atoll_err_set(err, ATOLL_E_MEMORY, "gateway: no memory for a call");
        return NULL;
    }
    *waiter = (struct atoll_waiter){.number = broker->next_number,
                                    .call = call,
                                    .done = done,
                                    .context = context,
                                    .deadline_ns = deadline_ns,
                                    .broker = broker,
                                    .request = call->id};
    if (atoll_loop_at(broker->loop, deadline_ns, deadline_passed, waiter, &waiter->timer, err)) {
        free(waiter);
        return NULL;
    }
    struct atoll_waiter **end = &call->waiters;
    while (*end)
        end = &(*end)->next;
    *end = waiter;
    broker->next_number++;
    broker->waiter_count++;
    atoll_broker_index_add_waiter(&broker->index, waiter);
    return waiter;
}

/* The callback may do anything with the broker but destroy it. */
static void answer(struct atoll_waiter *waiter, const struct atoll_llm_outcome *outcome)
{
    struct atoll_broker *broker = waiter->broker;
    atoll_loop_cancel(broker->loop, waiter->timer);
    atoll_broker_index_remove_waiter(&broker->index, waiter);
    broker->waiter_count--;
    waiter->done(waiter->context, outcome);
    free(waiter);
}

static void answer_left(struct atoll_waiter *waiter)
{
    struct atoll_llm_outcome outcome;
    atoll_llm_outcome_init(&outcome);
    outcome.request = waiter->request;
    atoll_llm_outcome_set(&outcome, waiter->left_as,
                          waiter->left_as == ATOLL_LLM_TIMEOUT
                              ? "the deadline passed; others still wait for the same request"
                              : "cancelled");
    answer(waiter, &outcome);
    atoll_llm_outcome_fini(&outcome);
}

void atoll_waiters_answer_left(struct atoll_broker *broker)
{
    struct atoll_waiter *waiter = broker->left;
    broker->left = NULL;
    broker->left_end = &broker->left;
    while (waiter) {
        struct atoll_waiter *next = waiter->next;
        answer_left(waiter);
        waiter = next;
    }
}

void atoll_waiters_answer(struct atoll_call *call)
{
    while (call->waiters) {
        struct atoll_waiter *waiter = call->waiters;
        remove_from_call(waiter);
        answer(waiter, &call->outcome);
    }
}
