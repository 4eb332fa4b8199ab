/* spending.c - accounts and open reservations in memory, and their rows in the gateway's file.
 *
 * Every call is counted by four accounts: its campaign, its task of that campaign, its model and its day, also where nothing
 * is limited, so that a limit set later knows what was spent before.  An account's row has what is spent; what is reserved
 * or unknown are the reservations that are not settled. */
#include "llm-gateway/budget/spending.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sqlite3.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hash_index.h"
#include "llm-gateway/budget/database.h"

#define ACCOUNT_LIMIT 65536
#define AMOUNT_MOST   ((uint64_t)INT64_MAX) /* of one call, and of a row of the file */
#define NS_PER_S      1000000000

struct reservation {
    uint64_t number;
    uint32_t accounts[ATOLL_SCOPE_COUNT];
    struct atoll_spending_amount amount, spent;
    struct atoll_id request;
    int64_t unix_ns;
    int is_stored, is_settled;
};

struct atoll_spending {
    struct atoll_database *database;
    struct atoll_spending_limit limits[ATOLL_SPENDING_LIMIT_COUNT];
    size_t limit_count;
    struct atoll_spending_account *accounts;
    uint32_t account_count, account_capacity;
    struct atoll_index index; /* of accounts, by their names */
    struct reservation *open; /* by number; those settled stay until that is written */
    uint32_t open_count, open_capacity;
    uint64_t next_number;
    int is_dirty;
    sqlite3_stmt *insert, *settle, *spend;
};

static const char *const scope_names[ATOLL_SCOPE_COUNT] = {"campaign", "task", "model", "day"};

const char *atoll_spending_scope_name(enum atoll_spending_scope scope)
{
    return scope < ATOLL_SCOPE_COUNT ? scope_names[scope] : "unknown";
}

/* ---- amounts ---- */

