/* test_spending.c - limits, settlements, days, unknown calls, and what is refused with which words. */
#include "tests/support/expect.h"

#include <sys/wait.h>

#include "llm-gateway/budget/database.h"
#include "llm-gateway/budget/spend_summary.h"
#include "tests/unit/llm-gateway/failing_vfs.h"

#define SECOND ((int64_t)1000000000)
#define DAY    (86400 * SECOND)
#define NOON   (20000 * DAY + DAY / 2) /* 2024-10-04 12:00 UTC */
#define NONE   UINT64_MAX
#define USD    ((atoll_nanousd)1000000000)

static char folder[PATH_MAX], path[PATH_MAX + 16];
static struct atoll_database *database;
static struct atoll_spending *spending;

static int set_up(void **state)
{
    scratch_make(folder);
    snprintf(path, sizeof(path), "%s/g.sqlite", folder);
    return 0;
}

static void close_it(void)
{
    atoll_spending_close(spending);
    atoll_database_close(database);
    spending = NULL;
    database = NULL;
}

static int tear_down(void **state)
{
    close_it();
    scratch_remove(folder);
    return 0;
}

static void open_with(const struct atoll_spending_limit *limits, size_t count, const char *vfs)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const struct atoll_database_settings settings = {.path = path, .mode = ATOLL_DATABASE_OWN, .vfs = vfs};
    database = atoll_database_open(&settings, &err);
    if (!database || !(spending = atoll_spending_open(database, limits, count, &err)))
        fail_msg("%s", err.text);
}

static int commit(struct atoll_err *err)
{
    if (atoll_database_begin(database, err))
        return -1;
    if (atoll_spending_write(spending, err)) {
        atoll_database_rollback(database);
        return -1;
    }
    if (atoll_database_commit(database, err))
        return -1;
    atoll_spending_written(spending);
    return 0;
}

static void must_commit(void)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (commit(&err))
        fail_msg("%s", err.text);
}

static enum atoll_code reserve_at(const char *campaign, const char *task, atoll_nanousd money,
                                  uint64_t tokens, int64_t unix_ns, uint64_t *ret_number,
                                  struct atoll_err *err)
{
    const struct atoll_spending_purpose purpose = {
        .campaign = campaign, .task = task, .model = "m", .request = atoll_id_of(task, strlen(task))};
    atoll_err_clear(err);
    return atoll_spending_reserve(spending, &purpose, money, tokens, unix_ns, ret_number, err) == 0
               ? ATOLL_OK
               : err->code;
}

static uint64_t must_reserve(const char *campaign, const char *task, atoll_nanousd money, uint64_t tokens)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    uint64_t number = 0;
    if (reserve_at(campaign, task, money, tokens, NOON, &number, &err))
        fail_msg("%s", err.text);
    return number;
}

static void must_settle(uint64_t number, atoll_nanousd money, uint64_t tokens)
{
    assert_int_equal(atoll_spending_settle(spending, number, money, tokens, NULL), 0);
}

static struct atoll_spending_account sum(void)
{
    struct atoll_spending_account all;
    atoll_spending_sum(spending, &all);
    return all;
}

static const struct atoll_spending_limit ten_dollars[] = {{ATOLL_SCOPE_CAMPAIGN, "", 10 * USD, NONE}};

static void a_limit_is_kept_to_the_nanodollar(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    uint64_t number, first;
    open_with(ten_dollars, 1, NULL);
    first = must_reserve("c", "t", 6 * USD, 1);
    assert_int_equal(reserve_at("c", "t", 4 * USD + 1, 1, NOON, &number, &err), ATOLL_E_BUSY);
    assert_non_null(strstr(err.text,
                           "budget of campaign 'c': of 10.00 USD there are 10.00 USD left, the call may take "
                           "4.000000001 USD"));
    assert_non_null(strstr(err.text, "calls in flight and may come back"));
    assert_int_equal(reserve_at("c", "t", 10 * USD + 1, 1, NOON, &number, &err), ATOLL_E_LIMIT);
    assert_non_null(strstr(err.text, "raise the limit"));
    assert_int_equal(reserve_at("other", "t", 10 * USD, 1, NOON, &number, &err),
                     ATOLL_OK); /* each campaign */
    must_settle(first, 6 * USD, 1);
    assert_int_equal(reserve_at("c", "t", 4 * USD + 1, 1, NOON, &number, &err), ATOLL_E_LIMIT);
    assert_int_equal(reserve_at("c", "t", 4 * USD, 1, NOON, &number, &err), ATOLL_OK);
    must_commit();
}

