/* decisions.h - a growing list of decisions: what one step of the engine decided.
 * Layer: mpi-eval.  Lifetime: init/fini; zeroed is empty. */
#ifndef ATOLL_MPI_EVAL_COORDINATOR_DECISIONS_H
#define ATOLL_MPI_EVAL_COORDINATOR_DECISIONS_H

#include <stddef.h>

#include "core/decision.h"

struct atoll_decisions {
    struct atoll_decision *items; /* owned */
    uint32_t count, capacity;
    int failed; /* memory ran out: the list is not complete */
};

/* An atoll_decision_sink; context is the list. */
void atoll_decisions_sink(void *context, const struct atoll_decision *decision);
void atoll_decisions_clear(struct atoll_decisions *list);
void atoll_decisions_fini(struct atoll_decisions *list);
int atoll_decisions_check(const struct atoll_decisions *list, struct atoll_err *err);

#endif
