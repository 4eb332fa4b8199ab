/* spending_line.c - the tables behind a ledger. */
#include "llm-gateway/budget/spending_line.h"

#include <stdlib.h>
#include <string.h>

/* Room for one more item of size bytes; capacity doubles. */
static int make_room(void **items, size_t count, size_t *capacity, size_t size, struct atoll_err *err)
{
    if (count < *capacity)
        return 0;
    size_t wanted = *capacity ? *capacity * 2 : 32;
    void *grown = realloc(*items, wanted * size);
    if (!grown)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a ledger's %zu entries", wanted);
    *items = grown;
    *capacity = wanted;
    return 0;
}

int atoll_spending_line_holder(struct atoll_spending_ledger *ledger, uint64_t number, const char *name,
                               struct atoll_err *err)
{
    if (number != ledger->holder_count + 1 || atoll_spending_ledger_holder(ledger, name))
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "holder '%s' comes twice or out of order", name);
    if (number > ATOLL_SPENDING_HOLDER_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "more than %d holders; begin another folder",
                             ATOLL_SPENDING_HOLDER_LIMIT);
    void *items = ledger->holders;
    if (make_room(&items, ledger->holder_count, &ledger->holder_capacity, sizeof *ledger->holders, err) != 0)
        return -1;
    ledger->holders = items;
    struct atoll_spending_holder *holder = &ledger->holders[ledger->holder_count++];
    memset(holder, 0, sizeof *holder);
    memcpy(holder->name, name, strlen(name)); /* read into an array of that size */
    return 0;
}

uint64_t atoll_spending_ledger_holder(const struct atoll_spending_ledger *ledger, const char *name)
{
    for (size_t i = 0; i < ledger->holder_count; i++)
        if (strcmp(ledger->holders[i].name, name) == 0)
            return i + 1;
    return 0;
}

int atoll_spending_line_account(struct atoll_spending_ledger *ledger,
                                const struct atoll_spending_account *account, struct atoll_err *err)
{
    void *items = ledger->lines;
    size_t count = ledger->accounts.count;
    if (atoll_spending_register_find(&ledger->accounts, account) >= 0)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "an account comes twice");
    if (make_room(&items, count, &ledger->line_capacity, sizeof *ledger->lines, err) != 0)
        return -1;
    ledger->lines = items;
    if (atoll_spending_register_add(&ledger->accounts, account, err) < 0)
        return -1;
    ledger->lines[count] = (struct atoll_spending_line){
        .limit = atoll_spending_limit_of(account, ledger->limits, ledger->limit_count)};
    return 0;
}

static int check(const struct atoll_spending_ledger *ledger, uint64_t holder, uint32_t account,
                 struct atoll_err *err)
{
    if (holder == 0 || holder > ledger->holder_count)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "holder %llu is not there", (unsigned long long)holder);
    if (account >= ledger->accounts.count)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "account %lu is not there", (unsigned long)account);
    return 0;
}

static struct atoll_spending_grant *find_grant(const struct atoll_spending_ledger *ledger, uint64_t holder,
                                               uint32_t account)
{
    uint32_t at = ledger->lines[account].first_grant;
    while (at && ledger->grants[at - 1].holder != holder)
        at = ledger->grants[at - 1].next;
    return at ? &ledger->grants[at - 1] : NULL;
}

struct atoll_spending_amount atoll_spending_ledger_granted(const struct atoll_spending_ledger *ledger,
                                                           uint64_t holder, uint32_t account)
{
    const struct atoll_spending_grant *grant = find_grant(ledger, holder, account);
    return grant ? grant->amount : (struct atoll_spending_amount){0, 0};
}

static struct atoll_spending_grant *add_grant(struct atoll_spending_ledger *ledger, uint64_t holder,
                                              uint32_t account, struct atoll_err *err)
{
    void *items = ledger->grants;
    if (ledger->grant_count >= UINT32_MAX - 1 ||
        make_room(&items, ledger->grant_count, &ledger->grant_capacity, sizeof *ledger->grants, err) != 0)
        return NULL;
    ledger->grants = items;
    struct atoll_spending_grant *grant = &ledger->grants[ledger->grant_count++];
    *grant = (struct atoll_spending_grant){.holder = holder, .next = ledger->lines[account].first_grant};
    ledger->lines[account].first_grant = (uint32_t)ledger->grant_count;
    return grant;
}

static void drop_want(struct atoll_spending_ledger *ledger, size_t index)
{
    ledger->wants[index] = ledger->wants[--ledger->want_count];
}

static void serve_wants(struct atoll_spending_ledger *ledger, uint64_t giver, uint32_t account,
                        struct atoll_spending_amount given)
{
    for (size_t i = 0; i < ledger->want_count;) {
        struct atoll_spending_want *want = &ledger->wants[i];
        if (want->account == account && want->holder != giver) {
            struct atoll_spending_amount part = atoll_spending_least(want->amount, given);
            want->amount = atoll_spending_minus(want->amount, part);
            given = atoll_spending_minus(given, part);
        }
        if (atoll_spending_is_zero(want->amount))
            drop_want(ledger, i);
        else
            i++;
    }
}

static void end_want(struct atoll_spending_ledger *ledger, uint64_t holder, uint32_t account, int is_every)
{
    for (size_t i = 0; i < ledger->want_count;)
        if (ledger->wants[i].holder == holder && (is_every || ledger->wants[i].account == account))
            drop_want(ledger, i);
        else
            i++;
}

/* The total is added up again: it saturates, so it could not be counted down. */
static void add_up(struct atoll_spending_ledger *ledger, uint32_t account)
{
    struct atoll_spending_amount sum = {0, 0};
    for (uint32_t at = ledger->lines[account].first_grant; at; at = ledger->grants[at - 1].next)
        sum = atoll_spending_plus(sum, ledger->grants[at - 1].amount);
    ledger->lines[account].granted = sum;
}

int atoll_spending_line_grant(struct atoll_spending_ledger *ledger, uint64_t holder, uint32_t account,
                              struct atoll_spending_amount amount, struct atoll_err *err)
{
    if (check(ledger, holder, account, err) != 0)
        return -1;
    struct atoll_spending_grant *grant = find_grant(ledger, holder, account);
    if (!grant && !(grant = add_grant(ledger, holder, account, err)))
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for another grant");
    struct atoll_spending_amount given = atoll_spending_minus(grant->amount, amount);
    int is_raised = !atoll_spending_is_zero(atoll_spending_minus(amount, grant->amount));
    grant->amount = amount;
    add_up(ledger, account);
    if (is_raised)
        end_want(ledger, holder, account, 0);
    if (!atoll_spending_is_zero(given))
        serve_wants(ledger, holder, account, given);
    return 0;
}

int atoll_spending_line_want(struct atoll_spending_ledger *ledger, const struct atoll_spending_want *want,
                             struct atoll_err *err)
{
    if (check(ledger, want->holder, want->account, err) != 0)
        return -1;
    end_want(ledger, want->holder, want->account, 0);
    if (ledger->want_count < ATOLL_SPENDING_WANT_LIMIT) /* beyond: nobody hears it; it is asked again */
        ledger->wants[ledger->want_count++] = *want;
    return 0;
}

int atoll_spending_line_activity(struct atoll_spending_ledger *ledger, uint64_t holder, int is_active,
                                 struct atoll_err *err)
{
    if (holder == 0 || holder > ledger->holder_count)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "holder %llu is not there", (unsigned long long)holder);
    ledger->holders[holder - 1].is_active = is_active;
    ledger->holders[holder - 1].has_joined |= is_active;
    end_want(ledger, holder, 0, 1);
    return 0;
}
