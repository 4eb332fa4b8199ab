/* spending_grant.c - how much of a limit a holder takes, gives back, and inherits from the dead.
 * A holder may use what the ledger grants it and nothing else, so the sum of grants bounds the sum of what is used.  Grants
 * rise before they are used (committed first) and fall only to what the holder's journal holds durably: a settlement that a
 * kill could undo frees nothing for others. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "llm-gateway/budget/spending_cover.h"

#define LOCK_WAIT_S 1.0
#define AHEAD_SHARE 2 /* where one grant is fetched ahead, so are all that have less than half left */
#define UNLIMITED_CALLS                                                                                      \
    16 /* where there is no limit, a first grant is for so many calls; each next one doubles */

static struct atoll_spending_amount room_of(const struct atoll_spending_line *line)
{
    return atoll_spending_minus(line->limit, line->granted);
}

static int is_alone(const struct atoll_spending *spending)
{
    for (size_t i = 0; i < spending->ledger->holder_count; i++)
        if (i + 1 != spending->self && spending->ledger->holders[i].is_active)
            return 0;
    return 1;
}

/* At least the lack, at most the room; in between generous to one who is alone, a share of what is left to one of many. */
static uint64_t size_of(const struct atoll_spending *spending, uint64_t lack, uint64_t room, uint64_t limit,
                        uint64_t has)
{
    uint64_t wish = lack;
    if (lack == 0)
        return 0;
    if (limit == UINT64_MAX)
        wish = lack < UINT64_MAX / UNLIMITED_CALLS ? lack * UNLIMITED_CALLS : lack;
    else
        wish = is_alone(spending) ? room / 2 : (uint64_t)((double)room * spending->grant_ratio);
    if (limit == UINT64_MAX && has > wish)
        wish = has;
    wish = wish < room ? wish : room;
    return wish > lack ? wish : lack;
}

static int put_larger(struct atoll_spending *spending, const struct atoll_spending_place *place,
                      struct atoll_spending_amount amount, struct atoll_err *err)
{
    uint32_t account = (uint32_t)place->in_ledger;
    const struct atoll_spending_line *line = &spending->ledger->lines[account];
    struct atoll_spending_amount lack = atoll_spending_lack(spending, place, amount), room = room_of(line);
    struct atoll_spending_amount has =
        atoll_spending_ledger_granted(spending->ledger, spending->self, account);
    struct atoll_spending_amount more = {
        size_of(spending, lack.money, room.money, line->limit.money, has.money),
        size_of(spending, lack.tokens, room.tokens, line->limit.tokens, has.tokens),
    };
    if (atoll_spending_is_zero(more))
        return 0;
    return atoll_spending_ledger_put_grant(spending->ledger, spending->self, account,
                                           atoll_spending_plus(has, more), spending->unix_ns, err);
}

static int has_room(const struct atoll_spending *spending, const struct atoll_spending_place *places,
                    struct atoll_spending_amount amount)
{
    for (int i = 0; i < ATOLL_SCOPE_COUNT; i++)
        if (!atoll_spending_fits(atoll_spending_lack(spending, &places[i], amount),
                                 room_of(&spending->ledger->lines[places[i].in_ledger])))
            return 0;
    return 1;
}

/* Accounts the ledger has not seen are put there first: a grant names them by number. */
static int make_accounts(struct atoll_spending *spending, struct atoll_spending_place *places,
                         struct atoll_err *err)
{
    struct atoll_spending_book *book = &spending->journal->book;
    for (int i = 0; i < ATOLL_SCOPE_COUNT; i++)
        if (atoll_spending_in_ledger(spending, book, places[i].in_book) < 0 &&
            atoll_spending_ledger_put_account(spending->ledger, &book->accounts.items[places[i].in_book],
                                              err) != 0)
            return -1;
    if (atoll_spending_ledger_commit(spending->ledger, err) != 0)
        return -1;
    for (int i = 0; i < ATOLL_SCOPE_COUNT; i++)
        places[i].in_ledger = atoll_spending_in_ledger(spending, book, places[i].in_book);
    return 0;
}

