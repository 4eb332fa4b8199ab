/* spending_view.c - the ledger first, then each holder's journal as far as it goes: what a row lacks was spent in between. */
#include "llm-gateway/budget/spending_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llm-gateway/budget/spending_cover.h"

const char *atoll_spending_holder_state_name(enum atoll_spending_holder_state state)
{
    static const char *const names[ATOLL_SPENDING_HOLDER_STATE_COUNT] = {"lives", "killed", "left", "lost"};
    return (unsigned)state < ATOLL_SPENDING_HOLDER_STATE_COUNT ? names[state] : "unknown";
}

/* ---- holders ---- */

static void figures_add(struct atoll_spending_view_row *row, const struct atoll_spending_usage *usage,
                        int is_dead)
{
    const struct atoll_spending_amount *reserved = &usage->reserved;
    row->money.spent += usage->spent.money;
    row->tokens.spent += usage->spent.tokens;
    row->money.unknown += usage->unknown.money + (is_dead ? reserved->money : 0);
    row->tokens.unknown += usage->unknown.tokens + (is_dead ? reserved->tokens : 0);
    row->money.reserved += is_dead ? 0 : reserved->money;
    row->tokens.reserved += is_dead ? 0 : reserved->tokens;
}

/* Rows are still in the order of the ledger's accounts. */
static void rows_add(struct atoll_spending_view *view, const struct atoll_spending_ledger *ledger,
                     const struct atoll_spending_book *book, int is_dead)
{
    for (size_t i = 0; i < book->accounts.count; i++) {
        long row = atoll_spending_register_find(&ledger->accounts, &book->accounts.items[i]);
        if (row >= 0)
            figures_add(&view->rows[row], &book->usages[i], is_dead);
    }
}

static void rows_add_granted(struct atoll_spending_view *view, const struct atoll_spending_ledger *ledger,
                             uint64_t holder)
{
    for (uint32_t i = 0; i < ledger->accounts.count; i++) {
        struct atoll_spending_amount granted = atoll_spending_ledger_granted(ledger, holder, i);
        view->rows[i].money.spent += granted.money;
        view->rows[i].tokens.spent += granted.tokens;
    }
}

static struct atoll_spending_journal *
journal_read(const char *folder, const struct atoll_spending_ledger *ledger, uint64_t holder)
{
    char path[4096];
    struct atoll_spending_journal *journal;
    if ((size_t)snprintf(path, sizeof path, "%s/holders/%s.atl", folder, ledger->holders[holder - 1].name) >=
        sizeof path)
        return NULL;
    journal = atoll_spending_journal_open(path, ATOLL_FRAME_FILE_READ, atoll_frame_file_number(ledger->file),
                                          holder, NULL, NULL);
    if (journal && atoll_spending_journal_read(journal, 1, NULL) == 0)
        return journal;
    atoll_spending_journal_close(journal);
    return NULL;
}

static void sum_of_dead(struct atoll_spending_sum *sum)
{
    sum->unknown_money += sum->reserved_money;
    sum->unknown_tokens += sum->reserved_tokens;
    sum->reserved_money = sum->reserved_tokens = 0;
}

static void holder_read(struct atoll_spending_view *view, const char *folder,
                        const struct atoll_spending_ledger *ledger, uint64_t number)
{
    const struct atoll_spending_holder *about = &ledger->holders[number - 1];
    struct atoll_spending_view_holder *holder = &view->holders[number - 1];
    struct atoll_spending_journal *journal = journal_read(folder, ledger, number);
    char boot[ATOLL_BOOT_BYTES];
    memcpy(holder->name, about->name, sizeof holder->name);
    if (!journal) {
        holder->state = about->has_joined ? ATOLL_SPENDING_HOLDER_LOST : ATOLL_SPENDING_HOLDER_LEFT;
        rows_add_granted(view, ledger, number);
        return;
    }
    int lives = atoll_frame_file_is_locked(journal->file);
    holder->state = lives              ? ATOLL_SPENDING_HOLDER_LIVES
                    : about->is_active ? ATOLL_SPENDING_HOLDER_KILLED
                                       : ATOLL_SPENDING_HOLDER_LEFT;
    if (!lives) {
        atoll_boot_id(boot);
        atoll_spending_cover_presume(ledger, journal, boot);
    }
    holder->sum = journal->book.sum;
    if (!lives)
        sum_of_dead(&holder->sum);
    rows_add(view, ledger, &journal->book, !lives);
    atoll_spending_journal_close(journal);
}

/* ---- rows ---- */

