/* spending_account.c - names, dates and amounts. */
#include "llm-gateway/budget/spending_account.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY_NS ((int64_t)86400 * 1000000000)

static uint64_t plus(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

struct atoll_spending_amount atoll_spending_plus(struct atoll_spending_amount a,
                                                 struct atoll_spending_amount b)
{
    return (struct atoll_spending_amount){plus(a.money, b.money), plus(a.tokens, b.tokens)};
}

struct atoll_spending_amount atoll_spending_minus(struct atoll_spending_amount a,
                                                  struct atoll_spending_amount b)
{
    return (struct atoll_spending_amount){minus(a.money, b.money), minus(a.tokens, b.tokens)};
}

struct atoll_spending_amount atoll_spending_least(struct atoll_spending_amount a,
                                                  struct atoll_spending_amount b)
{
    return (struct atoll_spending_amount){a.money < b.money ? a.money : b.money,
                                          a.tokens < b.tokens ? a.tokens : b.tokens};
}

struct atoll_spending_amount atoll_spending_most(struct atoll_spending_amount a,
                                                 struct atoll_spending_amount b)
{
    return (struct atoll_spending_amount){a.money > b.money ? a.money : b.money,
                                          a.tokens > b.tokens ? a.tokens : b.tokens};
}

int atoll_spending_fits(struct atoll_spending_amount a, struct atoll_spending_amount room)
{
    return a.money <= room.money && a.tokens <= room.tokens;
}

int atoll_spending_is_zero(struct atoll_spending_amount a)
{
    return a.money == 0 && a.tokens == 0;
}

int atoll_spending_same(struct atoll_spending_amount a, struct atoll_spending_amount b)
{
    return a.money == b.money && a.tokens == b.tokens;
}

void atoll_spending_put_amount(struct atoll_buffer *out, struct atoll_spending_amount amount)
{
    atoll_buffer_put_u64(out, amount.money);
    atoll_buffer_put_u64(out, amount.tokens);
}

struct atoll_spending_amount atoll_spending_take_amount(struct atoll_reader *in)
{
    struct atoll_spending_amount amount;
    amount.money = atoll_reader_u64(in);
    amount.tokens = atoll_reader_u64(in);
    return amount;
}

void atoll_spending_say_money(atoll_nanousd money, char ret_text[32])
{
    int length = snprintf(ret_text, 32, "%llu.%09llu", (unsigned long long)(money / 1000000000u),
                          (unsigned long long)(money % 1000000000u));
    while (length > 0 && ret_text[length - 1] == '0' && ret_text[length - 3] != '.')
        ret_text[--length] = '\0';
}

static int copy_name(char *ret_name, const char *name, const char *what, struct atoll_err *err)
{
    size_t length = name ? strlen(name) : 0;
    if (length >= ATOLL_SPENDING_NAME_BYTES)
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "the %s \"%.40s...\" has %zu bytes; at most %d are counted by", what, name,
                             length, ATOLL_SPENDING_NAME_BYTES - 1);
    snprintf(ret_name, ATOLL_SPENDING_NAME_BYTES, "%s", name ? name : "");
    return 0;
}

/* Days since 1970-01-01 to a date of the proleptic Gregorian calendar; years begin in March inside, so that the odd day of
 * a leap year is the last. */
static void say_day(int64_t unix_ns, char *ret_name)
{
    int64_t days = unix_ns / DAY_NS - (unix_ns % DAY_NS < 0);
    int64_t since_march_0 = days + 719468;
    int64_t era = since_march_0 / 146097, day = since_march_0 % 146097;
    int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    int64_t day_of_year = day - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * day_of_year + 2) / 153;
    int64_t day_of_month = day_of_year - (153 * month + 2) / 5 + 1;
    int is_next = month >= 10;
    year += era * 400 + is_next;
    snprintf(ret_name, ATOLL_SPENDING_NAME_BYTES, "%04lld-%02d-%02d", (long long)year,
             (int)(is_next ? month - 9 : month + 3), (int)day_of_month);
}

int atoll_spending_accounts_of(const struct atoll_spending_purpose *purpose, int64_t unix_ns,
                               struct atoll_spending_account ret_accounts[ATOLL_SCOPE_COUNT],
                               struct atoll_err *err)
{
    memset(ret_accounts, 0, ATOLL_SCOPE_COUNT * sizeof *ret_accounts);
    for (int scope = 0; scope < ATOLL_SCOPE_COUNT; scope++)
        ret_accounts[scope].scope = (enum atoll_spending_scope)scope;
    if (copy_name(ret_accounts[ATOLL_SCOPE_CAMPAIGN].name, purpose->campaign, "campaign", err) != 0 ||
        copy_name(ret_accounts[ATOLL_SCOPE_TASK].name, purpose->campaign, "campaign", err) != 0 ||
        copy_name(ret_accounts[ATOLL_SCOPE_TASK].task, purpose->task, "task", err) != 0 ||
        copy_name(ret_accounts[ATOLL_SCOPE_MODEL].name, purpose->model, "model", err) != 0)
        return -1;
    say_day(unix_ns, ret_accounts[ATOLL_SCOPE_DAY].name);
    return 0;
}

void atoll_spending_put_account(struct atoll_buffer *out, const struct atoll_spending_account *account)
{
    atoll_buffer_put_u8(out, (uint8_t)account->scope);
    atoll_buffer_put_text(out, account->name);
    atoll_buffer_put_text(out, account->task);
}

