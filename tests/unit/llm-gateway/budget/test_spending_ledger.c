/* test_spending_ledger.c - several holders of one folder, deaths at every step, failures of every call, torn and damaged files. */
#include "tests/support/expect.h"

#include "tests/unit/llm-gateway/failing_disk.h"
#include "llm-gateway/budget/spending.h"
#include "llm-gateway/budget/spending_ledger.h"

#define NOON  ((int64_t)20000 * 86400 * 1000000000)
#define NONE  UINT64_MAX
#define LIMIT 1000

static const struct atoll_spending_limit limit = {ATOLL_SCOPE_CAMPAIGN, "", LIMIT, 10 * LIMIT};
static char folder[PATH_MAX];

static int set_up(void **state)
{
    scratch_make(folder);
    return 0;
}

static int tear_down(void **state)
{
    scratch_remove(folder);
    return 0;
}

static struct atoll_spending *open_on(const char *holder, const struct atoll_frame_file_ops *ops,
                                      struct atoll_err *err)
{
    const struct atoll_spending_settings settings = {.folder = folder,
                                                     .holder = holder,
                                                     .limits = &limit,
                                                     .limit_count = 1,
                                                     .ops = ops ? ops : calm_ops()};
    return atoll_spending_open(&settings, NOON, err);
}

static struct atoll_spending *must_open(const char *holder, const struct atoll_frame_file_ops *ops)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_spending *spending = open_on(holder, ops, &err);
    if (!spending)
        fail_msg("%s: %s", holder, err.text);
    return spending;
}

static int reserve(struct atoll_spending *spending, atoll_nanousd money, uint64_t *ret_number,
                   struct atoll_err *err)
{
    const struct atoll_spending_purpose purpose = {.campaign = "c", .task = "t", .model = "m"};
    return atoll_spending_reserve(spending, &purpose, money, money, NOON, ret_number, err);
}

static uint64_t must_reserve(struct atoll_spending *spending, atoll_nanousd money)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    uint64_t number;
    if (reserve(spending, money, &number, &err) != 0)
        fail_msg("%s", err.text);
    return number;
}

static void expect_refused(struct atoll_spending *spending, atoll_nanousd money, enum atoll_code code)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    uint64_t number;
    if (reserve(spending, money, &number, &err) == 0)
        fail_msg("%llu were reserved", (unsigned long long)money);
    if (err.code != code)
        fail_msg("%s instead of %s: %s", atoll_code_name(err.code), atoll_code_name(code), err.text);
}

/* What all holders together have taken. */
static uint64_t taken(struct atoll_spending *spending)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_spending_sum sum;
    if (atoll_spending_sum(spending, &sum, &err) != 0)
        fail_msg("%s", err.text);
    return sum.spent_money + sum.reserved_money + sum.unknown_money - sum.excess_money;
}

static void two_share_a_limit_to_its_last(void **state)
{
    struct atoll_spending *a = must_open("a", NULL), *b = must_open("b", NULL);
    struct atoll_err err = ATOLL_ERR_INIT;
    uint64_t in_a = must_reserve(a, 300), in_b = must_reserve(b, 300);
    assert_int_equal(atoll_spending_sync(a, &err), 0); /* others see what is durable */
    assert_int_equal(atoll_spending_sync(b, &err), 0);
    /* 400 are left, some of them granted: whoever asks gets them once the other gave back */
    int tries = 0;
    uint64_t last;
    while (reserve(a, 400, &last, &err) != 0 && tries++ < 10) {
        assert_int_equal(err.code, ATOLL_E_BUSY);
        assert_int_equal(atoll_spending_sync(b, &err), 0);
    }
    assert_true(tries < 10);
    assert_int_equal(atoll_spending_sync(a, &err), 0);
    expect_refused(b, 1, ATOLL_E_BUSY); /* what is reserved may come back */
    expect_refused(a, 1, ATOLL_E_BUSY);
    assert_int_equal(atoll_spending_settle(a, last, 400, 400, &err), 0);
    assert_int_equal(atoll_spending_settle(a, in_a, 300, 300, &err), 0);
    assert_int_equal(atoll_spending_sync(a, &err), 0);
    assert_int_equal(atoll_spending_settle(b, in_b, 299, 299, &err), 0);
    assert_int_equal(atoll_spending_sync(b, &err), 0);
    expect_refused(a, 2, ATOLL_E_LIMIT);
    expect_refused(b, 2, ATOLL_E_LIMIT);
    must_reserve(b, 1);
    assert_int_equal(atoll_spending_sync(b, &err), 0);
    assert_int_equal(taken(a), LIMIT);
    assert_int_equal(taken(b), LIMIT);
    atoll_spending_close(a);
    atoll_spending_close(b);
}