static void what_a_limit_speaks_of(void **state)
{
    static const struct atoll_spending_limit limits[] = {{ATOLL_SCOPE_TASK, "hard", NONE, 10},
                                                         {ATOLL_SCOPE_MODEL, "m", 100, NONE},
                                                         {ATOLL_SCOPE_DAY, "", 60, 1000},
                                                         {ATOLL_SCOPE_CAMPAIGN, "c", 50, NONE},
                                                         {ATOLL_SCOPE_CAMPAIGN, "", 80, NONE}};
    static const struct {
        const char *campaign, *task;
        uint64_t money, tokens;
        int64_t unix_ns;
        enum atoll_code code;
        const char *says;
    } cases[] = {
        {"c", "hard", 1, 11, NOON, ATOLL_E_LIMIT, "budget of task 'hard' of campaign 'c': of 10 tokens"},
        {"c", "easy", 1, 11, NOON, ATOLL_OK, ""},
        {"c", "easy", 50, 1, NOON, ATOLL_E_LIMIT, "budget of campaign 'c'"},
        {"d", "easy", 60, 1, NOON, ATOLL_E_LIMIT, "day 2024-10-04: of 0.00000006 USD and 1000 tokens"},
        {"d", "easy", 60, 1, NOON, ATOLL_E_LIMIT, "more comes at the next midnight UTC"},
        {"d", "easy", 60, 1, NOON + DAY, ATOLL_OK, ""},
        {"e", "easy", 40, 1, NOON + 2 * DAY, ATOLL_E_LIMIT, "budget of model 'm'"},
        {"e", "easy", 1, 1, NOON - 20001 * DAY, ATOLL_OK, ""}, /* a clock that went back, to 1969 */
    };
    struct atoll_err err = ATOLL_ERR_INIT;
    open_with(limits, 5, NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint64_t number = 0;
        enum atoll_code code = reserve_at(cases[i].campaign, cases[i].task, cases[i].money, cases[i].tokens,
                                          cases[i].unix_ns, &number, &err);
        if (code != cases[i].code || !strstr(err.text, cases[i].says))
            fail_msg("row %zu: %s: %s", i, atoll_code_name(code), err.text);
        if (number)
            must_settle(number, cases[i].money, cases[i].tokens);
    }
}

static void more_than_was_reserved_is_spent_as_it_is(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    uint64_t number;
    open_with(ten_dollars, 1, NULL);
    number = must_reserve("c", "t", 2 * USD, 10);
    must_settle(number, 11 * USD, 4);
    assert_int_equal(atoll_spending_settle(spending, number, 1, 1, &err), -1);
    expect_err(&err, ATOLL_E_NOTFOUND, "is not open");
    must_commit();
    close_it();
    open_with(ten_dollars, 1, NULL);
    assert_true(sum().spent.money == 11 * USD && sum().excess.money == 9 * USD && sum().excess.tokens == 0);
    assert_int_equal(reserve_at("c", "t", 1, 1, NOON, &number, &err), ATOLL_E_LIMIT);
    assert_non_null(strstr(err.text, "there are 0.00 USD left"));
}

static void nothing_wraps_around(void **state)
{
    open_with(NULL, 0, NULL);
    for (int i = 0; i < 3; i++) {
        uint64_t number = must_reserve("c", "t", UINT64_MAX, UINT64_MAX);
        must_settle(number, UINT64_MAX, UINT64_MAX);
        must_commit();
    }
    assert_true(sum().spent.money > INT64_MAX && sum().reserved.money == 0);
    close_it();
    open_with(ten_dollars, 1, NULL);
    struct atoll_err err = ATOLL_ERR_INIT;
    uint64_t number;
    assert_int_equal(reserve_at("c", "t", 1, 1, NOON, &number, &err), ATOLL_E_LIMIT);
}

/* A life that ends between reservation and settlement. */
static void what_a_kill_cut_short_counts_as_spent(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    uint64_t number, last;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        open_with(ten_dollars, 1, NULL);
        must_settle(must_reserve("c", "t", 3 * USD, 5), USD, 2);
        must_reserve("c", "t", 4 * USD, 7);
        must_commit();
        must_reserve("c", "t", 2 * USD, 9); /* never committed, so never sent */
        _exit(0);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    for (int life = 0; life < 2; life++) {
        open_with(ten_dollars, 1, NULL);
        assert_true(sum().spent.money == USD && sum().unknown.money == 4 * USD && sum().unknown.tokens == 7);
        assert_true(sum().unknown_calls == 1 && sum().reserved.money == 0);
        close_it();
    }
    open_with(ten_dollars, 1, NULL);
    assert_int_equal(reserve_at("c", "t", 5 * USD + 1, 1, NOON, &number, &err), ATOLL_E_LIMIT);
    assert_int_equal(reserve_at("c", "t", 5 * USD, 1, NOON, &number, &err), ATOLL_OK);
    last = must_reserve("d", "t", 1, 1);
    assert_true(number > 2 && last == number + 1); /* numbers are never given twice */
}

