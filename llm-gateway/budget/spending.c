/* spending.c - opening, reserving, settling.
 * Order of locks: the ledger's, then a journal's.  A journal is only ever locked with the ledger locked, so a reader that looks
 * whether a holder lives never takes the place of one that starts. */
#include "llm-gateway/budget/spending.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llm-gateway/budget/spending_cover.h"

#define OPEN_WAIT_S         10.0
#define DEFAULT_GRANT_RATIO 0.125
#define AMOUNT_LIMIT        ((uint64_t)1 << 60) /* of one call: sums of many still count */

static const char holder_characters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

int atoll_spending_journal_path(const struct atoll_spending *spending, const char *holder, char *ret_path,
                                size_t path_bytes, struct atoll_err *err)
{
    int length = snprintf(ret_path, path_bytes, "%s/holders/%s.atl", spending->folder, holder);
    if (length < 0 || (size_t)length >= path_bytes)
        return atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s...", spending->folder);
    return 0;
}

long atoll_spending_in_ledger(const struct atoll_spending *spending, struct atoll_spending_book *book,
                              size_t account)
{
    struct atoll_spending_usage *usage = &book->usages[account];
    if (!usage->in_ledger)
        usage->in_ledger = (uint32_t)(atoll_spending_register_find(&spending->ledger->accounts,
                                                                   &book->accounts.items[account]) +
                                      1);
    return (long)usage->in_ledger - 1;
}

struct atoll_spending_amount atoll_spending_free(const struct atoll_spending *spending,
                                                 const struct atoll_spending_place *place)
{
    struct atoll_spending_amount nothing = {0, 0};
    if (place->in_ledger < 0)
        return nothing;
    return atoll_spending_minus(
        atoll_spending_ledger_granted(spending->ledger, spending->self, (uint32_t)place->in_ledger),
        atoll_spending_book_used(&spending->journal->book, place->in_book));
}

struct atoll_spending_amount atoll_spending_lack(const struct atoll_spending *spending,
                                                 const struct atoll_spending_place *place,
                                                 struct atoll_spending_amount amount)
{
    struct atoll_spending_amount used = atoll_spending_book_used(&spending->journal->book, place->in_book);
    return atoll_spending_minus(
        atoll_spending_plus(used, amount),
        atoll_spending_ledger_granted(spending->ledger, spending->self, (uint32_t)place->in_ledger));
}

int atoll_spending_fenced(const struct atoll_spending *spending, struct atoll_err *err)
{
    if (!spending->ledger->is_fenced)
        return 0;
    return atoll_err_set(
        err, ATOLL_E_BUSY,
        "%s: another process took holder '%s' for dead and took its grants back: the file system lost "
        "its lock; start this gateway again",
        spending->folder, spending->holder);
}

/* ---- open ---- */

static int check_settings(const struct atoll_spending_settings *settings, struct atoll_err *err)
{
    size_t length = settings->holder ? strlen(settings->holder) : 0;
    if (!settings->folder || !*settings->folder)
        return atoll_err_set(err, ATOLL_E_INPUT, "a ledger needs a folder");
    if (length == 0 || length > 63 || strspn(settings->holder, holder_characters) != length)
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "the holder's name '%.70s' must be 1 to 63 letters, digits, '.', '_' or '-'",
                             settings->holder ? settings->holder : "");
    if (settings->limit_count > ATOLL_SPENDING_LIMIT_COUNT)
        return atoll_err_set(err, ATOLL_E_INPUT, "%zu limits; at most %d", settings->limit_count,
                             ATOLL_SPENDING_LIMIT_COUNT);
    for (size_t i = 0; i < settings->limit_count; i++)
        if ((unsigned)settings->limits[i].scope >= ATOLL_SCOPE_COUNT ||
            !memchr(settings->limits[i].name, '\0', sizeof settings->limits[i].name))
            return atoll_err_set(err, ATOLL_E_INPUT, "limit %zu has no scope or a name without an end", i);
    return 0;
}