static uint64_t plus(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void add(struct atoll_spending_amount *to, struct atoll_spending_amount what)
{
    to->money = plus(to->money, what.money);
    to->tokens = plus(to->tokens, what.tokens);
}

static void subtract(struct atoll_spending_amount *from, struct atoll_spending_amount what)
{
    from->money = minus(from->money, what.money);
    from->tokens = minus(from->tokens, what.tokens);
}

/* What does not come back: spent or unknown. */
static struct atoll_spending_amount firm_of(const struct atoll_spending_account *account)
{
    struct atoll_spending_amount firm = account->spent;
    add(&firm, account->unknown);
    return firm;
}

static int fits(const struct atoll_spending_account *account, struct atoll_spending_amount used,
                struct atoll_spending_amount amount)
{
    add(&used, amount);
    return used.money <= account->limit.money && used.tokens <= account->limit.tokens;
}

struct atoll_spending_amount atoll_spending_left(const struct atoll_spending_account *account)
{
    struct atoll_spending_amount used = firm_of(account), limit = account->limit;
    add(&used, account->reserved);
    return (struct atoll_spending_amount){
        limit.money == UINT64_MAX ? UINT64_MAX : minus(limit.money, used.money),
        limit.tokens == UINT64_MAX ? UINT64_MAX : minus(limit.tokens, used.tokens)};
}

/* ---- accounts ---- */

struct wanted {
    const struct atoll_spending *spending;
    enum atoll_spending_scope scope;
    const char *name, *task;
};

static int is_wanted(const void *context, uint32_t position)
{
    const struct wanted *wanted = context;
    const struct atoll_spending_account *account = &wanted->spending->accounts[position];
    return account->scope == wanted->scope && strcmp(account->name, wanted->name) == 0 &&
           strcmp(account->task, wanted->task) == 0;
}

static uint64_t key_of(const struct wanted *wanted)
{
    uint64_t hash = 14695981039346656037u + (uint64_t)wanted->scope;
    const char *texts[2] = {wanted->name, wanted->task};
    for (size_t t = 0; t < 2; t++) {
        for (const char *at = texts[t];; at++) {
            hash = (hash ^ (unsigned char)*at) * 1099511628211u; /* FNV-1a */
            if (!*at)
                break;
        }
    }
    return hash ^ hash >> 29;
}

/* Where several limits speak of an account, the least of them. */
static void set_limit(const struct atoll_spending *spending, struct atoll_spending_account *account)
{
    const char *name = account->scope == ATOLL_SCOPE_TASK ? account->task : account->name;
    account->limit = (struct atoll_spending_amount){UINT64_MAX, UINT64_MAX};
    for (size_t i = 0; i < spending->limit_count; i++) {
        const struct atoll_spending_limit *limit = &spending->limits[i];
        if (limit->scope == account->scope && (!*limit->name || strcmp(limit->name, name) == 0)) {
            account->limit.money = least(account->limit.money, limit->money);
            account->limit.tokens = least(account->limit.tokens, limit->tokens);
        }
    }
}

/* The account of that name, made where there is none; -1. */
static long find_account(struct atoll_spending *spending, enum atoll_spending_scope scope, const char *name,
                         const char *task, struct atoll_err *err)
{
    struct wanted wanted = {spending, scope, name, task};
    uint64_t key = key_of(&wanted);
    uint32_t at = atoll_index_find(&spending->index, key, is_wanted, &wanted);
    if (at < spending->account_count)
        return (long)at;
    if (strlen(name) >= ATOLL_SPENDING_NAME_BYTES || strlen(task) >= ATOLL_SPENDING_NAME_BYTES) {
        return atoll_err_set(
            err, ATOLL_E_INPUT, "the %s \"%.40s...\" is too long; at most %d bytes are counted by",
            scope_names[strlen(name) >= ATOLL_SPENDING_NAME_BYTES && scope == ATOLL_SCOPE_TASK
                            ? ATOLL_SCOPE_CAMPAIGN
                            : scope],
            strlen(name) >= ATOLL_SPENDING_NAME_BYTES ? name : task, ATOLL_SPENDING_NAME_BYTES - 1);
    }
    if (spending->account_count == ACCOUNT_LIMIT) {
        return atoll_err_set(err, ATOLL_E_LIMIT,
                             "more than %d campaigns, tasks, models and days in one file; begin another one",
                             ACCOUNT_LIMIT);
    }
    if (atoll_array_reserve(&spending->accounts, &spending->account_capacity, spending->account_count + 1,
                            sizeof(*spending->accounts), err))
        return atoll_err_add(err, "accounts of the budget");
    struct atoll_spending_account *account = &spending->accounts[spending->account_count];
    *account = (struct atoll_spending_account){.scope = scope};
    snprintf(account->name, sizeof(account->name), "%s", name);
    snprintf(account->task, sizeof(account->task), "%s", task);
    set_limit(spending, account);
    if (atoll_index_add(&spending->index, key, (uint32_t)spending->account_count, err))
        return -1;
    return (long)spending->account_count++;
}

/* UTC. */
static void write_day(int64_t unix_ns, char ret_day[32])
{
    struct tm day;
    time_t seconds = unix_ns / NS_PER_S - (unix_ns % NS_PER_S < 0);
    if (!gmtime_r(&seconds, &day) || !strftime(ret_day, 32, "%Y-%m-%d", &day))
        ret_day[0] = '\0';
}

static int find_accounts(struct atoll_spending *spending, const char *campaign, const char *task,
                         const char *model, const char *day, uint32_t ret_accounts[ATOLL_SCOPE_COUNT],
                         struct atoll_err *err)
{
    const char *const names[ATOLL_SCOPE_COUNT][2] = {
        {campaign, ""}, {campaign, task}, {model, ""}, {day, ""}};
    for (int scope = 0; scope < ATOLL_SCOPE_COUNT; scope++) {
        long at =
            find_account(spending, (enum atoll_spending_scope)scope, names[scope][0], names[scope][1], err);
        if (at < 0)
            return -1;
        ret_accounts[scope] = (uint32_t)at;
    }
    return 0;
}

/* ---- refusing ---- */

static void write_amount(char *ret_text, size_t bytes, struct atoll_spending_amount limit,
                         struct atoll_spending_amount amount)
{
    char money[40], tokens[40];
    int length =
        snprintf(money, sizeof(money), "%llu.%09llu", (unsigned long long)(amount.money / 1000000000u),
                 (unsigned long long)(amount.money % 1000000000u));
    while (money[length - 1] == '0' && money[length - 3] != '.')
        money[--length] = '\0';
    snprintf(tokens, sizeof(tokens), "%llu tokens", (unsigned long long)amount.tokens);
    int has_money = limit.money != UINT64_MAX, has_tokens = limit.tokens != UINT64_MAX;
    snprintf(ret_text, bytes, "%s%s%s", has_money ? money : "",
             has_money ? (has_tokens ? " USD and " : " USD") : "", has_tokens ? tokens : "");
}

static int refuse(const struct atoll_spending_account *account, struct atoll_spending_amount amount,
                  enum atoll_code code, struct atoll_err *err)
{
    char name[300], limit_text[96], left_text[96], needs_text[96];
    struct atoll_spending_amount left = account->limit;
    subtract(&left, firm_of(account));
    if (account->scope == ATOLL_SCOPE_TASK) {
        snprintf(name, sizeof(name), "task '%s' of campaign '%s'", account->task, account->name);
    } else {
        const char *quote = account->scope == ATOLL_SCOPE_DAY ? "" : "'";
        snprintf(name, sizeof(name), "%s %s%s%s", scope_names[account->scope], quote, account->name, quote);
    }
    write_amount(limit_text, sizeof(limit_text), account->limit, account->limit);
    write_amount(left_text, sizeof(left_text), account->limit, left);
    write_amount(needs_text, sizeof(needs_text), account->limit, amount);
    atoll_err_set(err, code, "budget of %s: of %s there are %s left, the call may take %s", name, limit_text,
                  left_text, needs_text);
    return atoll_err_add(err, "%s",
                         code == ATOLL_E_BUSY ? "what is left is held by calls in flight and may come back"
                         : account->scope == ATOLL_SCOPE_DAY ? "more comes at the next midnight UTC"
                                                             : "raise the limit to spend more");
}

/* ---- reserving and settling ---- */

int atoll_spending_reserve(struct atoll_spending *spending, const struct atoll_spending_purpose *purpose,
                           atoll_nanousd money, uint64_t tokens, int64_t unix_ns, uint64_t *ret_reservation,
                           struct atoll_err *err)
{
    struct reservation made = {.number = spending->next_number,
                               .amount = {least(money, AMOUNT_MOST), least(tokens, AMOUNT_MOST)},
                               .request = purpose->request,
                               .unix_ns = unix_ns};
    const struct atoll_spending_account *busy = NULL;
    char day[32];
    write_day(unix_ns, day);
    if (find_accounts(spending, purpose->campaign ? purpose->campaign : "",
                      purpose->task ? purpose->task : "", purpose->model ? purpose->model : "", day,
                      made.accounts, err)) {
        return -1;
    }
    for (int scope = 0; scope < ATOLL_SCOPE_COUNT; scope++) {
        const struct atoll_spending_account *account = &spending->accounts[made.accounts[scope]];
        struct atoll_spending_amount used = firm_of(account);
        if (!fits(account, used, made.amount))
            return refuse(account, made.amount, ATOLL_E_LIMIT, err);
        add(&used, account->reserved);
        if (!fits(account, used, made.amount))
            busy = account;
    }
    if (busy)
        return refuse(busy, made.amount, ATOLL_E_BUSY, err);
    if (atoll_array_reserve(&spending->open, &spending->open_capacity, spending->open_count + 1,
                            sizeof(*spending->open), err))
        return atoll_err_add(err, "reservations of the budget");
    for (int scope = 0; scope < ATOLL_SCOPE_COUNT; scope++)
        add(&spending->accounts[made.accounts[scope]].reserved, made.amount);
    spending->open[spending->open_count++] = made;
    spending->next_number++;
    spending->is_dirty = 1;
    *ret_reservation = made.number;
    return 0;
}

int atoll_spending_settle(struct atoll_spending *spending, uint64_t reservation, atoll_nanousd money,
                          uint64_t tokens, struct atoll_err *err)
{
    size_t low = 0, high = spending->open_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (spending->open[middle].number < reservation)
            low = middle + 1;
        else
            high = middle;
    }
    struct reservation *it = low < spending->open_count ? &spending->open[low] : NULL;
    if (!it || it->number != reservation || it->is_settled) {
        return atoll_err_set(err, ATOLL_E_NOTFOUND, "reservation %llu is not open",
                             (unsigned long long)reservation);
    }
    it->is_settled = 1;
    it->spent = (struct atoll_spending_amount){least(money, AMOUNT_MOST), least(tokens, AMOUNT_MOST)};
    struct atoll_spending_amount excess = it->spent;
    subtract(&excess, it->amount);
    for (int scope = 0; scope < ATOLL_SCOPE_COUNT; scope++) {
        struct atoll_spending_account *account = &spending->accounts[it->accounts[scope]];
        subtract(&account->reserved, it->amount);
        add(&account->spent, it->spent);
        add(&account->excess, excess);
        account->calls++;
        account->is_dirty = 1;
    }
    spending->is_dirty = 1;
    return 0;
}

