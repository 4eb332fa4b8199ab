/* test_spending_view.c - a ledger as people see it: limits, what is under way, and what became of each holder. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/llm-gateway/failing_disk.h"
#include "llm-gateway/budget/spending_view.h"

#define NOON ((int64_t)20000 * 86400 * 1000000000 + 43200 * (int64_t)1000000000) /* 2024-10-04 12:00 UTC */
#define USD  ((atoll_nanousd)1000000000)
#define NONE UINT64_MAX

static const struct atoll_spending_limit limits[] = {
    {ATOLL_SCOPE_CAMPAIGN, "", 10 * USD, NONE},
    {ATOLL_SCOPE_CAMPAIGN, "c", 4 * USD, NONE}, /* the lesser one holds */
    {ATOLL_SCOPE_TASK, "rare", NONE, 5000},     /* nobody asks for it */
    {ATOLL_SCOPE_DAY, "", NONE, 100000},
};
#define LIMIT_COUNT (sizeof limits / sizeof *limits)

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

static struct atoll_spending *open_in(const char *boot, const char *holder,
                                      const struct atoll_frame_file_ops *ops)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const struct atoll_spending_settings settings = {.folder = folder,
                                                     .holder = holder,
                                                     .limits = limits,
                                                     .limit_count = LIMIT_COUNT,
                                                     .ops = ops,
                                                     .boot = boot};
    struct atoll_spending *spending = atoll_spending_open(&settings, NOON, &err);
    if (!spending)
        fail_msg("%s", err.text);
    return spending;
}

static struct atoll_spending *must_open(const char *holder, const struct atoll_frame_file_ops *ops)
{
    return open_in(NULL, holder, ops);
}

static uint64_t must_reserve(struct atoll_spending *spending, atoll_nanousd money, uint64_t tokens)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const struct atoll_spending_purpose purpose = {
        .campaign = "c", .task = "t", .model = "m", .request = atoll_id_of("r", 1)};
    uint64_t number = 0;
    if (atoll_spending_reserve(spending, &purpose, money, tokens, NOON, &number, &err) != 0 ||
        atoll_spending_sync(spending, &err) != 0)
        fail_msg("%s", err.text);
    return number;
}

static struct atoll_spending_view *must_read(void)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_spending_view *view = atoll_spending_view_read(folder, limits, LIMIT_COUNT, &err);
    if (!view)
        fail_msg("%s", err.text);
    return view;
}

static const struct atoll_spending_view_row *row_of(const struct atoll_spending_view *view,
                                                    enum atoll_spending_scope scope, const char *name)
{
    for (size_t i = 0; i < view->row_count; i++)
        if (view->rows[i].scope == scope && strcmp(view->rows[i].name, name) == 0)
            return &view->rows[i];
    fail_msg("no row of scope %d and name '%s'", (int)scope, name);
    return NULL;
}

static void expect(const struct atoll_spending_figures *f, uint64_t limit, uint64_t spent, uint64_t reserved,
                   uint64_t unknown, uint64_t left)
{
    assert_int_equal(f->limit, limit);
    assert_int_equal(f->spent, spent);
    assert_int_equal(f->reserved, reserved);
    assert_int_equal(f->unknown, unknown);
    assert_int_equal(f->left, left);
}

static void nothing_there_is_said(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char path[5000];
    assert_null(atoll_spending_view_read(folder, limits, LIMIT_COUNT, &err));
    assert_int_equal(err.code, ATOLL_E_NOTFOUND);
    assert_non_null(strstr(err.text, "ledger.atl"));
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_null(atoll_spending_view_read(path, NULL, 0, &err));
    assert_int_equal(err.code, ATOLL_E_LIMIT);
    assert_string_equal(atoll_spending_holder_state_name(ATOLL_SPENDING_HOLDER_LOST), "lost");
    assert_string_equal(atoll_spending_holder_state_name(ATOLL_SPENDING_HOLDER_STATE_COUNT), "unknown");
    atoll_spending_view_destroy(NULL);
}

