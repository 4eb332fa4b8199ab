/* spending_cover.c - invariant: used <= least(firm, cover) in every account when calls are let go; where a reservation goes
 * beyond, the commit syncs in place.  A cover that is put lower holds at once, because the kernel may write it at any time;
 * one that is put higher holds when it is durable. */
#include "llm-gateway/budget/spending_cover.h"

#define ROOM_RISES 4 /* room for so many times what came between two syncs */
#define ROOM_KEPT  8 /* which is forgotten by an eighth at each sync */

static struct atoll_spending_amount times(struct atoll_spending_amount amount, unsigned count)
{
    struct atoll_spending_amount sum = {0, 0};
    while (count-- > 0)
        sum = atoll_spending_plus(sum, amount);
    return sum;
}

static struct atoll_spending_amount granted_of(const struct atoll_spending_ledger *ledger, uint64_t holder,
                                               const struct atoll_spending_account *account)
{
    long in_ledger = atoll_spending_register_find(&ledger->accounts, account);
    return in_ledger < 0 ? (struct atoll_spending_amount){0, 0}
                         : atoll_spending_ledger_granted(ledger, holder, (uint32_t)in_ledger);
}

void atoll_spending_cover_touch(struct atoll_spending_book *book, uint32_t account)
{
    struct atoll_spending_usage *usage = &book->usages[account];
    usage->highest = atoll_spending_most(usage->highest, atoll_spending_book_used(book, account));
    usage->is_touched = 1;
}

int atoll_spending_cover_holds(const struct atoll_spending_book *book, uint32_t account)
{
    const struct atoll_spending_usage *usage = &book->usages[account];
    return atoll_spending_fits(atoll_spending_book_used(book, account),
                               atoll_spending_least(usage->firm, usage->cover));
}

static int put(struct atoll_spending *spending, uint32_t account, struct atoll_spending_amount cover,
               struct atoll_err *err)
{
    struct atoll_spending_usage *usage = &spending->journal->book.usages[account];
    if (!atoll_spending_same(cover, usage->cover)) {
        spending->cover_count++;
        if (atoll_spending_journal_cover(spending->journal, account, cover, err) != 0)
            return -1;
    }
    usage->base = usage->highest = atoll_spending_book_used(&spending->journal->book, account);
    usage->is_touched = 0;
    return 0;
}

static struct atoll_spending_amount room_of(const struct atoll_spending_usage *usage)
{
    struct atoll_spending_amount kept = {usage->room.money - usage->room.money / ROOM_KEPT,
                                         usage->room.tokens - usage->room.tokens / ROOM_KEPT};
    return atoll_spending_most(times(atoll_spending_minus(usage->highest, usage->base), ROOM_RISES), kept);
}

static int put_wide(struct atoll_spending *spending, uint32_t account, struct atoll_err *err)
{
    struct atoll_spending_book *book = &spending->journal->book;
    struct atoll_spending_usage *usage = &book->usages[account];
    struct atoll_spending_amount used = atoll_spending_book_used(book, account), granted = {0, 0};
    long in_ledger = atoll_spending_in_ledger(spending, book, account);
    if (in_ledger >= 0)
        granted = atoll_spending_ledger_granted(spending->ledger, spending->self, (uint32_t)in_ledger);
    usage->room = room_of(usage);
    return put(
        spending, account,
        atoll_spending_most(used, atoll_spending_least(atoll_spending_plus(used, usage->room), granted)),
        err);
}

int atoll_spending_cover_put(struct atoll_spending *spending, struct atoll_err *err)
{
    const struct atoll_spending_book *book = &spending->journal->book;
    for (uint32_t account = 0; account < book->accounts.count; account++)
        if (book->usages[account].is_touched && put_wide(spending, account, err) != 0)
            return -1;
    return 0;
}

void atoll_spending_cover_harden(struct atoll_spending *spending)
{
    const struct atoll_spending_book *book = &spending->journal->book;
    for (uint32_t account = 0; account < book->accounts.count; account++)
        book->usages[account].firm = book->usages[account].cover;
}

int atoll_spending_cover_withdraw(struct atoll_spending *spending, uint32_t account, struct atoll_err *err)
{
    return put(spending, account, atoll_spending_book_used(&spending->journal->book, account), err);
}

int atoll_spending_cover_withdraw_all(struct atoll_spending *spending, struct atoll_err *err)
{
    const struct atoll_spending_book *book = &spending->journal->book;
    for (uint32_t account = 0; account < book->accounts.count; account++)
        if (!atoll_spending_fits(book->usages[account].cover, atoll_spending_book_used(book, account)) &&
            atoll_spending_cover_withdraw(spending, account, err) != 0)
            return -1;
    return 0;
}

/* Who took a dead holder's rest back synced its journal, or left it what was covered: its grants say which.  Its own grants
 * are no bound while nobody did: what it spent in excess they may not know yet. */
static struct atoll_spending_amount bound_of(const struct atoll_spending_ledger *ledger, uint64_t holder,
                                             const struct atoll_spending_book *book, uint32_t account)
{
    struct atoll_spending_amount cover = book->usages[account].cover;
    if (!ledger->holders[holder - 1].is_active)
        cover = atoll_spending_least(cover, granted_of(ledger, holder, &book->accounts.items[account]));
    return atoll_spending_most(atoll_spending_book_used(book, account), cover);
}

int atoll_spending_cover_bound(struct atoll_spending *spending, struct atoll_err *err)
{
    const struct atoll_spending_book *book = &spending->journal->book;
    for (uint32_t account = 0; account < book->accounts.count; account++)
        if (put(spending, account, bound_of(spending->ledger, spending->self, book, account), err) != 0)
            return -1;
    return 0;
}

void atoll_spending_cover_presume(const struct atoll_spending_ledger *ledger,
                                  struct atoll_spending_journal *journal, const char *boot)
{
    struct atoll_spending_book *book = &journal->book;
    if (!atoll_spending_journal_may_lack(journal, boot))
        return;
    for (uint32_t account = 0; account < book->accounts.count; account++)
        book->usages[account].cover = bound_of(ledger, journal->holder, book, account);
    atoll_spending_book_lose(book);
}
