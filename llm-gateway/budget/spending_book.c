/* spending_book.c - sums by account, and the reservations that are not settled. */
#include "llm-gateway/budget/spending_book.h"

#include <stdlib.h>
#include <string.h>

void atoll_spending_book_fini(struct atoll_spending_book *book)
{
    atoll_spending_register_fini(&book->accounts);
    free(book->usages);
    free(book->items);
    free(book->by_number);
    free(book->by_request);
    memset(book, 0, sizeof *book);
}

long atoll_spending_book_account(struct atoll_spending_book *book,
                                 const struct atoll_spending_account *account, struct atoll_err *err)
{
    if (book->accounts.count == book->usage_capacity) {
        size_t capacity = book->usage_capacity ? book->usage_capacity * 2 : 64;
        struct atoll_spending_usage *usages = realloc(book->usages, capacity * sizeof *usages);
        if (!usages)
            return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for %zu accounts", capacity);
        memset(usages + book->usage_capacity, 0, (capacity - book->usage_capacity) * sizeof *usages);
        book->usages = usages;
        book->usage_capacity = capacity;
    }
    return atoll_spending_register_add(&book->accounts, account, err);
}

static uint32_t *number_chain(const struct atoll_spending_book *book, uint64_t number)
{
    return &book->by_number[(number ^ number >> 40) & (book->bucket_count - 1)];
}

static uint32_t *request_chain(const struct atoll_spending_book *book, const struct atoll_id *request)
{
    return &book->by_request[atoll_id_u64(request) & (book->bucket_count - 1)];
}

static void chain(struct atoll_spending_book *book, size_t index)
{
    struct atoll_spending_reservation *item = &book->items[index];
    uint32_t *by_number = number_chain(book, item->number), *by_request = request_chain(book, &item->request);
    item->next_number = *by_number;
    item->next_request = *by_request;
    *by_number = *by_request = (uint32_t)index + 1;
}

static int grow(struct atoll_spending_book *book, struct atoll_err *err)
{
    size_t capacity = book->item_capacity ? book->item_capacity * 2 : 64;
    if (book->item_capacity >= ATOLL_SPENDING_OPEN_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "more than %zu calls are open or unknown",
                             ATOLL_SPENDING_OPEN_LIMIT);
    struct atoll_spending_reservation *items = realloc(book->items, capacity * sizeof *items);
    uint32_t *by_number = calloc(capacity, sizeof *by_number),
             *by_request = calloc(capacity, sizeof *by_request);
    if (items)
        book->items = items;
    if (!items || !by_number || !by_request) {
        free(by_number);
        free(by_request);
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for %zu reservations", capacity);
    }
    free(book->by_number);
    free(book->by_request);
    book->by_number = by_number;
    book->by_request = by_request;
    book->item_capacity = book->bucket_count = capacity;
    for (size_t i = 0; i < book->item_count; i++) /* only ever when none is free */
        chain(book, i);
    return 0;
}

static struct atoll_spending_reservation *find(const struct atoll_spending_book *book, uint64_t number)
{
    uint32_t at = book->bucket_count ? *number_chain(book, number) : 0;
    while (at && book->items[at - 1].number != number)
        at = book->items[at - 1].next_number;
    return at ? &book->items[at - 1] : NULL;
}

const struct atoll_spending_reservation *atoll_spending_book_find(const struct atoll_spending_book *book,
                                                                  uint64_t number)
{
    return find(book, number);
}

/* The oldest: chains have the newest first. */
const struct atoll_spending_reservation *atoll_spending_book_unknown(const struct atoll_spending_book *book,
                                                                     const struct atoll_id *request)
{
    const struct atoll_spending_reservation *first = NULL;
    uint32_t at = book->bucket_count ? *request_chain(book, request) : 0;
    for (; at; at = book->items[at - 1].next_request) {
        const struct atoll_spending_reservation *item = &book->items[at - 1];
        if (item->state == ATOLL_SPENDING_UNKNOWN && atoll_id_equal(&item->request, request) &&
            (!first || item->number < first->number))
            first = item;
    }
    return first;
}

static void unchain(struct atoll_spending_book *book, struct atoll_spending_reservation *item)
{
    uint32_t index = (uint32_t)(item - book->items) + 1;
    uint32_t *at = number_chain(book, item->number);
    while (*at != index)
        at = &book->items[*at - 1].next_number;
    *at = item->next_number;
    at = request_chain(book, &item->request);
    while (*at != index)
        at = &book->items[*at - 1].next_request;
    *at = item->next_request;
    memset(item, 0, sizeof *item);
    item->next_number = book->free_item;
    book->free_item = index;
}

static void add_sum(atoll_nanousd *money, uint64_t *tokens, struct atoll_spending_amount amount)
{
    struct atoll_spending_amount sum =
        atoll_spending_plus((struct atoll_spending_amount){*money, *tokens}, amount);
    *money = sum.money;
    *tokens = sum.tokens;
}

static void take_sum(atoll_nanousd *money, uint64_t *tokens, struct atoll_spending_amount amount)
{
    struct atoll_spending_amount sum =
        atoll_spending_minus((struct atoll_spending_amount){*money, *tokens}, amount);
    *money = sum.money;
    *tokens = sum.tokens;
}

