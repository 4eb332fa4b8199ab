/* spending_account.h - what a limit is about: one campaign, one task of it, one model, one day; and amounts.
 * Layer: llm-gateway.  Accounts get numbers from 0 in the order of their first use. */
#ifndef ATOLL_LLM_GATEWAY_BUDGET_SPENDING_ACCOUNT_H
#define ATOLL_LLM_GATEWAY_BUDGET_SPENDING_ACCOUNT_H

#include "base/buffer.h"
#include "llm-gateway/budget/spending.h"

#define ATOLL_SPENDING_NAME_BYTES    128 /* with the NUL */
#define ATOLL_SPENDING_ACCOUNT_LIMIT 65536

struct atoll_spending_amount {
    atoll_nanousd money;
    uint64_t tokens;
};
struct atoll_spending_amount atoll_spending_plus(struct atoll_spending_amount a,
                                                 struct atoll_spending_amount b); /* saturates */
struct atoll_spending_amount atoll_spending_minus(struct atoll_spending_amount a,
                                                  struct atoll_spending_amount b); /* not below 0 */
struct atoll_spending_amount atoll_spending_least(struct atoll_spending_amount a,
                                                  struct atoll_spending_amount b);
struct atoll_spending_amount atoll_spending_most(struct atoll_spending_amount a,
                                                 struct atoll_spending_amount b);
int atoll_spending_fits(struct atoll_spending_amount a, struct atoll_spending_amount room); /* both parts */
int atoll_spending_is_zero(struct atoll_spending_amount a);
int atoll_spending_same(struct atoll_spending_amount a, struct atoll_spending_amount b);
void atoll_spending_put_amount(struct atoll_buffer *out, struct atoll_spending_amount amount);
struct atoll_spending_amount atoll_spending_take_amount(struct atoll_reader *in);
/* "12.5 USD and 1000 tokens", only the parts that are limited; room for it is 96 bytes. */
void atoll_spending_say_money(atoll_nanousd money, char ret_text[32]);

struct atoll_spending_account {
    enum atoll_spending_scope scope;
    char name[ATOLL_SPENDING_NAME_BYTES]; /* campaign, model, or "2026-11-21" */
    char task[ATOLL_SPENDING_NAME_BYTES]; /* of TASK, else "" */
};

/* The four accounts of a purpose at a time, in the order of the scopes.  INPUT: a name is too long. */
int atoll_spending_accounts_of(const struct atoll_spending_purpose *purpose, int64_t unix_ns,
                               struct atoll_spending_account ret_accounts[ATOLL_SCOPE_COUNT],
                               struct atoll_err *err);
void atoll_spending_put_account(struct atoll_buffer *out, const struct atoll_spending_account *account);
void atoll_spending_take_account(struct atoll_reader *in, struct atoll_spending_account *ret_account);
/* "task 'a' of campaign 'b'" */
void atoll_spending_say_account(const struct atoll_spending_account *account, char ret_text[300]);
/* What all limits that speak of it allow together: the least. */
struct atoll_spending_amount atoll_spending_limit_of(const struct atoll_spending_account *account,
                                                     const struct atoll_spending_limit *limits, size_t count);

/* Numbers of accounts. */
struct atoll_spending_register {
    struct atoll_spending_account *items;
    uint32_t *slots; /* number + 1, 0 free; a power of two of them */
    size_t count, capacity, slot_count;
};
void atoll_spending_register_fini(struct atoll_spending_register *reg);
/* -1: not there. */
long atoll_spending_register_find(const struct atoll_spending_register *reg,
                                  const struct atoll_spending_account *account);
/* Its number, new or not; -1 LIMIT, MEMORY. */
long atoll_spending_register_add(struct atoll_spending_register *reg,
                                 const struct atoll_spending_account *account, struct atoll_err *err);
void atoll_spending_register_drop(struct atoll_spending_register *reg); /* the last one added */

#endif