/* What could not be written is written by the next transaction; nothing is doubled by it. */
static void a_full_disk_loses_nothing(void **state)
{
    long fail_at = 0;
    for (int was_hit = 1; was_hit; fail_at++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        open_with(ten_dollars, 1, failing_vfs_name(FAILS_NOT, -1));
        uint64_t first = must_reserve("c", "t", 2 * USD, 5);
        must_commit();
        failing_vfs_name(FAILS_FULL, fail_at);
        must_settle(first, USD, 3);
        uint64_t second = must_reserve("c", "t", 4 * USD, 7);
        was_hit = commit(&err) != 0;
        failing_vfs_name(FAILS_NOT, -1);
        must_settle(second, USD, 1);
        must_reserve("c", "t", USD, 1);
        assert_true(sum().spent.money == 2 * USD && sum().reserved.money == USD);
        must_commit();
        assert_false(atoll_spending_is_dirty(spending));
        close_it();
        open_with(ten_dollars, 1, NULL);
        assert_true(sum().spent.money == 2 * USD && sum().unknown.money == USD && sum().calls == 2);
        close_it();
        scratch_remove(folder);
        set_up(NULL);
    }
    assert_true(fail_at > 3);
}

static void names_have_an_end(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char name[ATOLL_SPENDING_NAME_BYTES + 1];
    struct atoll_spending_limit many[ATOLL_SPENDING_LIMIT_COUNT + 1] = {0};
    uint64_t number;
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    open_with(NULL, 0, NULL);
    assert_int_equal(reserve_at(name, "t", 1, 1, NOON, &number, &err), ATOLL_E_INPUT);
    assert_non_null(strstr(err.text, "the campaign \"nnn"));
    assert_int_equal(reserve_at("c", name, 1, 1, NOON, &number, &err), ATOLL_E_INPUT);
    assert_non_null(strstr(err.text, "the task \"nnn"));
    name[sizeof(name) - 2] = '\0';
    assert_int_equal(reserve_at(name, name, 1, 1, NOON, &number, &err), ATOLL_OK);
    assert_null(atoll_spending_open(database, many, ATOLL_SPENDING_LIMIT_COUNT + 1, &err));
    expect_err(&err, ATOLL_E_INPUT, "at most 64");
}

/* ---- the summary ---- */

static const json_t *account(const json_t *summary, const char *scope, const char *name)
{
    const json_t *row;
    size_t i;
    json_array_foreach(json_object_get(summary, "accounts"), i, row)
    {
        if (strcmp(json_string_value(json_object_get(row, "scope")), scope) == 0 &&
            strcmp(json_string_value(json_object_get(row, "name")), name) == 0) {
            return row;
        }
    }
    fail_msg("no %s %s", scope, name);
    return NULL;
}

static double usd(const json_t *row, const char *what)
{
    return json_number_value(json_object_get(json_object_get(row, "money_usd"), what));
}

static void the_summary_tells_while_it_is_owned_and_after(void **state)
{
    static const struct atoll_spending_limit limits[] = {{ATOLL_SCOPE_CAMPAIGN, "", 10 * USD, NONE},
                                                         {ATOLL_SCOPE_MODEL, "unused", 3 * USD, NONE}};
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_null(atoll_spend_summary_read(path, limits, 2, &err));
    expect_err(&err, ATOLL_E_NOTFOUND, path);
    atoll_err_clear(&err);
    open_with(limits, 2, NULL);
    assert_null(atoll_spend_summary_read(path, limits, 2, &err));
    expect_err(&err, ATOLL_E_BUSY, "try again in a second");
    must_settle(must_reserve("c", "t", 3 * USD, 5), USD, 2);
    must_reserve("c", "t", 4 * USD, 7);
    must_commit();
    assert_int_equal(atoll_spend_summary_write(spending, path, &err), 0);
    for (int is_owned = 1; is_owned >= 0; is_owned--) {
        json_t *summary = atoll_spend_summary_read(path, limits, 2, &err);
        assert_non_null(summary);
        const json_t *c = account(summary, "campaign", "c"), *owner = json_object_get(summary, "owner");
        assert_string_equal(json_string_value(json_object_get(owner, "state")),
                            is_owned ? "running" : "ended");
        expect_close(usd(c, "spent"), 1, 1e-12);
        expect_close(usd(c, "reserved"), is_owned ? 4 : 0, 1e-12);
        expect_close(usd(c, "unknown"), is_owned ? 0 : 4, 1e-12);
        expect_close(usd(c, "left"), 5, 1e-12);
        expect_close(usd(account(summary, "model", "unused"), "left"), 3, 1e-12);
        assert_true(json_is_null(
            json_object_get(json_object_get(account(summary, "day", "2024-10-04"), "tokens"), "limit")));
        json_decref(summary);
        close_it();
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_limit_is_kept_to_the_nanodollar),
        TEST(what_a_limit_speaks_of),
        TEST(more_than_was_reserved_is_spent_as_it_is),
        TEST(nothing_wraps_around),
        TEST(what_a_kill_cut_short_counts_as_spent),
        TEST(a_full_disk_loses_nothing),
        TEST(names_have_an_end),
        TEST(the_summary_tells_while_it_is_owned_and_after),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