void atoll_spending_take_account(struct atoll_reader *in, struct atoll_spending_account *ret_account)
{
    memset(ret_account, 0, sizeof *ret_account);
    unsigned scope = atoll_reader_u8(in);
    if (scope >= ATOLL_SCOPE_COUNT)
        in->failed = in->failed ? in->failed : ATOLL_E_PROTOCOL;
    ret_account->scope = (enum atoll_spending_scope)(in->failed ? 0 : scope);
    atoll_reader_fixed_text(in, ret_account->name, sizeof ret_account->name);
    atoll_reader_fixed_text(in, ret_account->task, sizeof ret_account->task);
}

void atoll_spending_say_account(const struct atoll_spending_account *account, char ret_text[300])
{
    switch (account->scope) {
    case ATOLL_SCOPE_TASK:
        snprintf(ret_text, 300, "task '%s' of campaign '%s'", account->task, account->name);
        break;
    case ATOLL_SCOPE_MODEL: snprintf(ret_text, 300, "model '%s'", account->name); break;
    case ATOLL_SCOPE_DAY: snprintf(ret_text, 300, "day %s", account->name); break;
    default: snprintf(ret_text, 300, "campaign '%s'", account->name); break;
    }
}

struct atoll_spending_amount atoll_spending_limit_of(const struct atoll_spending_account *account,
                                                     const struct atoll_spending_limit *limits, size_t count)
{
    struct atoll_spending_amount least = {UINT64_MAX, UINT64_MAX};
    const char *name = account->scope == ATOLL_SCOPE_TASK ? account->task : account->name;
    for (size_t i = 0; i < count; i++)
        if (limits[i].scope == account->scope && (!*limits[i].name || strcmp(limits[i].name, name) == 0))
            least = atoll_spending_least(least,
                                         (struct atoll_spending_amount){limits[i].money, limits[i].tokens});
    return least;
}

static uint64_t hash_of(const struct atoll_spending_account *account)
{
    uint64_t hash = 14695981039346656037u + (uint64_t)account->scope;
    const char *texts[2] = {account->name, account->task};
    for (size_t t = 0; t < 2; t++)
        for (const char *at = texts[t];; at++) {
            hash = (hash ^ (unsigned char)*at) * 1099511628211u; /* FNV-1a */
            if (!*at)
                break;
        }
    return hash ^ hash >> 29;
}

static int is_same(const struct atoll_spending_account *a, const struct atoll_spending_account *b)
{
    return a->scope == b->scope && strcmp(a->name, b->name) == 0 && strcmp(a->task, b->task) == 0;
}

void atoll_spending_register_fini(struct atoll_spending_register *reg)
{
    free(reg->items);
    free(reg->slots);
    memset(reg, 0, sizeof *reg);
}

/* Where it is, or the free slot where it would be. */
static size_t slot_of(const struct atoll_spending_register *reg, const struct atoll_spending_account *account)
{
    size_t slot = (size_t)hash_of(account) & (reg->slot_count - 1);
    while (reg->slots[slot] && !is_same(&reg->items[reg->slots[slot] - 1], account))
        slot = (slot + 1) & (reg->slot_count - 1);
    return slot;
}

long atoll_spending_register_find(const struct atoll_spending_register *reg,
                                  const struct atoll_spending_account *account)
{
    return reg->slot_count ? (long)reg->slots[slot_of(reg, account)] - 1 : -1;
}

static int grow(struct atoll_spending_register *reg, struct atoll_err *err)
{
    size_t capacity = reg->capacity ? reg->capacity * 2 : 64;
    struct atoll_spending_account *items = realloc(reg->items, capacity * sizeof *items);
    if (items)
        reg->items = items;
    uint32_t *slots = calloc(capacity * 2, sizeof *slots);
    if (!items || !slots) {
        free(slots);
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for %zu accounts", capacity);
    }
    free(reg->slots);
    reg->slots = slots;
    reg->slot_count = capacity * 2;
    reg->capacity = capacity;
    for (size_t i = 0; i < reg->count; i++)
        reg->slots[slot_of(reg, &reg->items[i])] = (uint32_t)i + 1;
    return 0;
}

long atoll_spending_register_add(struct atoll_spending_register *reg,
                                 const struct atoll_spending_account *account, struct atoll_err *err)
{
    long known = atoll_spending_register_find(reg, account);
    if (known >= 0)
        return known;
    if (reg->count >= ATOLL_SPENDING_ACCOUNT_LIMIT)
        return atoll_err_set(
            err, ATOLL_E_LIMIT,
            "more than %d campaigns, tasks, models and days in one ledger; begin another folder",
            ATOLL_SPENDING_ACCOUNT_LIMIT);
    if (reg->count == reg->capacity && grow(reg, err) != 0)
        return -1;
    reg->items[reg->count] = *account;
    reg->slots[slot_of(reg, account)] = (uint32_t)reg->count + 1;
    return (long)reg->count++;
}

/* The last one added stands at the end of its chain of probes, so its slot can simply be freed. */
void atoll_spending_register_drop(struct atoll_spending_register *reg)
{
    reg->slots[slot_of(reg, &reg->items[reg->count - 1])] = 0;
    reg->count--;
}