static int take_locked(struct atoll_spending *spending, struct atoll_spending_place *places,
                       struct atoll_spending_amount amount, struct atoll_err *err)
{
    if (atoll_spending_fenced(spending, err) != 0 || make_accounts(spending, places, err) != 0 ||
        atoll_spending_give(spending, err) != 0 || atoll_spending_ledger_commit(spending->ledger, err) != 0)
        return -1;
    if (!has_room(spending, places, amount) && atoll_spending_reclaim(spending, err) < 0)
        return -1;
    if (!has_room(spending, places, amount))
        return atoll_spending_refuse(spending, places, amount, err);
    for (int i = 0; i < ATOLL_SCOPE_COUNT; i++)
        if (put_larger(spending, &places[i], amount, err) != 0)
            return -1;
    return atoll_spending_ledger_commit(spending->ledger, err);
}

int atoll_spending_take(struct atoll_spending *spending,
                        struct atoll_spending_place places[ATOLL_SCOPE_COUNT],
                        struct atoll_spending_amount amount, struct atoll_err *err)
{
    if (atoll_spending_ledger_lock(spending->ledger, LOCK_WAIT_S, err) != 0)
        return -1;
    int rc = take_locked(spending, places, amount, err);
    atoll_spending_ledger_unlock(spending->ledger);
    return rc;
}

/* ---- taking ahead ---- */

/* What a grant lacks to last for share of it, or for what covers need; of what nobody else can want. */
static uint64_t low_of(uint64_t granted, uint64_t used, uint64_t need, int is_free_to_all)
{
    uint64_t free = granted > used ? granted - used : 0;
    return is_free_to_all && free < need ? need - free : 0;
}

/* share: of a grant; 0: only what covers need until the next time. */
static struct atoll_spending_amount low_in(const struct atoll_spending *spending, uint32_t in_book,
                                           uint32_t account, unsigned share)
{
    const struct atoll_spending_book *book = &spending->journal->book;
    const struct atoll_spending_line *line = &spending->ledger->lines[account];
    struct atoll_spending_amount used = atoll_spending_book_used(book, in_book),
                                 room = book->usages[in_book].room;
    struct atoll_spending_amount has =
        atoll_spending_ledger_granted(spending->ledger, spending->self, account);
    struct atoll_spending_amount need = atoll_spending_plus(room, room);
    int alone = is_alone(spending);
    if (share)
        need =
            atoll_spending_most(need, (struct atoll_spending_amount){has.money / share, has.tokens / share});
    return (struct atoll_spending_amount){
        low_of(has.money, used.money, need.money, alone || line->limit.money == UINT64_MAX),
        low_of(has.tokens, used.tokens, need.tokens, alone || line->limit.tokens == UINT64_MAX)};
}

static int is_low(const struct atoll_spending *spending)
{
    struct atoll_spending_book *book = &spending->journal->book;
    for (uint32_t i = 0; i < book->accounts.count; i++) {
        long account = book->usages[i].is_touched ? atoll_spending_in_ledger(spending, book, i) : -1;
        if (account >= 0 &&
            !atoll_spending_is_zero(atoll_spending_least(low_in(spending, i, (uint32_t)account, 0),
                                                         room_of(&spending->ledger->lines[account]))))
            return 1;
    }
    return 0;
}

static int put_ahead(struct atoll_spending *spending, uint32_t in_book, uint32_t account)
{
    const struct atoll_spending_line *line = &spending->ledger->lines[account];
    struct atoll_spending_amount low = low_in(spending, in_book, account, AHEAD_SHARE), room = room_of(line);
    struct atoll_spending_amount has =
        atoll_spending_ledger_granted(spending->ledger, spending->self, account);
    struct atoll_spending_amount more = {
        size_of(spending, low.money, room.money, line->limit.money, has.money),
        size_of(spending, low.tokens, room.tokens, line->limit.tokens, has.tokens),
    };
    more = atoll_spending_least(more, room);
    return atoll_spending_is_zero(more)
               ? 0
               : atoll_spending_ledger_put_grant(spending->ledger, spending->self, account,
                                                 atoll_spending_plus(has, more), spending->unix_ns, NULL);
}

void atoll_spending_take_ahead(struct atoll_spending *spending)
{
    struct atoll_spending_book *book = &spending->journal->book;
    if (!is_low(spending) || atoll_spending_ledger_lock(spending->ledger, 0, NULL) != 0)
        return; /* then the call that needs it waits for it */
    int rc = spending->ledger->is_fenced ? -1 : 0;
    for (uint32_t i = 0; rc == 0 && i < book->accounts.count; i++) {
        long account = book->usages[i].is_touched ? atoll_spending_in_ledger(spending, book, i) : -1;
        if (account >= 0)
            rc = put_ahead(spending, i, (uint32_t)account);
    }
    if (rc == 0)
        atoll_spending_ledger_commit(spending->ledger, NULL);
    atoll_spending_ledger_unlock(spending->ledger);
}