static struct atoll_spending *create(const struct atoll_spending_settings *settings, int64_t unix_ns,
                                     struct atoll_err *err)
{
    struct atoll_spending *spending = calloc(1, sizeof *spending);
    if (spending) {
        spending->folder = strdup(settings->folder);
        spending->holder = strdup(settings->holder);
        spending->limits = calloc(settings->limit_count + 1, sizeof *spending->limits);
    }
    if (!spending || !spending->folder || !spending->holder || !spending->limits) {
        atoll_err_set(err, ATOLL_E_MEMORY, "%s: no memory to open the ledger", settings->folder);
        if (spending) {
            free(spending->folder);
            free(spending->holder);
            free(spending->limits);
        }
        free(spending);
        return NULL;
    }
    if (settings->limit_count)
        memcpy(spending->limits, settings->limits, settings->limit_count * sizeof *spending->limits);
    spending->limit_count = settings->limit_count;
    spending->grant_ratio =
        settings->grant_ratio > 0 && settings->grant_ratio <= 1 ? settings->grant_ratio : DEFAULT_GRANT_RATIO;
    spending->ops = settings->ops ? settings->ops : atoll_frame_file_real_ops();
    spending->unix_ns = unix_ns;
    if (settings->boot)
        snprintf(spending->boot, sizeof spending->boot, "%s", settings->boot);
    else
        atoll_boot_id(spending->boot);
    return spending;
}

static void destroy(struct atoll_spending *spending)
{
    if (!spending)
        return;
    atoll_spending_peers_fini(spending);
    atoll_spending_journal_close(spending->journal);
    atoll_spending_ledger_close(spending->ledger);
    free(spending->limits);
    free(spending->folder);
    free(spending->holder);
    free(spending);
}

static int make_folders(const struct atoll_spending *spending, struct atoll_err *err)
{
    char path[4096];
    if ((size_t)snprintf(path, sizeof path, "%s/holders", spending->folder) >= sizeof path)
        return atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s...", spending->folder);
    if (atoll_frame_file_make_folder(spending->ops, spending->folder, err) != 0)
        return -1;
    return atoll_frame_file_make_folder(spending->ops, path, err);
}

/* A ledger without a beginning is new, unless journals say that there was one: then what they spent would be forgotten. */
static int begin_ledger(struct atoll_spending *spending, struct atoll_err *err)
{
    char path[4096];
    if (spending->ledger->has_header)
        return 0;
    snprintf(path, sizeof path, "%s/holders", spending->folder); /* its length was checked when it was made */
    DIR *folder = opendir(path);
    if (!folder)
        return atoll_err_errno(err, errno, "%s: cannot look for journals", path);
    const struct dirent *entry;
    int has_journals = 0;
    while ((entry = readdir(folder)))
        has_journals |= strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(folder);
    if (has_journals)
        return atoll_err_set(
            err, ATOLL_E_CORRUPT,
            "%s/ledger.atl is empty, but there are journals beside it: restore it, or begin with a "
            "new folder",
            spending->folder);
    if (atoll_spending_ledger_put_header(spending->ledger, spending->unix_ns, err) != 0)
        return -1;
    return atoll_spending_ledger_commit(spending->ledger, err);
}

static int find_self(struct atoll_spending *spending, struct atoll_err *err)
{
    struct atoll_spending_ledger *ledger = spending->ledger;
    if (!atoll_spending_ledger_holder(ledger, spending->holder) &&
        (atoll_spending_ledger_put_holder(ledger, spending->holder, err) != 0 ||
         atoll_spending_ledger_commit(ledger, err) != 0))
        return -1;
    spending->self = ledger->self = atoll_spending_ledger_holder(ledger, spending->holder);
    return 0;
}

static int begin_life(struct atoll_spending *spending, struct atoll_err *err)
{
    struct atoll_spending_journal *journal = spending->journal;
    const struct atoll_spending_sum *sum = &journal->book.sum;
    if (atoll_spending_journal_may_lack(journal, spending->boot) &&
        atoll_spending_cover_bound(spending, err) != 0)
        return -1;
    struct atoll_spending_amount before = {sum->unknown_money + sum->reserved_money,
                                           sum->unknown_tokens + sum->reserved_tokens};
    if (atoll_spending_journal_begin(journal, spending->holder, spending->boot, spending->unix_ns, err) != 0)
        return -1;
    spending->lost =
        atoll_spending_minus((struct atoll_spending_amount){sum->unknown_money, sum->unknown_tokens}, before);
    return 0;
}