/* ---- the file ---- */

int atoll_spending_is_dirty(const struct atoll_spending *spending)
{
    return spending->is_dirty;
}

static void bind_text(sqlite3_stmt *statement, int at, const char *text)
{
    sqlite3_bind_text(statement, at, text, -1, SQLITE_TRANSIENT);
}

static void bind_amount(sqlite3_stmt *statement, int at, struct atoll_spending_amount amount)
{
    sqlite3_bind_int64(statement, at, (sqlite3_int64)least(amount.money, AMOUNT_MOST));
    sqlite3_bind_int64(statement, at + 1, (sqlite3_int64)least(amount.tokens, AMOUNT_MOST));
}

static int write_reservation(struct atoll_spending *spending, const struct reservation *it,
                             struct atoll_err *err)
{
    sqlite3_stmt *statement = it->is_stored ? spending->settle : spending->insert;
    sqlite3_bind_int64(statement, 1, (sqlite3_int64)it->number);
    bind_text(statement, 2, it->is_settled ? "settled" : "open");
    if (it->is_settled)
        bind_amount(statement, 3, it->spent);
    if (!it->is_stored) {
        sqlite3_bind_blob(statement, 5, it->request.bytes, sizeof(it->request.bytes), SQLITE_TRANSIENT);
        bind_text(statement, 6, spending->accounts[it->accounts[ATOLL_SCOPE_CAMPAIGN]].name);
        bind_text(statement, 7, spending->accounts[it->accounts[ATOLL_SCOPE_TASK]].task);
        bind_text(statement, 8, spending->accounts[it->accounts[ATOLL_SCOPE_MODEL]].name);
        bind_text(statement, 9, spending->accounts[it->accounts[ATOLL_SCOPE_DAY]].name);
        bind_amount(statement, 10, it->amount);
        sqlite3_bind_int64(statement, 12, atoll_database_epoch(spending->database));
        sqlite3_bind_int64(statement, 13, it->unix_ns);
    }
    return atoll_database_step(spending->database, statement, err);
}

