/* orders.h - what evaluators were ordered to do and have not answered, by its number.
 * Layer: tests.  Lifetime: zero-initialised/fini.  Borrowed pointers hold until the next add. */
#ifndef ATOLL_TESTS_SIMULATOR_ORDERS_H
#define ATOLL_TESTS_SIMULATOR_ORDERS_H

#include "core/decision.h"
#include "base/array.h"

struct atoll_order {
    struct atoll_decision decision; /* type 0: answered or given up */
    uint32_t rank;                  /* ATOLL_NONE: it waits */
    int64_t begun_ns;
};

struct atoll_orders {
    struct atoll_order *items; /* ascending by number */
    uint32_t count, capacity, alive;
    uint32_t waiting; /* nothing before it waits */
};

void atoll_orders_fini(struct atoll_orders *orders);
/* Numbers ascend. */
int atoll_orders_add(struct atoll_orders *orders, const struct atoll_decision *decision,
                     struct atoll_err *err);
struct atoll_order *atoll_orders_find(const struct atoll_orders *orders, uint64_t evaluation);
void atoll_orders_remove(struct atoll_orders *orders, struct atoll_order *order);
/* The one that waits longest; NULL. */
struct atoll_order *atoll_orders_next(struct atoll_orders *orders);
/* All that ranks hold wait again. */
void atoll_orders_recall(struct atoll_orders *orders);

#endif
