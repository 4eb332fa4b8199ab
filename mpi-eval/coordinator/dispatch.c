/* dispatch.c - orders under way, found by evaluation number through a hash table of chains; waiting ones in a
 * list. Invariant: waiting list = orders in state WAITING; sent_counts[p] = orders in state SENT with peer p.
 */
#include "mpi-eval/coordinator/dispatch.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS     1024u
#define ORDER_LIMIT (1u << 20)
#define HOME_LIMIT  (1u << 20) /* tasks */

enum order_state { ORDER_WAITING, ORDER_SENT, ORDER_ANSWERED };

struct order {
    struct atoll_decision decision;
    enum order_state state;
    unsigned peer, losses;
    double sent_ns;
    struct order *chained;         /* of its bucket */
    struct order *next, *previous; /* of the waiting list, or of the orders that are sent */
};

struct queue {
    struct order *first, *last;
    size_t count;
};

struct atoll_dispatch {
    struct order *buckets[BUCKETS];
    struct queue waiting, sent;
    size_t count;
    unsigned peer_count;
    unsigned *sent_counts;
    unsigned *homes; /* by task: one more than the peer, 0 none */
    size_t home_count;
};

static void queue_remove(struct queue *queue, struct order *order)
{
    *(order->previous ? &order->previous->next : &queue->first) = order->next;
    *(order->next ? &order->next->previous : &queue->last) = order->previous;
    order->next = order->previous = NULL;
    queue->count--;
}

static void queue_append(struct queue *queue, struct order *order)
{
    order->previous = queue->last;
    *(queue->last ? &queue->last->next : &queue->first) = order;
    queue->last = order;
    queue->count++;
}

struct atoll_dispatch *atoll_dispatch_create(unsigned peer_count, struct atoll_err *err)
{
    struct atoll_dispatch *d = calloc(1, sizeof(*d));
    unsigned *counts = calloc(peer_count ? peer_count : 1, sizeof(*counts));
    if (!d || !counts) {
        free(d);
        free(counts);
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the orders under way");
        return NULL;
    }
    d->peer_count = peer_count;
    d->sent_counts = counts;
    return d;
}

void atoll_dispatch_destroy(struct atoll_dispatch *d)
{
    if (!d)
        return;
    for (unsigned i = 0; i < BUCKETS; i++) {
        for (struct order *order = d->buckets[i], *next; order; order = next) {
            next = order->chained;
            free(order);
        }
    }
    free(d->sent_counts);
    free(d->homes);
    free(d);
}

static struct order *order_find(const struct atoll_dispatch *d, uint64_t evaluation)
{
    struct order *order = d->buckets[evaluation % BUCKETS];
    while (order && order->decision.evaluation != evaluation)
        order = order->chained;
    return order;
}

/* Takes the order out of the list of its state. */
static void order_detach(struct atoll_dispatch *d, struct order *order)
{
    if (order->state == ORDER_WAITING)
        queue_remove(&d->waiting, order);
    if (order->state == ORDER_SENT) {
        queue_remove(&d->sent, order);
        d->sent_counts[order->peer]--;
    }
}

static void order_forget(struct atoll_dispatch *d, struct order *order)
{
    struct order **place = &d->buckets[order->decision.evaluation % BUCKETS];
    while (*place != order)
        place = &(*place)->chained;
    *place = order->chained;
    order_detach(d, order);
    d->count--;
    free(order);
}

static int order_add(struct atoll_dispatch *d, const struct atoll_decision *decision, struct atoll_err *err)
{
    struct order *order = order_find(d, decision->evaluation);
    if (order)
        return 0; /* it comes twice after a resume */
    if (d->count >= ORDER_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "more than %u orders under way", ORDER_LIMIT);
    order = calloc(1, sizeof(*order));
    if (!order)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for an order");
    order->decision = *decision;
    order->chained = d->buckets[decision->evaluation % BUCKETS];
    d->buckets[decision->evaluation % BUCKETS] = order;
    d->count++;
    order->state = ORDER_WAITING;
    queue_append(&d->waiting, order);
    return 0;
}

int atoll_dispatch_decide(struct atoll_dispatch *d, const struct atoll_decision *decision,
                          struct atoll_err *err)
{
    struct order *order = order_find(d, decision->evaluation);
    switch (decision->type) {
    case ATOLL_DECIDE_EVALUATE:
    case ATOLL_DECIDE_RIVAL:
    case ATOLL_DECIDE_DUEL: return order_add(d, decision, err);
    case ATOLL_DECIDE_ABANDON:
        if (order)
            order_forget(d, order);
        return 0;
    default: return 0;
    }
}

