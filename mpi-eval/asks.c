/* asks.c - what the engine asks of operators outside.  None is connected to a coordinator: every ask is answered at
 * once with "nothing is left to spend", so that the tuner takes over and no task waits for a reply that never comes. */
#include <stdlib.h>

#include "core/log.h"
#include "mpi-eval/coordinator_state.h"

int atoll_asks_note(struct coordinator *c, uint64_t ask, struct atoll_err *err)
{
    if (c->asks.count == c->asks.capacity) {
        size_t capacity = c->asks.capacity ? 2 * c->asks.capacity : 16;
        uint64_t *grown = realloc(c->asks.numbers, capacity * sizeof *grown);
        if (!grown)
            return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for %zu asks", capacity);
        c->asks.numbers = grown;
        c->asks.capacity = capacity;
    }
    c->asks.numbers[c->asks.count++] = ask;
    return 0;
}

int atoll_asks_answer(struct coordinator *c, struct atoll_err *err)
{
    if (c->asks.count && !c->asks.told)
        atoll_log(ATOLL_LOG_WARNING, "eval.ask", "no operator is connected; the tuner answers all asks");
    c->asks.told |= c->asks.count > 0;
    while (c->asks.count && atoll_ledger_round_count(c->ledger) < ATOLL_LEDGER_ROUND_LIMIT - 2) {
        struct atoll_event event;
        atoll_coordinator_event_init(c, &event, ATOLL_EVENT_REPLY);
        event.reply.ask = c->asks.numbers[--c->asks.count];
        event.reply.status = ATOLL_REPLY_SPENT;
        event.reply.origin = "coordinator";
        if (atoll_ledger_add(c->ledger, &event, err) != 0)
            return -1;
    }
    return 0;
}