static void what_others_want_is_given_after_a_settlement(void **state)
{
    struct atoll_spending *a = must_open("a", NULL), *b = must_open("b", NULL);
    struct atoll_err err = ATOLL_ERR_INIT;
    uint64_t all = must_reserve(a, LIMIT);
    assert_int_equal(atoll_spending_sync(a, &err), 0);
    expect_refused(b, 100, ATOLL_E_BUSY);
    assert_int_equal(atoll_spending_sync(a, &err), 0); /* hears the want, has nothing */
    expect_refused(b, 100, ATOLL_E_BUSY);
    assert_int_equal(atoll_spending_settle(a, all, 900, 1, &err), 0);
    expect_refused(b, 100, ATOLL_E_BUSY); /* the settlement is not durable yet: nobody may build on it */
    assert_int_equal(atoll_spending_sync(a, &err), 0);
    must_reserve(b, 100);
    atoll_spending_close(b);
    atoll_spending_close(a);
}

/* Going to the ledger for something else gives what is wanted as well: it must be durable by then. */
static void what_is_given_survives_the_giver(void **state)
{
    static const struct atoll_spending_purpose other = {.campaign = "d", .task = "t", .model = "m"};
    struct failing_disk disk;
    struct atoll_err err = ATOLL_ERR_INIT;
    uint64_t number;
    struct atoll_spending *a = must_open("a", failing_init(&disk, FAILS_NOT, -1)), *b = must_open("b", NULL);
    uint64_t all = must_reserve(a, LIMIT);
    assert_int_equal(atoll_spending_sync(a, &err), 0);
    expect_refused(b, 500, ATOLL_E_BUSY);
    assert_int_equal(atoll_spending_settle(a, all, 100, 100, &err), 0);
    assert_int_equal(atoll_spending_reserve(a, &other, 0, 0, NOON, &number, &err), 0);
    disk.is_dead = 1;
    atoll_spending_close(a);
    must_reserve(b, 500);
    assert_int_equal(atoll_spending_sync(b, &err), 0);
    assert_int_equal(taken(b), 600);
    atoll_spending_close(b);
}

static void a_closed_holder_leaves_its_rest(void **state)
{
    struct atoll_spending *a = must_open("a", NULL), *b = must_open("b", NULL);
    must_reserve(a, 100);
    atoll_spending_close(a);
    must_reserve(b, 900);
    expect_refused(b, 1, ATOLL_E_BUSY);
    atoll_spending_close(b);
}

static void a_dead_holder_leaves_its_rest(void **state)
{
    struct failing_disk disk;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_spending *a = must_open("a", failing_init(&disk, FAILS_NOT, -1)), *b = must_open("b", NULL);
    must_reserve(a, 100);
    assert_int_equal(atoll_spending_sync(a, &err), 0);
    must_reserve(a, 300); /* never durable: never sent */
    expect_refused(b, 900, ATOLL_E_BUSY);
    disk.is_dead = 1;
    atoll_spending_close(a);
    must_reserve(b, 900);
    expect_refused(b, 1, ATOLL_E_BUSY);
    a = must_open("a", NULL);        /* and back again: it finds what it had used, and no more */
    assert_int_equal(taken(a), 100); /* b has not synced */
    assert_int_equal(atoll_spending_sync(b, &err), 0);
    assert_int_equal(taken(a), LIMIT);
    expect_refused(a, 1, ATOLL_E_BUSY);
    atoll_spending_close(a);
    atoll_spending_close(b);
}

/* A file system that loses locks: another process may then take a living holder's grants back. */
static void a_holder_taken_for_dead_stops(void **state)
{
    char path[PATH_MAX + 32];
    struct atoll_err err = ATOLL_ERR_INIT;
    uint64_t number;
    struct atoll_spending *a = must_open("a", NULL);
    must_reserve(a, 10);
    snprintf(path, sizeof path, "%s/ledger.atl", folder);
    struct atoll_spending_ledger *ledger = atoll_spending_ledger_open(path, &limit, 1, NULL, &err);
    assert_non_null(ledger);
    assert_int_equal(atoll_spending_ledger_lock(ledger, 1, &err), 0);
    ledger->self = 99;
    assert_int_equal(
        atoll_spending_ledger_put_leave(ledger, atoll_spending_ledger_holder(ledger, "a"), NOON, &err), 0);
    assert_int_equal(atoll_spending_ledger_commit(ledger, &err), 0);
    atoll_spending_ledger_close(ledger);
    assert_true(atoll_spending_is_dirty(a));
    assert_int_equal(atoll_spending_sync(a, &err), -1);
    assert_int_equal(err.code, ATOLL_E_BUSY);
    assert_non_null(strstr(err.text, "taken") ? err.text : strstr(err.text, "for dead"));
    assert_int_equal(reserve(a, 1, &number, &err), -1);
    assert_int_equal(err.code, ATOLL_E_BUSY);
    atoll_spending_close(a);
}