static int open_journal(struct atoll_spending *spending, struct atoll_err *err)
{
    char path[4096];
    struct atoll_err why = ATOLL_ERR_INIT;
    if (atoll_spending_journal_path(spending, spending->holder, path, sizeof path, err) != 0)
        return -1;
    spending->journal = atoll_spending_journal_open(path, ATOLL_FRAME_FILE_WRITE,
                                                    atoll_frame_file_number(spending->ledger->file),
                                                    spending->self, spending->ops, err);
    if (!spending->journal)
        return -1;
    if (atoll_frame_file_lock(spending->journal->file, 0, &why) != 0)
        return why.code == ATOLL_E_BUSY
                   ? atoll_err_set(err, ATOLL_E_BUSY,
                                   "%s: another gateway runs as holder '%s'; stop it or choose another name",
                                   spending->folder, spending->holder)
                   : atoll_err_set(err, why.code, "%s", why.text);
    if (atoll_spending_journal_read(spending->journal, 0, err) != 0 ||
        atoll_frame_file_cut(spending->journal->file, err) != 0)
        return -1;
    if (!spending->journal->has_header && spending->ledger->holders[spending->self - 1].has_joined)
        return atoll_err_set(
            err, ATOLL_E_CORRUPT,
            "%s: is empty, but the ledger knows holder '%s': restore it, or choose another holder's "
            "name, then what was granted to this one counts as spent",
            path, spending->holder);
    return begin_life(spending, err);
}

/* Accounts the journal knows and the ledger does not: only after a ledger came from an older copy. */
static int put_lost_accounts(struct atoll_spending *spending, struct atoll_err *err)
{
    struct atoll_spending_book *book = &spending->journal->book;
    for (size_t i = 0; i < book->accounts.count; i++)
        if (atoll_spending_in_ledger(spending, book, i) < 0 &&
            atoll_spending_ledger_put_account(spending->ledger, &book->accounts.items[i], err) != 0)
            return -1;
    return atoll_spending_ledger_commit(spending->ledger, err);
}

static int open_locked(struct atoll_spending *spending, struct atoll_err *err)
{
    if (begin_ledger(spending, err) != 0 || find_self(spending, err) != 0 ||
        open_journal(spending, err) != 0 || put_lost_accounts(spending, err) != 0 ||
        atoll_spending_reclaim(spending, err) < 0 || atoll_spending_trim(spending, err) != 0 ||
        atoll_spending_ledger_put_join(spending->ledger, spending->unix_ns, err) != 0 ||
        atoll_spending_ledger_commit(spending->ledger, err) != 0)
        return -1;
    spending->ledger->is_joined = 1;
    return 0;
}

struct atoll_spending *atoll_spending_open(const struct atoll_spending_settings *settings, int64_t unix_ns,
                                           struct atoll_err *err)
{
    char path[4096];
    if (check_settings(settings, err) != 0)
        return NULL;
    struct atoll_spending *spending = create(settings, unix_ns, err);
    if (!spending || make_folders(spending, err) != 0)
        goto failed;
    snprintf(path, sizeof path, "%s/ledger.atl", spending->folder);
    spending->ledger =
        atoll_spending_ledger_open(path, spending->limits, spending->limit_count, spending->ops, err);
    if (!spending->ledger || atoll_spending_ledger_lock(spending->ledger, OPEN_WAIT_S, err) != 0)
        goto failed;
    int rc = open_locked(spending, err);
    atoll_spending_ledger_unlock(spending->ledger);
    if (rc == 0)
        return spending;
failed:
    destroy(spending);
    return NULL;
}

/* Leaves in order.  Where that fails, it is as after a kill. */
static void leave(struct atoll_spending *spending)
{
    if (atoll_spending_cover_withdraw_all(spending, NULL) != 0 ||
        atoll_frame_file_sync(spending->journal->file, NULL) != 0 ||
        atoll_spending_ledger_lock(spending->ledger, 1.0, NULL) != 0)
        return;
    if (!spending->ledger->is_fenced && atoll_spending_trim(spending, NULL) == 0 &&
        atoll_spending_ledger_put_leave(spending->ledger, spending->self, spending->unix_ns, NULL) == 0)
        atoll_spending_ledger_commit(spending->ledger, NULL);
    atoll_spending_ledger_unlock(spending->ledger);
}

void atoll_spending_close(struct atoll_spending *spending)
{
    if (!spending)
        return;
    leave(spending);
    destroy(spending);
}

