/* spending_view.h - what a ledger's folder says, for people: it is read, and nothing is locked, taken or written.
 * Layer: llm-gateway.  Lifetime: read/destroy; immutable between.  What is spent while it is read may be missing. */
#ifndef ATOLL_LLM_GATEWAY_BUDGET_SPENDING_VIEW_H
#define ATOLL_LLM_GATEWAY_BUDGET_SPENDING_VIEW_H

#include "llm-gateway/budget/spending.h"

struct atoll_spending_figures {
    uint64_t limit,
        granted; /* granted: to all holders; limit: the least of those that speak of it, UINT64_MAX none */
    uint64_t spent, reserved, unknown;
    uint64_t left; /* limit - spent - reserved - unknown, not below 0; UINT64_MAX: no limit */
};

/* One account, or a limit with a name that nothing was spent of yet. */
struct atoll_spending_view_row {
    enum atoll_spending_scope scope;
    char name[128]; /* a campaign (a task's too), a model, a day */
    char task[128]; /* of a task, else "" */
    struct atoll_spending_figures money, tokens;
};

enum atoll_spending_holder_state {
    ATOLL_SPENDING_HOLDER_LIVES,
    ATOLL_SPENDING_HOLDER_KILLED, /* what it had reserved is told as unknown */
    ATOLL_SPENDING_HOLDER_LEFT,
    ATOLL_SPENDING_HOLDER_LOST, /* its journal cannot be read: what was granted to it counts as spent */
    ATOLL_SPENDING_HOLDER_STATE_COUNT
};
const char *atoll_spending_holder_state_name(enum atoll_spending_holder_state state);

struct atoll_spending_view_holder {
    char name[64];
    enum atoll_spending_holder_state state;
    struct atoll_spending_sum sum; /* over all that it did; zero where it is lost */
};

struct atoll_spending_view {
    struct atoll_spending_view_row *rows; /* by scope, then in the order of their first use */
    size_t row_count;
    struct atoll_spending_view_holder *holders;
    size_t holder_count;
};

/* NOTFOUND: there is no ledger in the folder; CORRUPT, SCHEMA, DENIED ... */
struct atoll_spending_view *atoll_spending_view_read(const char *folder,
                                                     const struct atoll_spending_limit *limits,
                                                     size_t limit_count, struct atoll_err *err);
void atoll_spending_view_destroy(struct atoll_spending_view *view);

#endif