/* ---- a life with every kind of step, for failures and deaths at each of them ---- */

struct account {
    uint64_t settled;             /* acknowledged by a sync */
    uint64_t open[8], amounts[8]; /* acknowledged reservations */
    size_t open_count;
};

static int sync_and_note(struct atoll_spending *spending, struct account *account, uint64_t settled,
                         const uint64_t *numbers, const uint64_t *amounts, size_t count)
{
    if (atoll_spending_sync(spending, NULL) != 0)
        return -1;
    account->settled += settled;
    for (size_t i = 0; i < count; i++) {
        account->open[account->open_count] = numbers[i];
        account->amounts[account->open_count++] = amounts[i];
    }
    return 0;
}

/* Opens, reserves three times in two commits, settles two, takes more, gives back by closing.  Any step may fail. */
static void live(const char *holder, const struct atoll_frame_file_ops *ops, struct account *account)
{
    struct atoll_spending *spending = open_on(holder, ops, NULL);
    static const uint64_t amounts[3] = {100, 150, 200};
    uint64_t numbers[3] = {0};
    if (!spending)
        return;
    size_t count = 0;
    for (size_t i = 0; i < 2; i++)
        if (reserve(spending, amounts[i], &numbers[count], NULL) == 0)
            count++;
    if (count == 2 && sync_and_note(spending, account, 0, numbers, amounts, 2) == 0) {
        int ok = atoll_spending_settle(spending, numbers[0], 40, 40, NULL) == 0;
        account->amounts[0] =
            40; /* at least: the settlement may come to the disk without being acknowledged */
        uint64_t third;
        if (reserve(spending, amounts[2], &third, NULL) == 0 && ok &&
            atoll_spending_settle(spending, third, 60, 60, NULL) == 0 &&
            sync_and_note(spending, account, 100, NULL, NULL, 0) == 0) {
            account->open[0] = account->open[1];
            account->amounts[0] = account->amounts[1];
            account->open_count = 1;
        }
    }
    atoll_spending_close(spending);
}

static uint64_t known_of(const struct account *account)
{
    uint64_t sum = account->settled;
    for (size_t i = 0; i < account->open_count; i++)
        sum += account->amounts[i];
    return sum;
}

static void check_after(const struct account *account, uint64_t others, const char *what, long step)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_spending_sum sum;
    struct atoll_spending *auditor = open_on("auditor", NULL, &err);
    if (!auditor)
        fail_msg("%s at %ld: %s", what, step, err.text);
    assert_int_equal(atoll_spending_sum(auditor, &sum, &err), 0);
    uint64_t all = sum.spent_money + sum.reserved_money + sum.unknown_money;
    if (all > LIMIT || sum.spent_money < account->settled || all < known_of(account) + others)
        fail_msg("%s at %ld: spent %llu reserved %llu unknown %llu; acknowledged %llu settled, %llu in all",
                 what, step, (unsigned long long)sum.spent_money, (unsigned long long)sum.reserved_money,
                 (unsigned long long)sum.unknown_money, (unsigned long long)account->settled,
                 (unsigned long long)known_of(account));
    /* and the rest can be spent to the last, no more */
    if (all < LIMIT)
        must_reserve(auditor, LIMIT - all);
    expect_refused(auditor, 1, all - sum.spent_money || all < LIMIT ? ATOLL_E_BUSY : ATOLL_E_LIMIT);
    atoll_spending_close(auditor);
}