int atoll_spending_write(struct atoll_spending *spending, struct atoll_err *err)
{
    for (size_t i = 0; i < spending->open_count; i++) {
        const struct reservation *it = &spending->open[i];
        if ((!it->is_stored || it->is_settled) && write_reservation(spending, it, err))
            return -1;
    }
    for (size_t i = 0; i < spending->account_count; i++) {
        const struct atoll_spending_account *account = &spending->accounts[i];
        sqlite3_stmt *statement = spending->spend;
        if (!account->is_dirty)
            continue;
        bind_text(statement, 1, scope_names[account->scope]);
        bind_text(statement, 2, account->name);
        bind_text(statement, 3, account->task);
        bind_amount(statement, 4, account->spent);
        bind_amount(statement, 6, account->excess);
        sqlite3_bind_int64(statement, 8, (sqlite3_int64)account->calls);
        if (atoll_database_step(spending->database, statement, err))
            return -1;
    }
    return 0;
}

void atoll_spending_written(struct atoll_spending *spending)
{
    uint32_t kept = 0;
    for (size_t i = 0; i < spending->open_count; i++) {
        if (!spending->open[i].is_settled) {
            spending->open[kept] = spending->open[i];
            spending->open[kept++].is_stored = 1;
        }
    }
    spending->open_count = kept;
    for (size_t i = 0; i < spending->account_count; i++)
        spending->accounts[i].is_dirty = 0;
    spending->is_dirty = 0;
}