static int is_elsewhere(const struct atoll_dispatch *d, const struct atoll_decision *decision, unsigned peer)
{
    unsigned home = decision->task < d->home_count ? d->homes[decision->task] : 0;
    return home && home != peer + 1 && !atoll_decision_is_about_rival(decision);
}

static struct order *next_for(const struct atoll_dispatch *d, unsigned peer, uint32_t model, int has_torch,
                              int is_home_only)
{
    struct order *order = d->waiting.first;
    while (order && (order->decision.model != model ||
                     (!has_torch && atoll_decision_is_about_rival(&order->decision)) ||
                     (is_home_only && is_elsewhere(d, &order->decision, peer))))
        order = order->next;
    return order;
}

/* The first one to be sent an order; without memory the task has none, which costs answers alone. */
static void home_find(struct atoll_dispatch *d, const struct atoll_decision *decision, unsigned peer)
{
    size_t task = decision->task;
    if (atoll_decision_is_about_rival(decision) || task >= HOME_LIMIT)
        return;
    if (task >= d->home_count) {
        size_t count = 2 * task + 64;
        unsigned *homes = realloc(d->homes, count * sizeof(*homes));
        if (!homes)
            return;
        memset(homes + d->home_count, 0, (count - d->home_count) * sizeof(*homes));
        d->homes = homes;
        d->home_count = count;
    }
    if (!d->homes[task])
        d->homes[task] = peer + 1;
}

const struct atoll_decision *atoll_dispatch_next(struct atoll_dispatch *d, unsigned peer, uint32_t model,
                                                 int has_torch, int is_home_only)
{
    struct order *order = next_for(d, peer, model, has_torch, 1);
    if (!order && !is_home_only)
        order = next_for(d, peer, model, has_torch, 0);
    if (!order)
        return NULL;
    home_find(d, &order->decision, peer);
    queue_remove(&d->waiting, order);
    order->state = ORDER_SENT;
    order->peer = peer;
    queue_append(&d->sent, order);
    d->sent_counts[peer]++;
    return &order->decision;
}

void atoll_dispatch_stamp(struct atoll_dispatch *d, uint64_t evaluation, double now_ns)
{
    struct order *order = order_find(d, evaluation);
    if (order)
        order->sent_ns = now_ns;
}

double atoll_dispatch_sent_ns(const struct atoll_dispatch *d, uint64_t evaluation)
{
    const struct order *order = order_find(d, evaluation);
    return order ? order->sent_ns : 0;
}

const struct atoll_decision *atoll_dispatch_find(const struct atoll_dispatch *d, uint64_t evaluation)
{
    const struct order *order = order_find(d, evaluation);
    return order && order->state != ORDER_ANSWERED ? &order->decision : NULL;
}

uint32_t atoll_dispatch_task(const struct atoll_dispatch *d, uint64_t evaluation)
{
    const struct order *order = order_find(d, evaluation);
    return order ? order->decision.task : UINT32_MAX;
}

void atoll_dispatch_answered(struct atoll_dispatch *d, uint64_t evaluation)
{
    struct order *order = order_find(d, evaluation);
    if (!order)
        return;
    order_detach(d, order);
    order->state = ORDER_ANSWERED;
}

void atoll_dispatch_settle(struct atoll_dispatch *d, uint64_t evaluation)
{
    struct order *order = order_find(d, evaluation);
    if (order && order->state == ORDER_ANSWERED)
        order_forget(d, order);
}

/* From the last to the first, each put in front of all that wait: they keep their order. */
void atoll_dispatch_lose(struct atoll_dispatch *d, unsigned peer)
{
    for (size_t i = 0; i < d->home_count; i++)
        d->homes[i] = d->homes[i] == peer + 1 ? 0 : d->homes[i];
    for (struct order *order = d->sent.last, *previous; order; order = previous) {
        previous = order->previous;
        if (order->peer != peer)
            continue;
        order->losses++;
        order_detach(d, order);
        order->state = ORDER_WAITING;
        order->next = d->waiting.first;
        *(d->waiting.first ? &d->waiting.first->previous : &d->waiting.last) = order;
        d->waiting.first = order;
        d->waiting.count++;
    }
}

const struct atoll_decision *atoll_dispatch_find_lost(const struct atoll_dispatch *d)
{
    for (const struct order *order = d->waiting.first; order; order = order->next)
        if (order->losses >= ATOLL_DISPATCH_LOSS_LIMIT)
            return &order->decision;
    return NULL;
}

unsigned atoll_dispatch_sent_count(const struct atoll_dispatch *d, unsigned peer)
{
    return d->sent_counts[peer];
}

size_t atoll_dispatch_under_way_count(const struct atoll_dispatch *d)
{
    return d->sent.count;
}
