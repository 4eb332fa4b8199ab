/* witness.h - what must hold of every decision of every campaign, whatever happens to it.
 * Layer: tests.  Lifetime: zero-initialised/fini.  A complaint is ATOLL_E_INTERNAL with the rule that is broken. */
#ifndef ATOLL_TESTS_SIMULATOR_WITNESS_H
#define ATOLL_TESTS_SIMULATOR_WITNESS_H

#include "evolution/engine/engine.h"
#include "base/hash_index.h"
#include "tests/simulator/orders.h"

struct atoll_witness_sent {
    uint32_t task, model;
    struct atoll_id candidate;
};

struct atoll_witness {
    struct atoll_index index;
    struct atoll_witness_sent *sent; /* every candidate that was sent for evaluation, once */
    uint32_t sent_count, sent_capacity;
    uint8_t *rivals; /* per task of the first model, a bit per rival that was sent */
    uint32_t rival_capacity;
    uint64_t last_evaluation;
    int stopped;
    /* what is being answered with a failure that is nobody's may go out once more; type 0: nothing */
    struct atoll_decision failing;
};

void atoll_witness_fini(struct atoll_witness *w);
/* Before the decision is carried out; orders: what evaluators hold. */
int atoll_witness_decision(struct atoll_witness *w, const struct atoll_search *search,
                           const struct atoll_orders *orders, const struct atoll_decision *d,
                           struct atoll_err *err);
/* After a step. */
int atoll_witness_state(const struct atoll_witness *w, const struct atoll_search *search,
                        const struct atoll_orders *orders, const struct atoll_engine *engine,
                        struct atoll_err *err);
/* After STOP. */
int atoll_witness_end(const struct atoll_engine *engine, struct atoll_err *err);

#endif