static void one_step(enum failure failure, long step, int *ret_is_beyond)
{
    static const char *const names[FAILURE_COUNT] = {"nothing",           "a short write", "ENOSPC",
                                                     "half, then ENOSPC", "EIO",           "death"};
    struct failing_disk disk;
    struct account account = {0};
    struct atoll_spending *other = must_open("other", NULL);
    must_reserve(other, 200);
    assert_int_equal(atoll_spending_sync(other, NULL), 0);
    live("one", failing_init(&disk, failure, step), &account);
    *ret_is_beyond = disk.calls <= step;
    atoll_spending_close(other);
    if (failure == FAILS_SHORT)
        assert_int_equal(account.settled, 100); /* nobody noticed */
    /* the dead holder's rest is for others, unless they start it again first */
    if (step % 2) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_spending *again = open_on("one", NULL, &err);
        if (!again)
            fail_msg("%s at %ld: again: %s", names[failure], step, err.text);
        for (size_t i = 0; i < account.open_count; i++)
            if (atoll_spending_settle(again, account.open[i], account.amounts[i], 0, &err) == 0)
                account.settled += account.amounts[i];
            else /* a settlement that no sync acknowledged came to the disk after all */
                assert_int_equal(err.code, ATOLL_E_NOTFOUND);
        account.open_count = 0;
        atoll_spending_close(again);
    }
    check_after(&account, 200, names[failure], step);
}

static void every_call_fails_once(void **state)
{
    for (int failure = FAILS_SHORT; failure < FAILURE_COUNT; failure++) {
        int is_beyond = 0;
        long step = 0;
        for (; !is_beyond; step++) {
            one_step((enum failure)failure, step, &is_beyond);
            tear_down(state);
            set_up(state);
        }
        assert_true(step > 25); /* it is not one call that is tested */
    }
}

/* After a full disk was cleared the same gateway goes on: nothing acknowledged in memory is lost. */
static void a_failed_sync_can_be_repeated(void **state)
{
    static const enum failure failures[] = {FAILS_FULL, FAILS_HALF_THEN_FULL, FAILS_IO};
    for (size_t f = 0; f < sizeof failures / sizeof *failures; f++)
        for (long later = 0; later < 2; later++) { /* the write, the sync */
            struct failing_disk disk;
            struct atoll_err err = ATOLL_ERR_INIT;
            struct atoll_spending *a = must_open("a", failing_init(&disk, FAILS_NOT, -1));
            uint64_t number = must_reserve(a, 10);
            assert_int_equal(atoll_spending_settle(a, number, 7, 7, &err), 0);
            disk.failure = failures[f];
            disk.fail_at = disk.calls + later;
            assert_int_equal(atoll_spending_sync(a, &err), -1);
            assert_int_equal(err.code, failures[f] == FAILS_IO ? ATOLL_E_IO : ATOLL_E_FULL);
            assert_non_null(strstr(err.text, "a.atl"));
            assert_true(atoll_spending_is_dirty(a));
            assert_int_equal(atoll_spending_sync(a, &err), 0);
            disk.is_dead = 1; /* what was synced is there whatever comes */
            atoll_spending_close(a);
            a = must_open("a", NULL);
            assert_int_equal(taken(a), 7);
            atoll_spending_close(a);
            tear_down(state);
            set_up(state);
        }
}

/* ---- torn and damaged files ---- */

static void make_history(void)
{
    struct failing_disk disk;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_spending *a = must_open("a", failing_init(&disk, FAILS_NOT, -1));
    for (int i = 0; i < 3; i++) {
        uint64_t number = must_reserve(a, 50);
        assert_int_equal(atoll_spending_sync(a, &err), 0);
        assert_int_equal(atoll_spending_settle(a, number, 20, 20, &err), 0);
        assert_int_equal(atoll_spending_sync(a, &err), 0);
    }
    disk.is_dead = 1;
    atoll_spending_close(a);
}

static void a_file_torn_at_any_byte_is_cut(void **state)
{
    static const char *const names[2] = {"holders/a.atl", "ledger.atl"};
    for (size_t n = 0; n < 2; n++) {
        char path[PATH_MAX + 32], other[PATH_MAX + 32];
        size_t length, other_length;
        make_history();
        snprintf(path, sizeof path, "%s/%s", folder, names[n]);
        snprintf(other, sizeof other, "%s/%s", folder, names[1 - n]);
        unsigned char *bytes = scratch_read(path, &length), *rest = scratch_read(other, &other_length);
        uint64_t highest = 0;
        size_t opened = 0;
        for (size_t cut = 0; cut <= length; cut++) {
            struct atoll_err err = ATOLL_ERR_INIT;
            scratch_write(path, bytes, cut);
            scratch_write(other, rest, other_length);
            struct atoll_spending *a = open_on("a", NULL, &err);
            if (!a) { /* without its first record there is nothing to go by */
                if (err.code != ATOLL_E_CORRUPT || cut > 120)
                    fail_msg("cut at %zu: %s", cut, err.text);
                continue;
            }
            opened++;
            uint64_t now = taken(a);
            assert_true(now <= 60 + 50);
            highest = now > highest ? now : highest;
            if (cut == length || n == 1)
                assert_int_equal(now, 60); /* the ledger's losses lose nothing that was spent */
            must_reserve(a, LIMIT - now);
            expect_refused(a, 1, ATOLL_E_BUSY);
            atoll_spending_close(a);
        }
        assert_true(opened > 500);
        free(bytes);
        free(rest);
        tear_down(state);
        set_up(state);
    }
}

