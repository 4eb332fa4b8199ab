/* spending.h - money and tokens that cannot be overspent: reserved before a call, settled after it, durable in between.
 * Layer: llm-gateway.  Lifetime: open/close.  One thread; several processes, of one node or many, may hold the same
 * folder: it has one ledger of grants that all append to under a lock (fcntl, so its file system must carry locks), and a
 * journal of its own for each holder.  What a holder reserves comes out of its grants; the sum of all grants never exceeds
 * a limit, so neither does what is spent, whoever is killed when, and whichever machine stops (docs/spec/gateway.md). */
#ifndef ATOLL_LLM_GATEWAY_BUDGET_SPENDING_H
#define ATOLL_LLM_GATEWAY_BUDGET_SPENDING_H

#include "base/id.h"
#include "llm-gateway/budget/price.h"

#define ATOLL_SPENDING_LIMIT_COUNT 64

enum atoll_spending_scope {
    ATOLL_SCOPE_CAMPAIGN, /* of one campaign; name "" = each */
    ATOLL_SCOPE_TASK,     /* of one task of one campaign; name "" = each */
    ATOLL_SCOPE_MODEL,    /* over all campaigns of this ledger */
    ATOLL_SCOPE_DAY,      /* UTC, over all campaigns of this ledger */
    ATOLL_SCOPE_COUNT
};

struct atoll_spending_limit {
    enum atoll_spending_scope scope;
    /* "" each; a campaign's id has 64 digits; a task's: in every campaign; a day's: "2026-11-21" */
    char name[72];
    atoll_nanousd money; /* UINT64_MAX: none; where several limits speak of one thing, all of them hold */
    uint64_t tokens;     /* UINT64_MAX: none */
};

struct atoll_spending_settings {
    const char *folder; /* made when it is not there */
    const char *
        holder; /* stable name of this gateway: [A-Za-z0-9._-]{1,63}; a restart under the same name goes on */
    const struct atoll_spending_limit *limits;
    size_t limit_count;
    double
        grant_ratio; /* of what is left of a limit, taken as one grant where other holders are; default 1/8 */
    const struct atoll_frame_file_ops *ops; /* NULL: the real calls; tests bring others */
    const char *boot;                       /* NULL: the kernel's; tests bring others (boot.h) */
};

struct atoll_spending;

/* Errors: BUSY (another live process has this holder's name), CORRUPT, IO, FULL, DENIED; INPUT where a limit is below what
 * was spent already is no error: nothing more is given.  What this holder had reserved and not settled when it was killed
 * becomes `unknown`: spent at its reservation.  Grants of holders that died are reclaimed, down to what they had spent or
 * reserved. */
struct atoll_spending *atoll_spending_open(const struct atoll_spending_settings *settings, int64_t unix_ns,
                                           struct atoll_err *err);
/* Gives unused grants back (best effort). */
void atoll_spending_close(struct atoll_spending *spending);

struct atoll_spending_purpose {
    const char *campaign, *task, *model; /* model: the configuration's name */
    struct atoll_id request;             /* whose it is: found again after a kill */
};

/* 0 and ret_reservation > 0, unique in the folder: the amount is set aside (a call may go out after atoll_spending_commit); -1 LIMIT:
 * some limit does not allow it, whatever else comes back; the text names which, how much is left and when more comes (a day);
 * BUSY: it does not fit now, but calls in flight (of this holder too) or other holders' grants hold what may come back: try
 * again after the next settlement or in a while; IO, FULL ...  The day is that of unix_ns, also when the clock went back. */
int atoll_spending_reserve(struct atoll_spending *spending, const struct atoll_spending_purpose *purpose,
                           atoll_nanousd money, uint64_t tokens, int64_t unix_ns, uint64_t *ret_reservation,
                           struct atoll_err *err);
/* What it really took; also of one that is unknown, excused or not (an exchange in the store that the kill kept from being
 * settled).  NOTFOUND: neither open nor unknown.  More than was reserved (a provider that counts otherwise) is booked as it is and counted in
 * `excess`; the difference is taken from later reservations first. */
int atoll_spending_settle(struct atoll_spending *spending, uint64_t reservation, atoll_nanousd money,
                          uint64_t tokens, struct atoll_err *err);
/* Group commit: everything since the last one is written after it, which the end of the process cannot undo.  What the end of
 * the machine undoes is covered: bounded in the journal, and charged as unknown to the next life.  Where reservations go beyond
 * that, it syncs.  Then as atoll_spending_sync. */
int atoll_spending_commit(struct atoll_spending *spending, struct atoll_err *err);
/* The rest of what a sync does, by syncer (borrowed until close): to be begun within some tenths of a second of a commit.
 * One at a time.  sync_end: 1 none is under way (any more). */
struct atoll_syncer;
int atoll_spending_sync_begin(struct atoll_spending *spending, struct atoll_syncer *syncer,
                              struct atoll_err *err);
int atoll_spending_sync_end(struct atoll_spending *spending);
int atoll_spending_is_synced(const struct atoll_spending *spending);
/* Everything since the last one is durable after it.  Also gives other holders what they want and this one does
 * not use: call it now and then (a second) even when nothing is dirty, it costs one fstat, and is_dirty says 1 when others wrote to the ledger.  BUSY: this holder was taken for
 * dead (its file system lost the lock): no call may go out any more. */
int atoll_spending_sync(struct atoll_spending *spending, struct atoll_err *err);
int atoll_spending_is_dirty(const struct atoll_spending *spending);

/* What the end of the machine before this life may have cost beyond what the journal tells: it is unknown for ever. */
void atoll_spending_lost(const struct atoll_spending *spending, atoll_nanousd *ret_money,
                         uint64_t *ret_tokens);

/* Reservations of earlier lives of this holder that were never settled.  request: of the purpose.  1 and the amounts of the
 * first that is not yet excused; a call may be tried once more within the budget: excuse says that it was. */
int atoll_spending_unknown(const struct atoll_spending *spending, const struct atoll_id *request,
                           uint64_t *ret_reservation);
int atoll_spending_excuse(struct atoll_spending *spending, uint64_t reservation, struct atoll_err *err);

struct atoll_spending_sum {
    atoll_nanousd spent_money, reserved_money, unknown_money, excess_money;
    uint64_t spent_tokens, reserved_tokens, unknown_tokens, excess_tokens;
    uint64_t calls, unknown_calls;
};
/* Of all holders of the folder, as far as their journals can be read now. */
int atoll_spending_sum(struct atoll_spending *spending, struct atoll_spending_sum *ret_sum,
                       struct atoll_err *err);
/* Of this holder's memory, no I/O. */
void atoll_spending_own(const struct atoll_spending *spending, struct atoll_spending_sum *ret_sum);
/* What this holder can still get of one limit (folder-wide, as last read): for metrics and messages.  name: a campaign,
 * "CAMPAIGN/TASK", a model, or "2026-11-21"; NULL: the limit's own.  -1: no such limit. */
int atoll_spending_left(const struct atoll_spending *spending, size_t limit, const char *name,
                        atoll_nanousd *ret_money, uint64_t *ret_tokens);

#endif