static struct atoll_spending_amount column_amount(sqlite3_stmt *statement, int at)
{
    sqlite3_int64 money = sqlite3_column_int64(statement, at),
                  tokens = sqlite3_column_int64(statement, at + 1);
    return (struct atoll_spending_amount){money > 0 ? (uint64_t)money : 0, tokens > 0 ? (uint64_t)tokens : 0};
}

static const char *column_text(sqlite3_stmt *statement, int at)
{
    const unsigned char *text = sqlite3_column_text(statement, at);
    return text ? (const char *)text : "";
}

static int read_spend(struct atoll_spending *spending, struct atoll_err *err)
{
    int got;
    sqlite3_stmt *statement =
        atoll_database_prepare(spending->database,
                               "SELECT scope, name, task, money, tokens, excess_money, excess_tokens, calls "
                               "FROM spend",
                               err);
    if (!statement)
        return -1;
    while ((got = atoll_database_step(spending->database, statement, err)) == 1) {
        int scope = 0;
        while (scope < ATOLL_SCOPE_COUNT && strcmp(scope_names[scope], column_text(statement, 0)) != 0)
            scope++;
        long at = scope < ATOLL_SCOPE_COUNT
                      ? find_account(spending, (enum atoll_spending_scope)scope, column_text(statement, 1),
                                     column_text(statement, 2), err)
                      : atoll_err_set(err, ATOLL_E_CORRUPT, "%s: spend of '%.40s'",
                                      atoll_database_path(spending->database), column_text(statement, 0));
        if (at < 0)
            return -1;
        struct atoll_spending_account *account = &spending->accounts[at];
        account->spent = column_amount(statement, 3);
        account->excess = column_amount(statement, 5);
        account->calls = (uint64_t)sqlite3_column_int64(statement, 7);
    }
    return got;
}

static int read_unknown(struct atoll_spending *spending, struct atoll_err *err)
{
    int got;
    sqlite3_stmt *statement = atoll_database_prepare(
        spending->database,
        "SELECT campaign, task, model, day, money, tokens FROM reservations WHERE state <> 'settled'", err);
    if (!statement)
        return -1;
    while ((got = atoll_database_step(spending->database, statement, err)) == 1) {
        uint32_t accounts[ATOLL_SCOPE_COUNT];
        if (find_accounts(spending, column_text(statement, 0), column_text(statement, 1),
                          column_text(statement, 2), column_text(statement, 3), accounts, err)) {
            return -1;
        }
        for (int scope = 0; scope < ATOLL_SCOPE_COUNT; scope++) {
            add(&spending->accounts[accounts[scope]].unknown, column_amount(statement, 4));
            spending->accounts[accounts[scope]].unknown_calls++;
        }
    }
    return got;
}

/* For whoever reads a copy, and for `atoll gateway spend`: limits of which nothing was spent yet are there, too. */
static int write_limits(struct atoll_spending *spending, struct atoll_err *err)
{
    sqlite3_stmt *statement = atoll_database_prepare(
        spending->database, "INSERT OR REPLACE INTO limits VALUES(?1, ?2, ?3, ?4)", err);
    if (!statement || atoll_database_run(spending->database, "DELETE FROM limits", err))
        return -1;
    for (size_t i = 0; i < spending->limit_count; i++) {
        const struct atoll_spending_limit *limit = &spending->limits[i];
        bind_text(statement, 1, scope_names[limit->scope]);
        bind_text(statement, 2, limit->name);
        if (limit->money != UINT64_MAX)
            sqlite3_bind_int64(statement, 3, (sqlite3_int64)least(limit->money, AMOUNT_MOST));
        if (limit->tokens != UINT64_MAX)
            sqlite3_bind_int64(statement, 4, (sqlite3_int64)least(limit->tokens, AMOUNT_MOST));
        if (atoll_database_step(spending->database, statement, err))
            return -1;
    }
    return 0;
}

