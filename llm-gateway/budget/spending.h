/* spending.h - money and tokens that cannot be overspent: reserved before a call at the worst it can cost, settled after it.
 * Layer: llm-gateway.  Lifetime: open/close.  One thread.  What is spent, reserved and unknown is held in memory; changes go
 * into the gateway's file with the owner's next transaction (write, then written once it is committed), and nothing may be
 * acted on before.  Limits hold per file: docs/spec/gateway-database.md */
#ifndef ATOLL_LLM_GATEWAY_BUDGET_SPENDING_H
#define ATOLL_LLM_GATEWAY_BUDGET_SPENDING_H

#include "base/id.h"
#include "llm-gateway/budget/price.h"

#define ATOLL_SPENDING_LIMIT_COUNT 64
#define ATOLL_SPENDING_NAME_BYTES  128 /* of campaigns, tasks and models, with the NUL */

enum atoll_spending_scope {
    ATOLL_SCOPE_CAMPAIGN, /* of one campaign; name "" = each */
    ATOLL_SCOPE_TASK,     /* of one task of one campaign; name "" = each */
    ATOLL_SCOPE_MODEL,    /* over all campaigns of this file */
    ATOLL_SCOPE_DAY,      /* UTC, over all campaigns of this file */
    ATOLL_SCOPE_COUNT
};
const char *atoll_spending_scope_name(enum atoll_spending_scope scope); /* "campaign" ... */

struct atoll_spending_limit {
    enum atoll_spending_scope scope;
    /* "" each; a campaign's id has 64 digits; a task's: in every campaign; a day's: "2026-11-21" */
    char name[72];
    atoll_nanousd money; /* UINT64_MAX: none; where several limits speak of one thing, all of them hold */
    uint64_t tokens;     /* UINT64_MAX: none */
};

struct atoll_database;
struct atoll_spending;

/* Reads what the file knows.  What an earlier life had reserved and not settled becomes `unknown` for ever: spent at its
 * reservation.  A limit below what was spent already gives nothing more.  database: borrowed, an owner's.  limits: copied. */
struct atoll_spending *atoll_spending_open(struct atoll_database *database,
                                           const struct atoll_spending_limit *limits, size_t limit_count,
                                           struct atoll_err *err);
void atoll_spending_close(struct atoll_spending *spending);

struct atoll_spending_purpose {
    const char *campaign, *task, *model; /* model: the configuration's name */
    struct atoll_id request;
};

/* 0 and ret_reservation > 0, unique in the file: the amount is set aside, and a call may go out once it is written; -1 LIMIT:
 * some limit does not allow it, whatever comes back; the text names which, how much is left and when more comes (a day);
 * BUSY: it does not fit now, but calls in flight may give some back: try again after the next settlement; INPUT: a name is
 * too long.  The day is that of unix_ns, also when the clock went back. */
int atoll_spending_reserve(struct atoll_spending *spending, const struct atoll_spending_purpose *purpose,
                           atoll_nanousd money, uint64_t tokens, int64_t unix_ns, uint64_t *ret_reservation,
                           struct atoll_err *err);
/* What it really took.  NOTFOUND: not open.  More than was reserved (a provider that counts otherwise) is booked as it is and
 * counted as `excess`. */
int atoll_spending_settle(struct atoll_spending *spending, uint64_t reservation, atoll_nanousd money,
                          uint64_t tokens, struct atoll_err *err);

int atoll_spending_is_dirty(const struct atoll_spending *spending); /* something has to be written */
/* Into the transaction that is open.  The same is written again until `written` says that it was committed. */
int atoll_spending_write(struct atoll_spending *spending, struct atoll_err *err);
void atoll_spending_written(struct atoll_spending *spending);

struct atoll_spending_amount {
    atoll_nanousd money;
    uint64_t tokens;
};
/* One campaign, task of a campaign, model or day, with the least of the limits that speak of it. */
struct atoll_spending_account {
    enum atoll_spending_scope scope;
    char name[ATOLL_SPENDING_NAME_BYTES];                          /* campaign, model, or "2026-11-21" */
    char task[ATOLL_SPENDING_NAME_BYTES];                          /* of TASK, else "" */
    struct atoll_spending_amount limit;                            /* UINT64_MAX: none */
    struct atoll_spending_amount spent, reserved, unknown, excess; /* excess: a part of spent */
    uint64_t calls, unknown_calls;
    int is_dirty;
};
/* All of them, the limits that were given, and the sums over all campaigns.  Borrowed until the next reservation. */
const struct atoll_spending_account *atoll_spending_accounts(const struct atoll_spending *spending,
                                                             size_t *ret_count);
const struct atoll_spending_limit *atoll_spending_limits(const struct atoll_spending *spending,
                                                         size_t *ret_count);
void atoll_spending_sum(const struct atoll_spending *spending, struct atoll_spending_account *ret_sum);
/* What is left of a limit: not below 0; UINT64_MAX: there is none. */
struct atoll_spending_amount atoll_spending_left(const struct atoll_spending_account *account);

#endif
