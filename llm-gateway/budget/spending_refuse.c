/* spending_refuse.c - why a reservation is not given: LIMIT when nothing that is still open could make room for it, BUSY
 * when calls in flight or other holders' grants may. */
#include <stdio.h>

#include "llm-gateway/budget/spending_inside.h"

/* Spent or unknown, by whoever: this does not come back. */
static struct atoll_spending_amount firm_of(struct atoll_spending *spending, uint32_t account,
                                            const struct atoll_spending_grant *grant)
{
    const struct atoll_spending_ledger *ledger = spending->ledger;
    struct atoll_spending_amount nothing = {0, 0};
    if (grant->holder != spending->self && !ledger->holders[grant->holder - 1].is_active)
        return grant->amount;
    struct atoll_spending_book *book = grant->holder == spending->self
                                           ? &spending->journal->book
                                           : atoll_spending_peer_book(spending, grant->holder, NULL);
    long own = book ? atoll_spending_register_find(&book->accounts, &ledger->accounts.items[account]) : -1;
    if (own < 0)
        return nothing;
    return atoll_spending_plus(book->usages[own].spent, book->usages[own].unknown);
}

static struct atoll_spending_amount left_of(struct atoll_spending *spending, uint32_t account)
{
    const struct atoll_spending_line *line = &spending->ledger->lines[account];
    struct atoll_spending_amount firm = {0, 0};
    for (uint32_t at = line->first_grant; at; at = spending->ledger->grants[at - 1].next)
        firm = atoll_spending_plus(firm, firm_of(spending, account, &spending->ledger->grants[at - 1]));
    return atoll_spending_minus(line->limit, firm);
}

static void say_amount(char *ret_text, size_t bytes, struct atoll_spending_amount limit,
                       struct atoll_spending_amount amount)
{
    char money[32];
    atoll_spending_say_money(amount.money, money);
    if (limit.tokens == UINT64_MAX)
        snprintf(ret_text, bytes, "%s USD", money);
    else if (limit.money == UINT64_MAX)
        snprintf(ret_text, bytes, "%llu tokens", (unsigned long long)amount.tokens);
    else
        snprintf(ret_text, bytes, "%s USD and %llu tokens", money, (unsigned long long)amount.tokens);
}

static int say(const struct atoll_spending *spending, uint32_t account, struct atoll_spending_amount amount,
               struct atoll_spending_amount left, enum atoll_code code, struct atoll_err *err)
{
    char name[300], limit_text[96], left_text[96], needs_text[96];
    const struct atoll_spending_account *about = &spending->ledger->accounts.items[account];
    struct atoll_spending_amount limit = spending->ledger->lines[account].limit;
    atoll_spending_say_account(about, name);
    say_amount(limit_text, sizeof limit_text, limit, limit);
    say_amount(left_text, sizeof left_text, limit, left);
    say_amount(needs_text, sizeof needs_text, limit, amount);
    atoll_err_set(err, code, "budget of %s: of %s there are %s left, the call may take %s", name, limit_text,
                  left_text, needs_text);
    if (code == ATOLL_E_BUSY)
        return atoll_err_add(
            err, "what is left is held by calls in flight or by other gateways and may come back");
    return about->scope == ATOLL_SCOPE_DAY ? atoll_err_add(err, "more comes at the next midnight UTC")
                                           : atoll_err_add(err, "raise the limit to spend more");
}

static int is_wanted_already(const struct atoll_spending *spending, uint32_t account,
                             struct atoll_spending_amount amount)
{
    const struct atoll_spending_ledger *ledger = spending->ledger;
    for (size_t i = 0; i < ledger->want_count; i++)
        if (ledger->wants[i].holder == spending->self && ledger->wants[i].account == account)
            return atoll_spending_fits(amount, ledger->wants[i].amount);
    return 0;
}

/* Whether another living holder has something of this account. */
static int others_have(const struct atoll_spending *spending, uint32_t account)
{
    const struct atoll_spending_ledger *ledger = spending->ledger;
    for (uint32_t at = ledger->lines[account].first_grant; at; at = ledger->grants[at - 1].next)
        if (ledger->grants[at - 1].holder != spending->self &&
            ledger->holders[ledger->grants[at - 1].holder - 1].is_active)
            return 1;
    return 0;
}

int atoll_spending_refuse(struct atoll_spending *spending,
                          const struct atoll_spending_place places[ATOLL_SCOPE_COUNT],
                          struct atoll_spending_amount amount, struct atoll_err *err)
{
    struct atoll_spending_ledger *ledger = spending->ledger;
    struct atoll_spending_amount busy_left = {0, 0};
    long busy = -1;
    for (int i = 0; i < ATOLL_SCOPE_COUNT; i++) {
        uint32_t account = (uint32_t)places[i].in_ledger;
        const struct atoll_spending_line *line = &ledger->lines[account];
        struct atoll_spending_amount lack = atoll_spending_lack(spending, &places[i], amount);
        struct atoll_spending_amount room = atoll_spending_minus(line->limit, line->granted);
        if (atoll_spending_fits(lack, room))
            continue;
        struct atoll_spending_amount left = left_of(spending, account);
        if (!atoll_spending_fits(amount, left))
            return say(spending, account, amount, left, ATOLL_E_LIMIT, err);
        busy = account;
        busy_left = left;
        lack = atoll_spending_minus(lack, room);
        if (others_have(spending, account) && !is_wanted_already(spending, account, lack) &&
            atoll_spending_ledger_put_want(ledger, account, lack, spending->unix_ns, err) != 0)
            return -1;
    }
    atoll_spending_ledger_commit(ledger, NULL); /* unheard, a want is said again */
    return say(spending, (uint32_t)busy, amount, busy_left, ATOLL_E_BUSY, err);
}