/* ---- giving ---- */

static long in_book(const struct atoll_spending *spending, struct atoll_spending_book *book, uint32_t account)
{
    return atoll_spending_register_find(&book->accounts, &spending->ledger->accounts.items[account]);
}

/* Of what is free: what is wanted, but not less than half. */
static uint64_t part_to_give(uint64_t free, uint64_t wanted)
{
    if (wanted == 0)
        return 0;
    uint64_t part = wanted > free / 2 ? wanted : free / 2;
    return part < free ? part : free;
}

static struct atoll_spending_amount to_give(const struct atoll_spending *spending,
                                            const struct atoll_spending_want *want,
                                            struct atoll_spending_place *ret_place)
{
    struct atoll_spending_amount nothing = {0, 0};
    if (want->holder == spending->self)
        return nothing;
    long account = in_book(spending, &spending->journal->book, want->account);
    if (account < 0)
        return nothing;
    *ret_place = (struct atoll_spending_place){(uint32_t)account, (long)want->account};
    struct atoll_spending_amount free = atoll_spending_free(spending, ret_place);
    return (struct atoll_spending_amount){part_to_give(free.money, want->amount.money),
                                          part_to_give(free.tokens, want->amount.tokens)};
}

static int is_wanted(const struct atoll_spending *spending)
{
    struct atoll_spending_place place = {0, -1};
    for (size_t i = 0; i < spending->ledger->want_count; i++)
        if (!atoll_spending_is_zero(to_give(spending, &spending->ledger->wants[i], &place)))
            return 1;
    return 0;
}

/* What is covered may turn out to be used if the machine stops: it is given only when that is over, on the disk. */
static int uncover_wanted(struct atoll_spending *spending, struct atoll_err *err)
{
    struct atoll_spending_place place = {0, -1};
    if (atoll_spending_cover_put(spending, err) != 0)
        return -1;
    for (size_t i = 0; i < spending->ledger->want_count; i++)
        if (!atoll_spending_is_zero(to_give(spending, &spending->ledger->wants[i], &place)) &&
            atoll_spending_cover_withdraw(spending, place.in_book, err) != 0)
            return -1;
    return atoll_spending_sync_journal(spending, err);
}

int atoll_spending_give(struct atoll_spending *spending, struct atoll_err *err)
{
    struct atoll_spending_ledger *ledger = spending->ledger;
    if (!is_wanted(spending))
        return 0;
    if (uncover_wanted(spending, NULL) != 0)
        return 0; /* what is free in memory may not be free on disk */
    /* one at a time: giving changes the list of wants and what is free */
    for (size_t turns = ledger->want_count, i = 0; turns > 0 && i < ledger->want_count; turns--) {
        struct atoll_spending_place place = {0, -1};
        struct atoll_spending_amount part = to_give(spending, &ledger->wants[i], &place);
        if (atoll_spending_is_zero(part)) {
            i++;
            continue;
        }
        uint32_t account = (uint32_t)place.in_ledger;
        struct atoll_spending_amount has = atoll_spending_ledger_granted(ledger, spending->self, account);
        if (atoll_spending_ledger_put_grant(ledger, spending->self, account, atoll_spending_minus(has, part),
                                            spending->unix_ns, err) != 0 ||
            atoll_spending_ledger_commit(ledger, err) != 0)
            return -1;
    }
    return 0;
}

static int put_overdrawn(struct atoll_spending *spending, struct atoll_err *err)
{
    struct atoll_spending_book *book = &spending->journal->book;
    for (size_t i = 0; i < book->accounts.count; i++) {
        long account = atoll_spending_in_ledger(spending, book, i);
        if (account < 0)
            continue;
        struct atoll_spending_amount used = atoll_spending_book_used(book, i);
        struct atoll_spending_amount has =
            atoll_spending_ledger_granted(spending->ledger, spending->self, (uint32_t)account);
        if (!atoll_spending_fits(used, has) &&
            atoll_spending_ledger_put_grant(spending->ledger, spending->self, (uint32_t)account,
                                            atoll_spending_most(used, has), spending->unix_ns, err) != 0)
            return -1;
    }
    return 0;
}

