/* spending_line.h - what the records of a ledger add up to: holders, accounts, grants, wants; the ledger's inside.
 * Layer: llm-gateway, pure.  Each applies one record; PROTOCOL where it names what is not there, LIMIT, MEMORY. */
#ifndef ATOLL_LLM_GATEWAY_BUDGET_SPENDING_LINE_H
#define ATOLL_LLM_GATEWAY_BUDGET_SPENDING_LINE_H

#include "llm-gateway/budget/spending_ledger.h"

int atoll_spending_line_holder(struct atoll_spending_ledger *ledger, uint64_t number, const char *name,
                               struct atoll_err *err);
int atoll_spending_line_account(struct atoll_spending_ledger *ledger,
                                const struct atoll_spending_account *account, struct atoll_err *err);
/* A grant that falls serves the wants of others on that account, one that rises ends the holder's own. */
int atoll_spending_line_grant(struct atoll_spending_ledger *ledger, uint64_t holder, uint32_t account,
                              struct atoll_spending_amount amount, struct atoll_err *err);
int atoll_spending_line_want(struct atoll_spending_ledger *ledger, const struct atoll_spending_want *want,
                             struct atoll_err *err);
/* Joins or leaves; who leaves wants nothing. */
int atoll_spending_line_activity(struct atoll_spending_ledger *ledger, uint64_t holder, int is_active,
                                 struct atoll_err *err);

#endif
