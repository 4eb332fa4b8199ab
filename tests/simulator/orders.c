#include "tests/simulator/orders.h"

#include <stdlib.h>
#include <string.h>

void atoll_orders_fini(struct atoll_orders *orders)
{
    free(orders->items);
    memset(orders, 0, sizeof(*orders));
}

static void compact(struct atoll_orders *orders)
{
    uint32_t kept = 0, waiting = orders->count;
    for (uint32_t i = 0; i < orders->count; i++) {
        if (i == orders->waiting)
            waiting = kept;
        if (orders->items[i].decision.type)
            orders->items[kept++] = orders->items[i];
    }
    orders->waiting = orders->waiting < orders->count ? waiting : kept;
    orders->count = kept;
}

int atoll_orders_add(struct atoll_orders *orders, const struct atoll_decision *decision,
                     struct atoll_err *err)
{
    if (orders->count >= 64 && orders->alive < orders->count / 2)
        compact(orders);
    if (atoll_array_reserve(&orders->items, &orders->capacity, orders->count + 1, sizeof(*orders->items),
                            err)) {
        return -1;
    }
    orders->items[orders->count++] = (struct atoll_order){*decision, ATOLL_NONE, 0};
    orders->alive++;
    return 0;
}

struct atoll_order *atoll_orders_find(const struct atoll_orders *orders, uint64_t evaluation)
{
    uint32_t low = 0, high = orders->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (orders->items[middle].decision.evaluation < evaluation)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == orders->count || orders->items[low].decision.evaluation != evaluation)
        return NULL;
    return orders->items[low].decision.type ? &orders->items[low] : NULL;
}

void atoll_orders_remove(struct atoll_orders *orders, struct atoll_order *order)
{
    order->decision.type = (enum atoll_decision_type)0;
    orders->alive--;
}

struct atoll_order *atoll_orders_next(struct atoll_orders *orders)
{
    for (; orders->waiting < orders->count; orders->waiting++) {
        struct atoll_order *order = &orders->items[orders->waiting];
        if (order->decision.type && order->rank == ATOLL_NONE)
            return order;
    }
    return NULL;
}

void atoll_orders_recall(struct atoll_orders *orders)
{
    for (uint32_t i = 0; i < orders->count; i++)
        orders->items[i].rank = ATOLL_NONE;
    orders->waiting = 0;
}