/* ---- reserve and settle ---- */

static int find_places(struct atoll_spending *spending, const struct atoll_spending_purpose *purpose,
                       int64_t unix_ns, struct atoll_spending_place *ret_places, struct atoll_err *err)
{
    struct atoll_spending_account accounts[ATOLL_SCOPE_COUNT];
    if (atoll_spending_accounts_of(purpose, unix_ns, accounts, err) != 0)
        return -1;
    for (int i = 0; i < ATOLL_SCOPE_COUNT; i++) {
        long account = atoll_spending_journal_account(spending->journal, &accounts[i], err);
        if (account < 0)
            return -1;
        ret_places[i].in_book = (uint32_t)account;
        ret_places[i].in_ledger =
            atoll_spending_in_ledger(spending, &spending->journal->book, (size_t)account);
    }
    return 0;
}

static int is_covered(const struct atoll_spending *spending, const struct atoll_spending_place *places,
                      struct atoll_spending_amount amount)
{
    for (int i = 0; i < ATOLL_SCOPE_COUNT; i++)
        if (places[i].in_ledger < 0 ||
            !atoll_spending_is_zero(atoll_spending_lack(spending, &places[i], amount)))
            return 0;
    return 1;
}

int atoll_spending_reserve(struct atoll_spending *spending, const struct atoll_spending_purpose *purpose,
                           atoll_nanousd money, uint64_t tokens, int64_t unix_ns, uint64_t *ret_reservation,
                           struct atoll_err *err)
{
    struct atoll_spending_place places[ATOLL_SCOPE_COUNT];
    struct atoll_spending_amount amount = {money, tokens};
    uint32_t accounts[ATOLL_SCOPE_COUNT];
    if (money > AMOUNT_LIMIT || tokens > AMOUNT_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT,
                             "a call that may cost more than a billion dollars is not reserved");
    spending->unix_ns = unix_ns;
    if (atoll_spending_fenced(spending, err) != 0 ||
        find_places(spending, purpose, unix_ns, places, err) != 0)
        return -1;
    if (!is_covered(spending, places, amount) && atoll_spending_take(spending, places, amount, err) != 0)
        return -1;
    for (int i = 0; i < ATOLL_SCOPE_COUNT; i++)
        accounts[i] = places[i].in_book;
    if (atoll_spending_journal_reserve(spending->journal, accounts, amount, &purpose->request, unix_ns,
                                       ret_reservation, err) != 0)
        return -1;
    for (int i = 0; i < ATOLL_SCOPE_COUNT; i++) {
        atoll_spending_cover_touch(&spending->journal->book, accounts[i]);
        spending->is_exposed |= !atoll_spending_cover_holds(&spending->journal->book, accounts[i]);
    }
    return 0;
}

int atoll_spending_settle(struct atoll_spending *spending, uint64_t reservation, atoll_nanousd money,
                          uint64_t tokens, struct atoll_err *err)
{
    struct atoll_spending_amount amount = {money, tokens};
    struct atoll_spending_book *book = &spending->journal->book;
    const struct atoll_spending_reservation *item = atoll_spending_book_find(book, reservation);
    uint32_t accounts[ATOLL_SCOPE_COUNT] = {0};
    if (item)
        memcpy(accounts, item->accounts, sizeof accounts);
    int rc = atoll_spending_journal_settle(spending->journal, reservation, amount, err);
    if (rc == 1)
        spending->is_overdrawn = 1;
    for (int i = 0; rc >= 0 && i < ATOLL_SCOPE_COUNT; i++)
        atoll_spending_cover_touch(book, accounts[i]);
    return rc < 0 ? -1 : 0;
}

int atoll_spending_sync_journal(struct atoll_spending *spending, struct atoll_err *err)
{
    if (atoll_spending_cover_put(spending, err) != 0 ||
        atoll_frame_file_sync(spending->journal->file, err) != 0)
        return -1;
    atoll_spending_cover_harden(spending);
    spending->is_exposed = 0;
    return 0;
}

int atoll_spending_sync(struct atoll_spending *spending, struct atoll_err *err)
{
    if (atoll_spending_sync_journal(spending, err) != 0)
        return -1;
    return atoll_spending_tend(spending, err);
}

