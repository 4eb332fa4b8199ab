/* spending_cover.h - how much a holder may use before its journal is synced again.
 * Layer: llm-gateway.  A cover is an amount of one account, in the holder's own journal.  What is used never exceeds a
 * durable cover, nor one that is on its way to the disk; so if the machine stops, what the end of the journal told and is
 * lost is at most what the covers exceed the rest of it.  They are put with each sync: what is used, and room for what comes
 * until the next one is done, four times what came between two of them lately; never beyond a grant. */
#ifndef ATOLL_LLM_GATEWAY_BUDGET_SPENDING_COVER_H
#define ATOLL_LLM_GATEWAY_BUDGET_SPENDING_COVER_H

#include "llm-gateway/budget/spending_inside.h"

/* What is used of an account of the book has changed. */
void atoll_spending_cover_touch(struct atoll_spending_book *book, uint32_t account);
int atoll_spending_cover_holds(const struct atoll_spending_book *book, uint32_t account);

/* New ones, of all accounts that were touched.  In force when the journal is synced: atoll_spending_cover_harden. */
int atoll_spending_cover_put(struct atoll_spending *spending, struct atoll_err *err);
void atoll_spending_cover_harden(struct atoll_spending *spending);
/* Covers become what is used: of one account of the book, of all. */
int atoll_spending_cover_withdraw(struct atoll_spending *spending, uint32_t account, struct atoll_err *err);
int atoll_spending_cover_withdraw_all(struct atoll_spending *spending, struct atoll_err *err);

/* Before a life in another boot: what was taken back by others meanwhile is covered no more. */
int atoll_spending_cover_bound(struct atoll_spending *spending, struct atoll_err *err);
/* The same in memory, for a journal that nobody holds; what is then covered and not used counts as unknown, if it may be. */
void atoll_spending_cover_presume(const struct atoll_spending_ledger *ledger,
                                  struct atoll_spending_journal *journal, const char *boot);

#endif