static void damage_before_the_end_is_told(void **state)
{
    static const char *const names[2] = {"holders/a.atl", "ledger.atl"};
    for (size_t n = 0; n < 2; n++) {
        char path[PATH_MAX + 32];
        size_t length, told = 0;
        make_history();
        snprintf(path, sizeof path, "%s/%s", folder, names[n]);
        unsigned char *bytes = scratch_read(path, &length);
        for (size_t at = 0; at < length; at += 3) {
            struct atoll_err err = ATOLL_ERR_INIT;
            bytes[at] ^= 0x10;
            scratch_write(path, bytes, length);
            bytes[at] ^= 0x10;
            struct atoll_spending *a = open_on("a", NULL, &err);
            if (a) { /* the last commit: torn */
                atoll_spending_close(a);
                if (at < length - 700)
                    fail_msg("damage at %zu of %zu went unnoticed", at, length);
                break;
            }
            if (err.code == ATOLL_E_CORRUPT && strstr(err.text, "offset"))
                told += strstr(err.text, "restore the file from a copy") != NULL;
            else if (err.code != ATOLL_E_SCHEMA && err.code != ATOLL_E_INPUT && err.code != ATOLL_E_CORRUPT)
                fail_msg("byte %zu: %s", at, err.text);
        }
        assert_true(told > 100);
        free(bytes);
        tear_down(state);
        set_up(state);
    }
}

static void a_missing_half_is_not_forgotten(void **state)
{
    char path[PATH_MAX + 32];
    struct atoll_err err = ATOLL_ERR_INIT;
    make_history();
    snprintf(path, sizeof path, "%s/holders/a.atl", folder);
    assert_int_equal(unlink(path), 0);
    assert_null(open_on("a", NULL, &err));
    assert_int_equal(err.code, ATOLL_E_CORRUPT);
    assert_non_null(strstr(err.text, "another holder's name"));
    struct atoll_spending *b = must_open("b", NULL); /* what was granted to a counts */
    expect_refused(b, LIMIT - 20, ATOLL_E_BUSY);
    atoll_spending_close(b);
    snprintf(path, sizeof path, "%s/ledger.atl", folder);
    assert_int_equal(unlink(path), 0);
    assert_null(open_on("b", NULL, &err));
    assert_int_equal(err.code, ATOLL_E_CORRUPT);
    assert_non_null(strstr(err.text, "ledger.atl is empty"));
}

static void a_journal_of_another_ledger_is_refused(void **state)
{
    char path[PATH_MAX + 32];
    size_t length;
    struct atoll_err err = ATOLL_ERR_INIT;
    make_history();
    snprintf(path, sizeof path, "%s/holders/a.atl", folder);
    unsigned char *bytes = scratch_read(path, &length);
    tear_down(state);
    set_up(state);
    make_history();
    snprintf(path, sizeof path, "%s/holders/a.atl", folder);
    scratch_write(path, bytes, length);
    free(bytes);
    assert_null(open_on("a", NULL, &err));
    assert_int_equal(err.code, ATOLL_E_CORRUPT);
    assert_non_null(strstr(err.text, "another ledger"));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(two_share_a_limit_to_its_last),
        CASE(what_others_want_is_given_after_a_settlement),
        CASE(what_is_given_survives_the_giver),
        CASE(a_closed_holder_leaves_its_rest),
        CASE(a_dead_holder_leaves_its_rest),
        CASE(a_holder_taken_for_dead_stops),
        CASE(every_call_fails_once),
        CASE(a_failed_sync_can_be_repeated),
        CASE(a_file_torn_at_any_byte_is_cut),
        CASE(damage_before_the_end_is_told),
        CASE(a_missing_half_is_not_forgotten),
        CASE(a_journal_of_another_ledger_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