static uint64_t left_of(const struct atoll_spending_figures *f)
{
    uint64_t used = f->spent + f->reserved + f->unknown;
    return f->limit == UINT64_MAX ? UINT64_MAX : f->limit > used ? f->limit - used : 0;
}

static void row_begin(struct atoll_spending_view_row *row, const struct atoll_spending_account *account,
                      struct atoll_spending_amount limit, struct atoll_spending_amount granted)
{
    memset(row, 0, sizeof *row);
    row->scope = account->scope;
    memcpy(row->name, account->name, sizeof row->name);
    memcpy(row->task, account->task, sizeof row->task);
    row->money.limit = limit.money;
    row->tokens.limit = limit.tokens;
    row->money.granted = granted.money;
    row->tokens.granted = granted.tokens;
}

/* A limit of something that was never asked for is worth a row, too. */
static int is_met(const struct atoll_spending_ledger *ledger, const struct atoll_spending_limit *limit)
{
    for (size_t i = 0; i < ledger->accounts.count; i++) {
        const struct atoll_spending_account *account = &ledger->accounts.items[i];
        const char *name = account->scope == ATOLL_SCOPE_TASK ? account->task : account->name;
        if (account->scope == limit->scope && strcmp(name, limit->name) == 0)
            return 1;
    }
    return !*limit->name;
}

static void rows_begin(struct atoll_spending_view *view, const struct atoll_spending_ledger *ledger)
{
    for (size_t i = 0; i < ledger->accounts.count; i++)
        row_begin(&view->rows[view->row_count++], &ledger->accounts.items[i], ledger->lines[i].limit,
                  ledger->lines[i].granted);
    for (size_t i = 0; i < ledger->limit_count; i++) {
        const struct atoll_spending_limit *limit = &ledger->limits[i];
        struct atoll_spending_account account = {.scope = limit->scope};
        char *name = limit->scope == ATOLL_SCOPE_TASK ? account.task : account.name;
        memcpy(name, limit->name, sizeof limit->name);
        if (!is_met(ledger, limit))
            row_begin(&view->rows[view->row_count++], &account,
                      (struct atoll_spending_amount){limit->money, limit->tokens},
                      (struct atoll_spending_amount){0, 0});
    }
}

/* Stable: the ledger's order stays within a scope. */
static int rows_sort(struct atoll_spending_view *view)
{
    struct atoll_spending_view_row *sorted = calloc(view->row_count + 1, sizeof *sorted);
    size_t count = 0;
    if (!sorted)
        return -1;
    for (int scope = 0; scope < ATOLL_SCOPE_COUNT; scope++)
        for (size_t i = 0; i < view->row_count; i++)
            if (view->rows[i].scope == (enum atoll_spending_scope)scope)
                sorted[count++] = view->rows[i];
    free(view->rows);
    view->rows = sorted;
    return 0;
}

static int view_fill(struct atoll_spending_view *view, const char *folder,
                     const struct atoll_spending_ledger *ledger)
{
    view->rows = calloc(ledger->accounts.count + ledger->limit_count + 1, sizeof *view->rows);
    view->holders = calloc(ledger->holder_count + 1, sizeof *view->holders);
    if (!view->rows || !view->holders)
        return -1;
    rows_begin(view, ledger);
    view->holder_count = ledger->holder_count;
    for (uint64_t number = 1; number <= ledger->holder_count; number++)
        holder_read(view, folder, ledger, number);
    for (size_t i = 0; i < view->row_count; i++) {
        view->rows[i].money.left = left_of(&view->rows[i].money);
        view->rows[i].tokens.left = left_of(&view->rows[i].tokens);
    }
    return rows_sort(view);
}

struct atoll_spending_view *atoll_spending_view_read(const char *folder,
                                                     const struct atoll_spending_limit *limits,
                                                     size_t limit_count, struct atoll_err *err)
{
    char path[4096];
    if ((size_t)snprintf(path, sizeof path, "%s/ledger.atl", folder) >= sizeof path) {
        atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s...", folder);
        return NULL;
    }
    struct atoll_spending_ledger *ledger = atoll_spending_ledger_look(path, limits, limit_count, err);
    if (!ledger)
        return NULL;
    struct atoll_spending_view *view = calloc(1, sizeof *view);
    if (!view || view_fill(view, folder, ledger) != 0) {
        atoll_err_set(err, ATOLL_E_MEMORY, "%s: no memory to show it", folder);
        atoll_spending_view_destroy(view);
        view = NULL;
    }
    atoll_spending_ledger_close(ledger);
    return view;
}

void atoll_spending_view_destroy(struct atoll_spending_view *view)
{
    if (!view)
        return;
    free(view->rows);
    free(view->holders);
    free(view);
}
