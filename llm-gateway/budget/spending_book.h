/* spending_book.h - what one holder's journal says: what it spent, has reserved and does not know, by account.
 * Layer: llm-gateway, pure.  Lifetime: init/fini.  The same steps make it while a gateway runs and when a journal is read. */
#ifndef ATOLL_LLM_GATEWAY_BUDGET_SPENDING_BOOK_H
#define ATOLL_LLM_GATEWAY_BUDGET_SPENDING_BOOK_H

#include "llm-gateway/budget/spending_account.h"

#define ATOLL_SPENDING_OPEN_LIMIT ((size_t)1 << 20) /* reservations open or unknown */

enum atoll_spending_state {
    ATOLL_SPENDING_FREE,
    ATOLL_SPENDING_RESERVED,
    ATOLL_SPENDING_UNKNOWN,
    ATOLL_SPENDING_EXCUSED
};

struct atoll_spending_reservation {
    uint64_t number;
    struct atoll_spending_amount amount;
    uint32_t accounts[ATOLL_SCOPE_COUNT]; /* of the book */
    struct atoll_id request;
    enum atoll_spending_state state;
    int is_kept; /* open when the end of the journal was lost: what its settlement saves stays unknown */
    uint32_t next_number, next_request; /* chains, index + 1 */
};

struct atoll_spending_usage {
    struct atoll_spending_amount spent, reserved, unknown;
    struct atoll_spending_amount cover; /* of its newest record: so much may be used without a sync */
    /* ---- of the writer (spending_cover.h) ---- */
    struct atoll_spending_amount firm;                /* the cover that is durable */
    struct atoll_spending_amount base, highest, room; /* used when it was put, and since; what was added */
    uint32_t in_ledger;                               /* the ledger's number + 1; 0 not looked up */
    int is_touched;                                   /* since it was put */
};

struct atoll_spending_book {
    struct atoll_spending_register accounts;
    struct atoll_spending_usage *usages; /* by account */
    size_t usage_capacity;
    struct atoll_spending_reservation
        *items; /* open and unknown ones; freed items are chained by next_number */
    uint32_t *by_number, *by_request;
    size_t item_count, item_capacity, bucket_count;
    uint32_t free_item;
    uint64_t last_number;
    struct atoll_spending_sum sum;
};

void atoll_spending_book_fini(struct atoll_spending_book *book); /* init: all zero */
/* Number of an account, new or not; -1 LIMIT, MEMORY. */
long atoll_spending_book_account(struct atoll_spending_book *book,
                                 const struct atoll_spending_account *account, struct atoll_err *err);
/* PROTOCOL where a number is used twice or an account is not there; LIMIT, MEMORY. */
int atoll_spending_book_reserve(struct atoll_spending_book *book, uint64_t number,
                                const uint32_t accounts[ATOLL_SCOPE_COUNT],
                                struct atoll_spending_amount amount, const struct atoll_id *request,
                                struct atoll_err *err);
/* NULL when it is neither open nor unknown. */
const struct atoll_spending_reservation *atoll_spending_book_find(const struct atoll_spending_book *book,
                                                                  uint64_t number);
/* The first of a request that is unknown and not excused. */
const struct atoll_spending_reservation *atoll_spending_book_unknown(const struct atoll_spending_book *book,
                                                                     const struct atoll_id *request);
/* 1: it was more than was reserved.  The number must be there. */
int atoll_spending_book_settle(struct atoll_spending_book *book, uint64_t number,
                               struct atoll_spending_amount amount);
void atoll_spending_book_forget(struct atoll_spending_book *book, uint64_t number); /* as if never reserved */
void atoll_spending_book_excuse(struct atoll_spending_book *book, uint64_t number);
/* What covers exceed what is used becomes unknown: the end of the journal may be lost, and tell of as much. */
void atoll_spending_book_lose(struct atoll_spending_book *book);
/* What is open becomes unknown, covers end; where is_lost says so they are lost before. */
void atoll_spending_book_new_life(struct atoll_spending_book *book, int is_lost);
/* spent + reserved + unknown */
struct atoll_spending_amount atoll_spending_book_used(const struct atoll_spending_book *book, size_t account);

#endif
