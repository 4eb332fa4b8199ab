/* spend_summary.h - what a gateway's file says was spent, as one JSON document that people and scripts read.
 * Layer: llm-gateway.  While the file is owned nobody else opens it: its owner replaces FILE.summary now and then. */
#ifndef ATOLL_LLM_GATEWAY_BUDGET_SPEND_SUMMARY_H
#define ATOLL_LLM_GATEWAY_BUDGET_SPEND_SUMMARY_H

#include <jansson.h>

#include "llm-gateway/budget/spending.h"

/* Replaces PATH.summary. */
int atoll_spend_summary_write(const struct atoll_spending *spending, const char *path, struct atoll_err *err);
/* {"file", "unix_ns", "owner": {"state", "host", "pid", "job", "epoch"}, "calls", "unknown_calls", "excess_usd", "accounts":
 * [{"scope", "name", "task", "money_usd": {"limit", "spent", "reserved", "unknown", "left"}, "tokens": the same}]}; no limit
 * is null.  Of an owned file: what its owner last wrote; else the file is opened for a moment, and what was reserved when its
 * owner was killed is told as unknown.  New; NULL.  NOTFOUND: there is no such file. */
json_t *atoll_spend_summary_read(const char *path, const struct atoll_spending_limit *limits,
                                 size_t limit_count, struct atoll_err *err);

#endif
