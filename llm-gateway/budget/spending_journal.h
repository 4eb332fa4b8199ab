/* spending_journal.h - the journal of one holder: its file and the book it makes.
 * Layer: llm-gateway.  Lifetime: open/close.  What is put is booked at once, and lasts as its file does. */
#ifndef ATOLL_LLM_GATEWAY_BUDGET_SPENDING_JOURNAL_H
#define ATOLL_LLM_GATEWAY_BUDGET_SPENDING_JOURNAL_H

#include "base/process_id.h"
#include "llm-gateway/budget/frame_file.h"
#include "llm-gateway/budget/spending_book.h"

enum atoll_spending_record { /* frame types; docs/spec/gateway.md */
                             ATOLL_SPENDING_JOURNAL_HEADER = 144,
                             ATOLL_SPENDING_JOURNAL_ACCOUNT,
                             ATOLL_SPENDING_JOURNAL_RESERVE,
                             ATOLL_SPENDING_JOURNAL_SETTLE,
                             ATOLL_SPENDING_JOURNAL_EXCUSE,
                             ATOLL_SPENDING_JOURNAL_LIFE, /* of journals that were synced at once; read only */
                             ATOLL_SPENDING_JOURNAL_COVER,
                             ATOLL_SPENDING_JOURNAL_BOOT,
                             ATOLL_SPENDING_LEDGER_HEADER = 152,
                             ATOLL_SPENDING_LEDGER_HOLDER,
                             ATOLL_SPENDING_LEDGER_ACCOUNT,
                             ATOLL_SPENDING_LEDGER_GRANT,
                             ATOLL_SPENDING_LEDGER_JOIN,
                             ATOLL_SPENDING_LEDGER_LEAVE,
                             ATOLL_SPENDING_LEDGER_WANT
};
#define ATOLL_SPENDING_SCHEMA 1

struct atoll_spending_journal {
    struct atoll_frame_file *file;
    struct atoll_spending_book book;
    struct atoll_buffer payload;
    uint64_t ledger;             /* the number of the ledger's file it belongs to */
    uint64_t holder;             /* its number in that ledger */
    unsigned has_header : 1;     /* a header was read */
    char boot[ATOLL_BOOT_BYTES]; /* of its last life; "" none, or one that synced at once */
};

struct atoll_spending_journal *atoll_spending_journal_open(const char *path, enum atoll_frame_file_mode mode,
                                                           uint64_t ledger, uint64_t holder,
                                                           const struct atoll_frame_file_ops *ops,
                                                           struct atoll_err *err);
void atoll_spending_journal_close(struct atoll_spending_journal *journal);
/* Books what is there and was not yet read.  CORRUPT: damage, or a journal of another ledger or holder. */
int atoll_spending_journal_read(struct atoll_spending_journal *journal, int is_live, struct atoll_err *err);

/* Whether what its last life wrote and did not sync may be gone: then the machine ran in another boot, or was another one. */
int atoll_spending_journal_may_lack(const struct atoll_spending_journal *journal, const char *boot);
/* The beginning of a life in this boot: a header where there is none, and what was open becomes unknown; covers, too,
 * where the journal may lack its end.  Synced. */
int atoll_spending_journal_begin(struct atoll_spending_journal *journal, const char *holder, const char *boot,
                                 int64_t unix_ns, struct atoll_err *err);
/* From here on so much of an account of the book may be used before a sync, and no more until the record is durable. */
int atoll_spending_journal_cover(struct atoll_spending_journal *journal, uint32_t account,
                                 struct atoll_spending_amount cover, struct atoll_err *err);
/* The book's number of an account, which is put first where it is new. */
long atoll_spending_journal_account(struct atoll_spending_journal *journal,
                                    const struct atoll_spending_account *account, struct atoll_err *err);
int atoll_spending_journal_reserve(struct atoll_spending_journal *journal,
                                   const uint32_t accounts[ATOLL_SCOPE_COUNT],
                                   struct atoll_spending_amount amount, const struct atoll_id *request,
                                   int64_t unix_ns, uint64_t *ret_number, struct atoll_err *err);
/* 1: in excess; 0; -1 NOTFOUND: neither open nor unknown. */
int atoll_spending_journal_settle(struct atoll_spending_journal *journal, uint64_t number,
                                  struct atoll_spending_amount amount, struct atoll_err *err);
int atoll_spending_journal_excuse(struct atoll_spending_journal *journal, uint64_t number,
                                  struct atoll_err *err);

#endif
