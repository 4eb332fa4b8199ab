/* spending_inside.h - what the sources behind spending.h share; nobody else includes it. */
#ifndef ATOLL_LLM_GATEWAY_BUDGET_SPENDING_INSIDE_H
#define ATOLL_LLM_GATEWAY_BUDGET_SPENDING_INSIDE_H

#include "llm-gateway/budget/spending_journal.h"
#include "llm-gateway/budget/spending_ledger.h"

struct atoll_spending_peer {
    struct atoll_spending_journal *journal; /* of a holder that is active, read on as it grows; NULL */
    struct atoll_spending_sum sum;          /* of one that is not */
    int has_sum;
};

struct atoll_spending {
    const struct atoll_frame_file_ops *ops;
    char *folder, *holder;
    struct atoll_spending_limit *limits;
    size_t limit_count;
    double grant_ratio;
    struct atoll_spending_ledger *ledger;
    struct atoll_spending_journal *journal;
    uint64_t self;
    struct atoll_spending_peer *peers; /* by number - 1 */
    size_t peer_count;
    int64_t unix_ns;           /* the last time that was handed in */
    unsigned is_overdrawn : 1; /* more was spent than granted, and the ledger does not know it yet */
    unsigned is_exposed : 1;   /* more is reserved than covered: the next commit syncs */
    char boot[ATOLL_BOOT_BYTES];
    uint64_t cover_count, cover_count_at_sync; /* covers put; when the sync behind began */
    struct atoll_spending_amount lost;         /* by the end of the machine before this life */
};

/* One account of a purpose, on both sides. */
struct atoll_spending_place {
    uint32_t in_book;
    long in_ledger; /* -1: not there yet */
};

int atoll_spending_journal_path(const struct atoll_spending *spending, const char *holder, char *ret_path,
                                size_t path_bytes, struct atoll_err *err);
/* The ledger's number of an account of a book, remembered there; -1: the ledger does not have it. */
long atoll_spending_in_ledger(const struct atoll_spending *spending, struct atoll_spending_book *book,
                              size_t account);
struct atoll_spending_amount atoll_spending_free(const struct atoll_spending *spending,
                                                 const struct atoll_spending_place *place);
/* What a place that is in the ledger lacks to take amount: also what was overdrawn. */
struct atoll_spending_amount atoll_spending_lack(const struct atoll_spending *spending,
                                                 const struct atoll_spending_place *place,
                                                 struct atoll_spending_amount amount);
/* Covers and all, in place. */
int atoll_spending_sync_journal(struct atoll_spending *spending, struct atoll_err *err);
int atoll_spending_fenced(const struct atoll_spending *spending, struct atoll_err *err);

/* ---- grants; the ledger is locked by the caller where it says so ---- */
/* Locks; takes grants that make room for amount in every place. */
int atoll_spending_take(struct atoll_spending *spending,
                        struct atoll_spending_place places[ATOLL_SCOPE_COUNT],
                        struct atoll_spending_amount amount, struct atoll_err *err);
/* Where what is left of a grant may not last until the next sync: takes more now, so that no call has to wait for it.  Of limits
 * that several share nothing is taken ahead. */
void atoll_spending_take_ahead(struct atoll_spending *spending);
/* Locked: grants become what is used; put, not committed. */
int atoll_spending_trim(struct atoll_spending *spending, struct atoll_err *err);
/* Locked: takes back what dead holders did not use.  The number of holders found dead, -1. */
int atoll_spending_reclaim(struct atoll_spending *spending, struct atoll_err *err);
/* After a sync: gives what others want, books what was overdrawn.  -1 only when this holder was taken for dead. */
int atoll_spending_tend(struct atoll_spending *spending, struct atoll_err *err);
/* Locked: puts what is free of what others want; the journal is synced first. */
int atoll_spending_give(struct atoll_spending *spending, struct atoll_err *err);

/* ---- peers ---- */
/* The book of an active holder as far as it can be read now; NULL when it cannot. */
struct atoll_spending_book *atoll_spending_peer_book(struct atoll_spending *spending, uint64_t holder,
                                                     struct atoll_err *err);
void atoll_spending_peers_fini(struct atoll_spending *spending);

/* Why there is no room: LIMIT or BUSY; puts wants where they may help, and commits them. */
int atoll_spending_refuse(struct atoll_spending *spending,
                          const struct atoll_spending_place places[ATOLL_SCOPE_COUNT],
                          struct atoll_spending_amount amount, struct atoll_err *err);

#endif