int atoll_spending_tend(struct atoll_spending *spending, struct atoll_err *err)
{
    struct atoll_spending_ledger *ledger = spending->ledger;
    if (atoll_frame_file_has_more(ledger->file, NULL) != 1 && !spending->is_overdrawn && !is_wanted(spending))
        return 0;
    if (atoll_spending_ledger_lock(ledger, 0, NULL) != 0)
        return 0; /* the next sync tries again */
    if (spending->is_overdrawn && put_overdrawn(spending, NULL) == 0 &&
        atoll_spending_ledger_commit(ledger, NULL) == 0)
        spending->is_overdrawn = 0;
    atoll_frame_file_discard(ledger->file);
    if (!ledger->is_fenced)
        atoll_spending_give(spending, NULL);
    atoll_spending_ledger_unlock(ledger);
    return atoll_spending_fenced(spending, err);
}

int atoll_spending_trim(struct atoll_spending *spending, struct atoll_err *err)
{
    struct atoll_spending_book *book = &spending->journal->book;
    struct atoll_spending_ledger *ledger = spending->ledger;
    for (uint32_t account = 0; account < ledger->accounts.count; account++) {
        long own = in_book(spending, book, account);
        struct atoll_spending_amount used = {0, 0};
        if (own >= 0)
            used = atoll_spending_book_used(book, (size_t)own);
        if (!atoll_spending_same(used, atoll_spending_ledger_granted(ledger, spending->self, account)) &&
            atoll_spending_ledger_put_grant(ledger, spending->self, account, used, spending->unix_ns, err) !=
                0)
            return -1;
    }
    return 0;
}

/* ---- the dead ---- */

static int put_used_of(struct atoll_spending *spending, uint64_t holder, struct atoll_spending_book *book,
                       struct atoll_err *err)
{
    struct atoll_spending_ledger *ledger = spending->ledger;
    for (uint32_t account = 0; account < ledger->accounts.count; account++) {
        long own = in_book(spending, book, account);
        struct atoll_spending_amount used = {0, 0};
        if (own >= 0)
            used = atoll_spending_book_used(book, (size_t)own);
        if (!atoll_spending_same(used, atoll_spending_ledger_granted(ledger, holder, account)) &&
            atoll_spending_ledger_put_grant(ledger, holder, account, used, spending->unix_ns, err) != 0)
            return -1;
    }
    return atoll_spending_ledger_put_leave(ledger, holder, spending->unix_ns, err);
}

/* 1: it was dead and its rest is back; 0: it lives, or its journal cannot be read: then its grants stay counted. */
static int reclaim_one(struct atoll_spending *spending, uint64_t holder, struct atoll_err *err)
{
    char path[4096];
    const char *name = spending->ledger->holders[holder - 1].name;
    if (atoll_spending_journal_path(spending, name, path, sizeof path, NULL) != 0 ||
        access(path, R_OK | W_OK) != 0)
        return 0;
    struct atoll_spending_journal *journal = atoll_spending_journal_open(
        path, ATOLL_FRAME_FILE_WRITE, atoll_frame_file_number(spending->ledger->file), holder, spending->ops,
        NULL);
    int rc = 0;
    if (journal && atoll_frame_file_lock(journal->file, 0, NULL) == 0 &&
        atoll_spending_journal_read(journal, 0, NULL) == 0 && journal->has_header &&
        atoll_frame_file_sync_all(journal->file, NULL) == 0) {
        atoll_spending_cover_presume(spending->ledger, journal, spending->boot);
        rc = put_used_of(spending, holder, &journal->book, err) == 0 &&
                     atoll_spending_ledger_commit(spending->ledger, err) == 0
                 ? 1
                 : -1;
    }
    atoll_spending_journal_close(journal);
    return rc;
}

int atoll_spending_reclaim(struct atoll_spending *spending, struct atoll_err *err)
{
    int count = 0;
    for (uint64_t holder = 1; holder <= spending->ledger->holder_count; holder++) {
        if (holder == spending->self || !spending->ledger->holders[holder - 1].is_active)
            continue;
        int rc = reclaim_one(spending, holder, err);
        if (rc < 0)
            return -1;
        count += rc;
    }
    return count;
}