static int load(struct atoll_spending *spending, struct atoll_err *err)
{
    struct atoll_database *database = spending->database;
    sqlite3_stmt *last = atoll_database_prepare(database, "SELECT max(number) FROM reservations", err);
    spending->insert = atoll_database_prepare(
        database,
        "INSERT OR REPLACE INTO reservations(number, state, spent_money, spent_tokens, request, campaign, "
        "task, model, "
        "day, money, tokens, epoch, unix_ns) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        err);
    spending->settle = atoll_database_prepare(
        database, "UPDATE reservations SET state = ?2, spent_money = ?3, spent_tokens = ?4 WHERE number = ?1",
        err);
    spending->spend = atoll_database_prepare(
        database, "INSERT OR REPLACE INTO spend VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)", err);
    if (!last || !spending->insert || !spending->settle || !spending->spend ||
        atoll_database_step(database, last, err) != 1) {
        return -1;
    }
    spending->next_number = (uint64_t)sqlite3_column_int64(last, 0) + 1;
    sqlite3_finalize(last);
    if (atoll_database_begin(database, err))
        return -1;
    if (atoll_database_run(database, "UPDATE reservations SET state = 'unknown' WHERE state = 'open'", err) ||
        write_limits(spending, err) || read_spend(spending, err) || read_unknown(spending, err)) {
        atoll_database_rollback(database);
        return -1;
    }
    return atoll_database_commit(database, err);
}

struct atoll_spending *atoll_spending_open(struct atoll_database *database,
                                           const struct atoll_spending_limit *limits, size_t limit_count,
                                           struct atoll_err *err)
{
    if (limit_count > ATOLL_SPENDING_LIMIT_COUNT) {
        atoll_err_set(err, ATOLL_E_INPUT, "%zu limits; at most %d", limit_count, ATOLL_SPENDING_LIMIT_COUNT);
        return NULL;
    }
    struct atoll_spending *spending = calloc(1, sizeof(*spending));
    if (!spending) {
        atoll_err_set(err, ATOLL_E_MEMORY, "%s: no memory for its budget", atoll_database_path(database));
        return NULL;
    }
    spending->database = database;
    spending->limit_count = limit_count;
    if (limit_count)
        memcpy(spending->limits, limits, limit_count * sizeof(*limits));
    if (load(spending, err) == 0)
        return spending;
    atoll_spending_close(spending);
    return NULL;
}

void atoll_spending_close(struct atoll_spending *spending)
{
    if (!spending)
        return;
    atoll_index_fini(&spending->index);
    free(spending->accounts);
    free(spending->open);
    free(spending);
}

/* ---- for people ---- */

const struct atoll_spending_account *atoll_spending_accounts(const struct atoll_spending *spending,
                                                             size_t *ret_count)
{
    *ret_count = spending->account_count;
    return spending->accounts;
}

const struct atoll_spending_limit *atoll_spending_limits(const struct atoll_spending *spending,
                                                         size_t *ret_count)
{
    *ret_count = spending->limit_count;
    return spending->limits;
}

void atoll_spending_sum(const struct atoll_spending *spending, struct atoll_spending_account *ret_sum)
{
    *ret_sum = (struct atoll_spending_account){.limit = {UINT64_MAX, UINT64_MAX}};
    for (size_t i = 0; i < spending->account_count; i++) {
        const struct atoll_spending_account *account = &spending->accounts[i];
        if (account->scope == ATOLL_SCOPE_CAMPAIGN) {
            add(&ret_sum->spent, account->spent);
            add(&ret_sum->reserved, account->reserved);
            add(&ret_sum->unknown, account->unknown);
            add(&ret_sum->excess, account->excess);
            ret_sum->calls += account->calls;
            ret_sum->unknown_calls += account->unknown_calls;
        }
    }
}