int atoll_spending_commit(struct atoll_spending *spending, struct atoll_err *err)
{
    if (spending->is_exposed)
        return atoll_spending_sync(spending, err);
    if (atoll_frame_file_write(spending->journal->file, err) != 0)
        return -1;
    return atoll_spending_tend(spending, err);
}

int atoll_spending_sync_begin(struct atoll_spending *spending, struct atoll_syncer *syncer,
                              struct atoll_err *err)
{
    atoll_spending_take_ahead(spending);
    if (atoll_spending_cover_put(spending, err) != 0)
        return -1;
    spending->cover_count_at_sync = spending->cover_count;
    return atoll_frame_file_sync_begin(spending->journal->file, syncer, err);
}

/* Covers that were put while it went on are not durable with it. */
int atoll_spending_sync_end(struct atoll_spending *spending)
{
    enum atoll_frame_file_sync end = atoll_frame_file_sync_end(spending->journal->file);
    if (end == ATOLL_SYNC_ENDED && spending->cover_count_at_sync == spending->cover_count)
        atoll_spending_cover_harden(spending);
    return end != ATOLL_SYNC_RUNS;
}

int atoll_spending_is_synced(const struct atoll_spending *spending)
{
    return atoll_frame_file_is_synced(spending->journal->file);
}

void atoll_spending_lost(const struct atoll_spending *spending, atoll_nanousd *ret_money,
                         uint64_t *ret_tokens)
{
    *ret_money = spending->lost.money;
    *ret_tokens = spending->lost.tokens;
}

int atoll_spending_is_dirty(const struct atoll_spending *spending)
{
    return atoll_frame_file_is_dirty(spending->journal->file) || spending->is_overdrawn ||
           atoll_frame_file_has_more(spending->ledger->file, NULL) == 1;
}

int atoll_spending_unknown(const struct atoll_spending *spending, const struct atoll_id *request,
                           uint64_t *ret_reservation)
{
    const struct atoll_spending_reservation *item =
        atoll_spending_book_unknown(&spending->journal->book, request);
    if (!item)
        return 0;
    *ret_reservation = item->number;
    return 1;
}

int atoll_spending_excuse(struct atoll_spending *spending, uint64_t reservation, struct atoll_err *err)
{
    return atoll_spending_journal_excuse(spending->journal, reservation, err);
}

void atoll_spending_own(const struct atoll_spending *spending, struct atoll_spending_sum *ret_sum)
{
    *ret_sum = spending->journal->book.sum;
}

/* ---- what is left ---- */

static int is_named(const struct atoll_spending_account *account, const struct atoll_spending_limit *limit,
                    const char *name)
{
    size_t length = strlen(account->name);
    if (account->scope != limit->scope)
        return 0;
    if (account->scope != ATOLL_SCOPE_TASK)
        return strcmp(account->name, name) == 0;
    return strncmp(account->name, name, length) == 0 && name[length] == '/' &&
           strcmp(account->task, name + length + 1) == 0;
}

int atoll_spending_left(const struct atoll_spending *spending, size_t limit, const char *name,
                        atoll_nanousd *ret_money, uint64_t *ret_tokens)
{
    if (limit >= spending->limit_count)
        return -1;
    const struct atoll_spending_limit *about = &spending->limits[limit];
    const struct atoll_spending_ledger *ledger = spending->ledger;
    struct atoll_spending_amount left = {about->money, about->tokens};
    for (uint32_t i = 0; i < ledger->accounts.count; i++) {
        if (!is_named(&ledger->accounts.items[i], about, name ? name : about->name))
            continue;
        struct atoll_spending_amount granted = ledger->lines[i].granted, has;
        has = atoll_spending_ledger_granted(ledger, spending->self, i);
        long own =
            atoll_spending_register_find(&spending->journal->book.accounts, &ledger->accounts.items[i]);
        if (own >= 0)
            has = atoll_spending_minus(has, atoll_spending_book_used(&spending->journal->book, (size_t)own));
        granted = atoll_spending_minus(granted, has); /* what is granted here and not used is left as well */
        left = atoll_spending_minus(left, granted);
    }
    left.money = about->money == UINT64_MAX ? UINT64_MAX : left.money;
    left.tokens = about->tokens == UINT64_MAX ? UINT64_MAX : left.tokens;
    *ret_money = left.money;
    *ret_tokens = left.tokens;
    return 0;
}