static void a_gateway_at_work(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_spending *one = must_open("one", NULL);
    uint64_t first = must_reserve(one, USD, 1000);
    must_reserve(one, USD / 2, 200);
    assert_int_equal(atoll_spending_settle(one, first, USD / 4, 100, &err), 0);
    assert_int_equal(atoll_spending_sync(one, &err), 0);
    struct atoll_spending_view *view = must_read();
    const struct atoll_spending_view_row *row = row_of(view, ATOLL_SCOPE_CAMPAIGN, "c");
    expect(&row->money, 4 * USD, USD / 4, USD / 2, 0, 4 * USD - USD / 4 - USD / 2);
    expect(&row->tokens, NONE, 100, 200, 0, NONE);
    assert_true(row->money.granted >= USD / 4 + USD / 2 && row->money.granted <= 4 * USD);
    expect(&row_of(view, ATOLL_SCOPE_DAY, "2024-10-04")->tokens, 100000, 100, 200, 0, 99700);
    row = row_of(view, ATOLL_SCOPE_TASK, "");
    assert_string_equal(row->task, "rare");
    expect(&row->tokens, 5000, 0, 0, 0, 5000);
    assert_int_equal(view->holder_count, 1);
    assert_int_equal(view->holders[0].state, ATOLL_SPENDING_HOLDER_LIVES);
    assert_int_equal(view->holders[0].sum.reserved_money, USD / 2);
    for (size_t i = 1; i < view->row_count; i++)
        assert_true(view->rows[i].scope >= view->rows[i - 1].scope);
    atoll_spending_view_destroy(view);
    must_reserve(one, USD, 1000); /* the view took nothing from it */
    atoll_spending_close(one);
}

static void holders_that_ended(void **state)
{
    struct failing_disk disk;
    char path[PATH_MAX + 32];
    struct atoll_spending *killed = must_open("killed", failing_init(&disk, FAILS_NOT, -1));
    must_reserve(killed, USD, 1000);
    disk.is_dead = 1;
    atoll_spending_close(killed);
    struct atoll_spending_view *view = must_read();
    expect(&row_of(view, ATOLL_SCOPE_CAMPAIGN, "c")->money, 4 * USD, 0, 0, USD, 3 * USD);
    assert_int_equal(view->holders[0].state, ATOLL_SPENDING_HOLDER_KILLED);
    assert_int_equal(view->holders[0].sum.unknown_money, USD);
    uint64_t granted = row_of(view, ATOLL_SCOPE_CAMPAIGN, "c")->money.granted;
    atoll_spending_view_destroy(view);

    snprintf(path, sizeof path, "%s/holders/killed.atl", folder);
    assert_int_equal(unlink(path), 0);
    view = must_read();
    assert_int_equal(view->holders[0].state, ATOLL_SPENDING_HOLDER_LOST);
    expect(&row_of(view, ATOLL_SCOPE_CAMPAIGN, "c")->money, 4 * USD, granted, 0, 0, 4 * USD - granted);
    atoll_spending_view_destroy(view);

    atoll_spending_close(must_open("left", NULL));
    view = must_read();
    assert_int_equal(view->holder_count, 2);
    assert_int_equal(view->holders[1].state, ATOLL_SPENDING_HOLDER_LEFT);
    atoll_spending_view_destroy(view);
}

/* Its machine was another one, or started anew since: the end of its journal may be lost. */
static void what_may_be_lost_is_unknown(void **state)
{
    struct failing_disk disk;
    struct atoll_spending *elsewhere = open_in("another boot", "killed", failing_init(&disk, FAILS_NOT, -1));
    must_reserve(elsewhere, USD / 10, 100);
    disk.is_dead = 1;
    atoll_spending_close(elsewhere);
    struct atoll_spending_view *view = must_read();
    const struct atoll_spending_view_row *row = row_of(view, ATOLL_SCOPE_CAMPAIGN, "c");
    uint64_t covered = USD / 10 + 4 * (USD / 10); /* and four times what came since the last sync */
    expect(&row->money, 4 * USD, 0, 0, covered, 4 * USD - covered);
    assert_int_equal(view->holders[0].sum.unknown_money, covered);
    assert_int_equal(view->holders[0].sum.unknown_tokens, 500);
    atoll_spending_view_destroy(view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_there_is_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_gateway_at_work, set_up, tear_down),
        cmocka_unit_test_setup_teardown(holders_that_ended, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_may_be_lost_is_unknown, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