int atoll_spending_book_reserve(struct atoll_spending_book *book, uint64_t number,
                                const uint32_t accounts[ATOLL_SCOPE_COUNT],
                                struct atoll_spending_amount amount, const struct atoll_id *request,
                                struct atoll_err *err)
{
    for (int i = 0; i < ATOLL_SCOPE_COUNT; i++)
        if (accounts[i] >= book->accounts.count)
            return atoll_err_set(err, ATOLL_E_PROTOCOL, "account %lu is not there",
                                 (unsigned long)accounts[i]);
    if (number == 0 || number <= book->last_number)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "reservation %llu comes again",
                             (unsigned long long)number);
    if (!book->free_item && book->item_count == book->item_capacity && grow(book, err) != 0)
        return -1;
    size_t index = book->free_item ? book->free_item - 1 : book->item_count++;
    if (book->free_item)
        book->free_item = book->items[index].next_number;
    struct atoll_spending_reservation *item = &book->items[index];
    *item = (struct atoll_spending_reservation){
        .number = number, .amount = amount, .request = *request, .state = ATOLL_SPENDING_RESERVED};
    memcpy(item->accounts, accounts, sizeof item->accounts);
    chain(book, index);
    for (int i = 0; i < ATOLL_SCOPE_COUNT; i++) {
        struct atoll_spending_usage *usage = &book->usages[accounts[i]];
        usage->reserved = atoll_spending_plus(usage->reserved, amount);
    }
    add_sum(&book->sum.reserved_money, &book->sum.reserved_tokens, amount);
    book->last_number = number;
    return 0;
}

/* Takes a reservation out of the sums it is in. */
static void release(struct atoll_spending_book *book, const struct atoll_spending_reservation *item)
{
    int is_open = item->state == ATOLL_SPENDING_RESERVED;
    for (int i = 0; i < ATOLL_SCOPE_COUNT; i++) {
        struct atoll_spending_usage *usage = &book->usages[item->accounts[i]];
        struct atoll_spending_amount *part = is_open ? &usage->reserved : &usage->unknown;
        *part = atoll_spending_minus(*part, item->amount);
    }
    if (is_open)
        take_sum(&book->sum.reserved_money, &book->sum.reserved_tokens, item->amount);
    else {
        take_sum(&book->sum.unknown_money, &book->sum.unknown_tokens, item->amount);
        book->sum.unknown_calls--;
    }
}

int atoll_spending_book_settle(struct atoll_spending_book *book, uint64_t number,
                               struct atoll_spending_amount amount)
{
    struct atoll_spending_reservation *item = find(book, number);
    struct atoll_spending_amount excess = atoll_spending_minus(amount, item->amount);
    struct atoll_spending_amount kept = {0, 0};
    release(book, item);
    if (item->is_kept)
        kept = atoll_spending_minus(item->amount, amount);
    for (int i = 0; i < ATOLL_SCOPE_COUNT; i++) {
        struct atoll_spending_usage *usage = &book->usages[item->accounts[i]];
        usage->spent = atoll_spending_plus(usage->spent, amount);
        usage->unknown = atoll_spending_plus(usage->unknown, kept);
    }
    add_sum(&book->sum.unknown_money, &book->sum.unknown_tokens, kept);
    add_sum(&book->sum.spent_money, &book->sum.spent_tokens, amount);
    add_sum(&book->sum.excess_money, &book->sum.excess_tokens, excess);
    book->sum.calls++;
    unchain(book, item);
    return !atoll_spending_is_zero(excess);
}

void atoll_spending_book_forget(struct atoll_spending_book *book, uint64_t number)
{
    struct atoll_spending_reservation *item = find(book, number);
    release(book, item);
    unchain(book, item);
}

void atoll_spending_book_excuse(struct atoll_spending_book *book, uint64_t number)
{
    find(book, number)->state = ATOLL_SPENDING_EXCUSED;
}

/* Each call has one account of each scope, so that those of one scope hold all of it. */
void atoll_spending_book_lose(struct atoll_spending_book *book)
{
    for (size_t i = 0; i < book->accounts.count; i++) {
        struct atoll_spending_usage *usage = &book->usages[i];
        struct atoll_spending_amount lost =
            atoll_spending_minus(usage->cover, atoll_spending_book_used(book, i));
        usage->unknown = atoll_spending_plus(usage->unknown, lost);
        if (book->accounts.items[i].scope == ATOLL_SCOPE_CAMPAIGN)
            add_sum(&book->sum.unknown_money, &book->sum.unknown_tokens, lost);
    }
}

static void end_covers(struct atoll_spending_book *book)
{
    for (size_t i = 0; i < book->accounts.count; i++) {
        struct atoll_spending_usage *usage = &book->usages[i];
        usage->cover = usage->firm = usage->room = (struct atoll_spending_amount){0, 0};
        usage->base = usage->highest = atoll_spending_book_used(book, i);
        usage->is_touched = 0;
    }
}

/* A settlement that was lost may have made room under a cover for calls that are lost as well: made again, it makes none. */
void atoll_spending_book_new_life(struct atoll_spending_book *book, int is_lost)
{
    if (is_lost)
        atoll_spending_book_lose(book);
    end_covers(book);
    for (size_t i = 0; i < book->item_count; i++) {
        struct atoll_spending_reservation *item = &book->items[i];
        item->is_kept |= is_lost && item->state != ATOLL_SPENDING_FREE;
        if (item->state != ATOLL_SPENDING_RESERVED)
            continue;
        release(book, item);
        for (int a = 0; a < ATOLL_SCOPE_COUNT; a++) {
            struct atoll_spending_usage *usage = &book->usages[item->accounts[a]];
            usage->unknown = atoll_spending_plus(usage->unknown, item->amount);
        }
        add_sum(&book->sum.unknown_money, &book->sum.unknown_tokens, item->amount);
        book->sum.unknown_calls++;
        item->state = ATOLL_SPENDING_UNKNOWN;
    }
}

struct atoll_spending_amount atoll_spending_book_used(const struct atoll_spending_book *book, size_t account)
{
    const struct atoll_spending_usage *usage = &book->usages[account];
    return atoll_spending_plus(atoll_spending_plus(usage->spent, usage->reserved), usage->unknown);
}
