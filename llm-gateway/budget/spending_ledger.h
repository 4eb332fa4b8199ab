/* spending_ledger.h - the ledger of a folder: which holder was granted how much of which account.
 * Layer: llm-gateway.  Lifetime: open/close.  A grant is an absolute amount per holder and account, so applying a record
 * twice changes nothing.  put_* append to memory and change nothing else; commit writes, syncs and applies them, all with
 * the lock held. */
#ifndef ATOLL_LLM_GATEWAY_BUDGET_SPENDING_LEDGER_H
#define ATOLL_LLM_GATEWAY_BUDGET_SPENDING_LEDGER_H

#include "llm-gateway/budget/frame_file.h"
#include "llm-gateway/budget/spending_account.h"

#define ATOLL_SPENDING_HOLDER_LIMIT 65536
#define ATOLL_SPENDING_WANT_LIMIT   4096

struct atoll_spending_holder {
    char name[64];
    int is_active;  /* joined and not left: its grants may be more than it used */
    int has_joined; /* ever */
};

struct atoll_spending_grant {
    uint64_t holder;
    struct atoll_spending_amount amount;
    uint32_t next; /* of the same account, index + 1 */
};

struct atoll_spending_line { /* of one account */
    struct atoll_spending_amount granted, limit;
    uint32_t first_grant; /* index + 1 */
};

struct atoll_spending_want {
    uint32_t account;
    uint64_t holder;
    struct atoll_spending_amount amount;
};

struct atoll_spending_ledger {
    struct atoll_frame_file *file;
    const struct atoll_spending_limit *limits; /* borrowed */
    size_t limit_count;
    struct atoll_spending_register accounts;
    struct atoll_spending_line *lines; /* by account */
    size_t line_capacity;
    struct atoll_spending_holder *holders; /* number - 1 */
    size_t holder_count, holder_capacity;
    struct atoll_spending_grant *grants;
    size_t grant_count, grant_capacity;
    struct atoll_spending_want *wants;
    size_t want_count;
    struct atoll_buffer payload;
    uint64_t self;           /* this process's holder; 0 not yet known */
    unsigned has_header : 1; /* one was read */
    unsigned is_joined : 1;  /* in this life */
    unsigned is_fenced : 1;  /* another process wrote about this holder: it was taken for dead */
};

/* limits: borrowed.  Nothing is read yet. */
struct atoll_spending_ledger *
atoll_spending_ledger_open(const char *path, const struct atoll_spending_limit *limits, size_t limit_count,
                           const struct atoll_frame_file_ops *ops, struct atoll_err *err);
/* As it stands now, read to its end: nothing is locked or written.  limits: borrowed.  NOTFOUND: there is none. */
struct atoll_spending_ledger *atoll_spending_ledger_look(const char *path,
                                                         const struct atoll_spending_limit *limits,
                                                         size_t limit_count, struct atoll_err *err);
void atoll_spending_ledger_close(struct atoll_spending_ledger *ledger);

/* Locks, and reads what others wrote; BUSY after wait_s. */
int atoll_spending_ledger_lock(struct atoll_spending_ledger *ledger, double wait_s, struct atoll_err *err);
/* Drops what was put and not committed. */
void atoll_spending_ledger_unlock(struct atoll_spending_ledger *ledger);

int atoll_spending_ledger_put_header(struct atoll_spending_ledger *ledger, int64_t unix_ns,
                                     struct atoll_err *err);
int atoll_spending_ledger_put_holder(struct atoll_spending_ledger *ledger, const char *name,
                                     struct atoll_err *err);
int atoll_spending_ledger_put_account(struct atoll_spending_ledger *ledger,
                                      const struct atoll_spending_account *account, struct atoll_err *err);
/* amount: what the holder has from now on, all together. */
int atoll_spending_ledger_put_grant(struct atoll_spending_ledger *ledger, uint64_t holder, uint32_t account,
                                    struct atoll_spending_amount amount, int64_t unix_ns,
                                    struct atoll_err *err);
int atoll_spending_ledger_put_want(struct atoll_spending_ledger *ledger, uint32_t account,
                                   struct atoll_spending_amount amount, int64_t unix_ns,
                                   struct atoll_err *err);
int atoll_spending_ledger_put_join(struct atoll_spending_ledger *ledger, int64_t unix_ns,
                                   struct atoll_err *err);
int atoll_spending_ledger_put_leave(struct atoll_spending_ledger *ledger, uint64_t holder, int64_t unix_ns,
                                    struct atoll_err *err);
int atoll_spending_ledger_commit(struct atoll_spending_ledger *ledger, struct atoll_err *err);

struct atoll_spending_amount atoll_spending_ledger_granted(const struct atoll_spending_ledger *ledger,
                                                           uint64_t holder, uint32_t account);
uint64_t atoll_spending_ledger_holder(const struct atoll_spending_ledger *ledger,
                                      const char *name); /* 0 none */

#endif
