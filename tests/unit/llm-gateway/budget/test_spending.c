/* test_spending.c - one holder: limits, settlements, days, unknown calls, and what is refused with which words. */
#include "tests/support/expect.h"

#include "tests/unit/llm-gateway/failing_disk.h"
#include "llm-gateway/budget/spending.h"

#define SECOND ((int64_t)1000000000)
#define DAY    (86400 * SECOND)
#define NOON   (20000 * DAY + DAY / 2) /* 2024-10-04 12:00 UTC */
#define NONE   UINT64_MAX
#define USD    ((atoll_nanousd)1000000000)

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

static struct atoll_spending *open_with(const struct atoll_spending_limit *limits, size_t count,
                                        const char *holder, struct atoll_err *err)
{
    const struct atoll_spending_settings settings = {
        .folder = folder, .holder = holder, .limits = limits, .limit_count = count, .ops = calm_ops()};
    return atoll_spending_open(&settings, NOON, err);
}

static struct atoll_spending *must_open(const struct atoll_spending_limit *limits, size_t count)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_spending *spending = open_with(limits, count, "one", &err);
    if (!spending)
        fail_msg("%s", err.text);
    return spending;
}

/* The process is gone: nothing more reaches the disk. */
static void kill_it(struct atoll_spending *spending, struct failing_disk *disk)
{
    disk->is_dead = 1;
    atoll_spending_close(spending);
}

static struct atoll_spending *open_mortal(const struct atoll_spending_limit *limits, size_t count,
                                          struct failing_disk *disk)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const struct atoll_spending_settings settings = {.folder = folder,
                                                     .holder = "one",
                                                     .limits = limits,
                                                     .limit_count = count,
                                                     .ops = failing_init(disk, FAILS_NOT, -1)};
    struct atoll_spending *spending = atoll_spending_open(&settings, NOON, &err);
    if (!spending)
        fail_msg("%s", err.text);
    return spending;
}

static struct atoll_spending_purpose of(const char *campaign, const char *task, const char *model)
{
    return (struct atoll_spending_purpose){
        .campaign = campaign, .task = task, .model = model, .request = atoll_id_of(task, strlen(task))};
}

static uint64_t must_reserve(struct atoll_spending *spending, const char *campaign, const char *task,
                             const char *model, atoll_nanousd money, uint64_t tokens)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_spending_purpose purpose = of(campaign, task, model);
    uint64_t number = 0;
    if (atoll_spending_reserve(spending, &purpose, money, tokens, NOON, &number, &err) != 0)
        fail_msg("%s", err.text);
    assert_true(number > 0);
    return number;
}

static enum atoll_code reserve_at(struct atoll_spending *spending, atoll_nanousd money, int64_t unix_ns,
                                  struct atoll_err *err)
{
    struct atoll_spending_purpose purpose = of("c", "t", "m");
    uint64_t number = 0;
    atoll_err_clear(err);
    return atoll_spending_reserve(spending, &purpose, money, 1, unix_ns, &number, err) == 0 ? ATOLL_OK
                                                                                            : err->code;
}

static void bad_settings_are_refused(void **state)
{
    static const struct {
        const char *folder, *holder;
        size_t limit_count;
        const char *says;
    } cases[] = {
        {"", "one", 0, "needs a folder"},
        {NULL, "one", 0, "needs a folder"},
        {"x", NULL, 0, "holder's name"},
        {"x", "", 0, "holder's name"},
        {"x", "a/b", 0, "holder's name"},
        {"x", "a b", 0, "holder's name"},
        {"x", "0123456789012345678901234567890123456789012345678901234567890123", 0, "1 to 63"},
        {"x", "one", ATOLL_SPENDING_LIMIT_COUNT + 1, "at most 64"},
        {"x", "one", 1, "limit 0"},
    };
    static const struct atoll_spending_limit none[ATOLL_SPENDING_LIMIT_COUNT + 1] = {
        {.scope = ATOLL_SCOPE_COUNT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        const struct atoll_spending_settings settings = {.folder = cases[i].folder,
                                                         .holder = cases[i].holder,
                                                         .limits = none,
                                                         .limit_count = cases[i].limit_count};
        assert_null(atoll_spending_open(&settings, NOON, &err));
        assert_int_equal(err.code, ATOLL_E_INPUT);
        if (!strstr(err.text, cases[i].says))
            fail_msg("case %zu: %s", i, err.text);
    }
    atoll_spending_close(NULL);
}

static void a_holder_lives_once(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_spending *spending = must_open(NULL, 0);
    assert_null(open_with(NULL, 0, "one", &err));
    assert_int_equal(err.code, ATOLL_E_BUSY);
    assert_non_null(strstr(err.text, "'one'"));
    struct atoll_spending *other = open_with(NULL, 0, "two", &err);
    assert_non_null(other);
    atoll_spending_close(other);
    atoll_spending_close(spending);
    atoll_spending_close(must_open(NULL, 0));
}

static void what_is_settled_is_there_again(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_spending_sum sum;
    struct atoll_spending *spending = must_open(NULL, 0);
    uint64_t a = must_reserve(spending, "c", "t", "m", 10 * USD, 1000);
    uint64_t b = must_reserve(spending, "c", "u", "m", 5 * USD, 500);
    assert_int_not_equal(a, b);
    assert_true(atoll_spending_is_dirty(spending));
    assert_int_equal(atoll_spending_settle(spending, a, 4 * USD, 300, &err), 0);
    atoll_spending_own(spending, &sum);
    assert_int_equal(sum.spent_money, 4 * USD);
    assert_int_equal(sum.reserved_money, 5 * USD);
    assert_int_equal(sum.reserved_tokens, 500);
    assert_int_equal(atoll_spending_sync(spending, &err), 0);
    assert_false(atoll_spending_is_dirty(spending));
    assert_int_equal(atoll_spending_settle(spending, b, 0, 0, &err), 0);
    atoll_spending_close(spending); /* syncs */
    spending = must_open(NULL, 0);
    assert_int_equal(atoll_spending_sum(spending, &sum, &err), 0);
    assert_int_equal(sum.spent_money, 4 * USD);
    assert_int_equal(sum.spent_tokens, 300);
    assert_int_equal(sum.reserved_money + sum.unknown_money + sum.excess_money, 0);
    assert_int_equal(sum.calls, 2);
    assert_true(must_reserve(spending, "c", "t", "m", 1, 1) > b);
    atoll_spending_close(spending);
}

static void a_number_settles_once(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_spending *spending = must_open(NULL, 0);
    uint64_t a = must_reserve(spending, "c", "t", "m", 10, 10);
    assert_int_equal(atoll_spending_settle(spending, a, 1, 1, &err), 0);
    assert_int_equal(atoll_spending_settle(spending, a, 1, 1, &err), -1);
    assert_int_equal(err.code, ATOLL_E_NOTFOUND);
    assert_int_equal(atoll_spending_settle(spending, 77, 1, 1, &err), -1);
    uint64_t b = must_reserve(spending, "c", "t", "m", 10, 10);
    assert_int_equal(atoll_spending_excuse(spending, b, &err), -1); /* it is open, not unknown */
    atoll_spending_close(spending);
}

static void each_scope_has_its_limit(void **state)
{
    static const struct {
        struct atoll_spending_limit limit;
        struct {
            const char *campaign, *task, *model;
            atoll_nanousd money;
            uint64_t tokens;
            enum atoll_code code;
        } calls[4];
        const char *says[3];
    } cases[] = {
        {{ATOLL_SCOPE_CAMPAIGN, "", 10 * USD, NONE},
         {{"a", "t", "m", 8 * USD, 1, ATOLL_OK},
          {"b", "t", "m", 8 * USD, 1, ATOLL_OK},
          {"a", "u", "n", 3 * USD, 1, ATOLL_E_BUSY},
          {"a", "u", "n", 2 * USD, 1, ATOLL_OK}},
         {"campaign 'a'", "10.00 USD", "calls in flight"}},
        {{ATOLL_SCOPE_CAMPAIGN, "a", 10 * USD, NONE},
         {{"b", "t", "m", 80 * USD, 1, ATOLL_OK},
          {"a", "t", "m", 11 * USD, 1, ATOLL_E_LIMIT},
          {"a", "t", "m", 10 * USD, 1, ATOLL_OK},
          {"a", "t", "m", 1, 1, ATOLL_E_BUSY}},
         {"campaign 'a'", "10.00 USD left", "the call may take 11.00 USD"}},
        {{ATOLL_SCOPE_TASK, "", NONE, 1000},
         {{"a", "t", "m", 1, 900, ATOLL_OK},
          {"a", "u", "m", 1, 900, ATOLL_OK},
          {"b", "t", "m", 1, 900, ATOLL_OK},
          {"a", "t", "m", 1, 1001, ATOLL_E_LIMIT}},
         {"task 't' of campaign 'a'", "1000 tokens", "raise the limit"}},
        {{ATOLL_SCOPE_MODEL, "m", 5 * USD, 100},
         {{"a", "t", "m", 4 * USD, 90, ATOLL_OK},
          {"b", "t", "m", 1 * USD, 11, ATOLL_E_BUSY},
          {"b", "t", "n", 90 * USD, 1100, ATOLL_OK},
          {"b", "t", "m", 1 * USD, 10, ATOLL_OK}},
         {"model 'm'", "5.00 USD and 100 tokens", "calls in flight"}},
        {{ATOLL_SCOPE_DAY, "", 5 * USD, NONE},
         {{"a", "t", "m", 2 * USD, 1, ATOLL_OK},
          {"b", "t", "n", 3 * USD, 1, ATOLL_OK},
          {"c", "t", "o", 6 * USD, 1, ATOLL_E_LIMIT},
          {"c", "t", "o", 0, 1, ATOLL_OK}},
         {"day 2024-10-04", "5.00 USD left", "midnight UTC"}},
        {{ATOLL_SCOPE_TASK, "t", 0, NONE},
         {{"a", "t", "m", 1, 1, ATOLL_E_LIMIT},
          {"a", "u", "m", 1, 1, ATOLL_OK},
          {"a", "t", "m", 0, 1, ATOLL_OK},
          {"a", "", "m", 1, 1, ATOLL_OK}},
         {"task 't'", "0.00 USD left", "may take 0.000000001 USD"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tear_down(state);
        set_up(state);
        struct atoll_spending *spending = must_open(&cases[i].limit, 1);
        for (size_t c = 0; c < 4; c++) {
            struct atoll_err err = ATOLL_ERR_INIT;
            struct atoll_spending_purpose purpose =
                of(cases[i].calls[c].campaign, cases[i].calls[c].task, cases[i].calls[c].model);
            uint64_t number;
            int rc = atoll_spending_reserve(spending, &purpose, cases[i].calls[c].money,
                                            cases[i].calls[c].tokens, NOON, &number, &err);
            if ((rc == 0 ? ATOLL_OK : err.code) != cases[i].calls[c].code)
                fail_msg("case %zu call %zu: %s %s", i, c, atoll_code_name(err.code), err.text);
            for (size_t t = 0; rc != 0 && t < 3; t++)
                if (!strstr(err.text, cases[i].says[t]) && c < 3 && !(i == 1 && c == 3))
                    fail_msg("case %zu call %zu lacks \"%s\": %s", i, c, cases[i].says[t], err.text);
        }
        atoll_spending_close(spending);
    }
}

static void limits_of_one_thing_all_hold(void **state)
{
    static const struct atoll_spending_limit limits[] = {{ATOLL_SCOPE_CAMPAIGN, "", 10 * USD, NONE},
                                                         {ATOLL_SCOPE_CAMPAIGN, "c", 4 * USD, 50}};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_spending *spending = must_open(limits, 2);
    assert_int_equal(reserve_at(spending, 5 * USD, NOON, &err), ATOLL_E_LIMIT);
    assert_int_equal(reserve_at(spending, 4 * USD, NOON, &err), ATOLL_OK);
    atoll_spending_close(spending);
}

/* Alone, a holder gets the last nanodollar, whatever the sizes of grants. */
static void one_alone_can_spend_everything(void **state)
{
    static const struct atoll_spending_limit limit = {ATOLL_SCOPE_CAMPAIGN, "", 1000, NONE};
    static const atoll_nanousd sizes[] = {1, 7, 10, 333, 499, 500, 999, 1000};
    struct atoll_err err = ATOLL_ERR_INIT;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        tear_down(state);
        set_up(state);
        struct atoll_spending *spending = must_open(&limit, 1);
        struct atoll_spending_sum sum;
        for (atoll_nanousd n = 0; n < 1000 / sizes[i]; n++)
            atoll_spending_settle(spending, must_reserve(spending, "c", "t", "m", sizes[i], 1), sizes[i], 1,
                                  &err);
        if (1000 % sizes[i])
            must_reserve(spending, "c", "t", "m", 1000 % sizes[i], 1);
        assert_int_not_equal(reserve_at(spending, 1, NOON, &err), ATOLL_OK);
        assert_int_equal(atoll_spending_sum(spending, &sum, &err), 0);
        assert_int_equal(sum.spent_money + sum.reserved_money, 1000);
        atoll_spending_close(spending);
    }
}

static void a_reservation_counts_for_its_day(void **state)
{
    static const struct atoll_spending_limit limit = {ATOLL_SCOPE_DAY, "", 10 * USD, NONE};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_spending *spending = must_open(&limit, 1);
    int64_t before = 20001 * DAY - 1, after = 20001 * DAY;
    struct atoll_spending_purpose purpose = of("c", "t", "m");
    uint64_t late;
    assert_int_equal(atoll_spending_reserve(spending, &purpose, 8 * USD, 1, before, &late, &err), 0);
    assert_int_equal(reserve_at(spending, 3 * USD, before, &err), ATOLL_E_BUSY);
    assert_int_equal(reserve_at(spending, 9 * USD, after, &err), ATOLL_OK); /* a new day */
    assert_int_equal(atoll_spending_settle(spending, late, 7 * USD, 1, &err), 0);
    assert_int_equal(reserve_at(spending, 2 * USD, after, &err),
                     ATOLL_E_BUSY);                                          /* nothing of it is of today */
    assert_int_equal(reserve_at(spending, 3 * USD, before, &err), ATOLL_OK); /* the clock went back */
    assert_int_equal(reserve_at(spending, 1, before, &err), ATOLL_E_BUSY);
    assert_int_equal(reserve_at(spending, 1 * USD, after, &err), ATOLL_OK);
    atoll_spending_close(spending);
}

static void dates_are_those_of_the_calendar(void **state)
{
    static const struct {
        int64_t unix_ns;
        const char *date;
    } cases[] = {
        {0, "1970-01-01"},           {-1, "1969-12-31"},          {59 * DAY - 1, "1970-02-28"},
        {789 * DAY, "1972-02-29"},   {11016 * DAY, "2000-02-29"}, {11017 * DAY, "2000-03-01"},
        {20777 * DAY, "2026-11-20"}, {47541 * DAY, "2100-03-01"},
    };
    static const struct atoll_spending_limit limit = {ATOLL_SCOPE_DAY, "", 0, NONE};
    struct atoll_spending *spending = must_open(&limit, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct atoll_err err;
        assert_int_equal(reserve_at(spending, 1, cases[i].unix_ns, &err), ATOLL_E_LIMIT);
        if (!strstr(err.text, cases[i].date))
            fail_msg("%s: %s", cases[i].date, err.text);
    }
    atoll_spending_close(spending);
}

static void limits_may_change_between_starts(void **state)
{
    struct atoll_spending_limit limit = {ATOLL_SCOPE_CAMPAIGN, "", 10 * USD, NONE};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_spending *spending = must_open(NULL, 0); /* nothing is limited, everything is counted */
    atoll_spending_settle(spending, must_reserve(spending, "c", "t", "m", 6 * USD, 1), 6 * USD, 1, &err);
    atoll_spending_close(spending);
    spending = must_open(&limit, 1);
    assert_int_equal(reserve_at(spending, 5 * USD, NOON, &err), ATOLL_E_LIMIT);
    atoll_spending_settle(spending, must_reserve(spending, "c", "t", "m", 2 * USD, 1), 2 * USD, 1, &err);
    atoll_spending_close(spending);
    limit.money = 3 * USD; /* less than was spent: nothing more */
    spending = must_open(&limit, 1);
    assert_int_equal(reserve_at(spending, 1, NOON, &err), ATOLL_E_LIMIT);
    assert_non_null(strstr(err.text, "0.00 USD left"));
    atoll_spending_close(spending);
    limit.money = 9 * USD;
    spending = must_open(&limit, 1);
    assert_int_equal(reserve_at(spending, 1 * USD, NOON, &err), ATOLL_OK);
    assert_int_equal(reserve_at(spending, 1, NOON, &err), ATOLL_E_BUSY);
    atoll_spending_close(spending);
}

static void excess_is_counted_apart_and_made_up_for(void **state)
{
    static const struct atoll_spending_limit limit = {ATOLL_SCOPE_CAMPAIGN, "", 10 * USD, NONE};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_spending_sum sum;
    struct atoll_spending *spending = must_open(&limit, 1);
    uint64_t a = must_reserve(spending, "c", "t", "m", 3 * USD, 100);
    assert_int_equal(atoll_spending_settle(spending, a, 5 * USD, 40, &err), 0);
    assert_int_equal(atoll_spending_sync(spending, &err), 0);
    atoll_spending_own(spending, &sum);
    assert_int_equal(sum.spent_money, 5 * USD);
    assert_int_equal(sum.excess_money, 2 * USD);
    assert_int_equal(sum.excess_tokens, 0);
    assert_int_equal(reserve_at(spending, 6 * USD, NOON, &err), ATOLL_E_LIMIT);
    uint64_t b = must_reserve(spending, "c", "t", "m", 5 * USD, 1);
    assert_int_equal(atoll_spending_settle(spending, b, 9 * USD, 1, &err),
                     0); /* beyond the limit: it is so */
    assert_int_equal(atoll_spending_sync(spending, &err), 0);
    assert_int_equal(reserve_at(spending, 1, NOON, &err), ATOLL_E_LIMIT);
    atoll_spending_close(spending);
    spending = must_open(&limit, 1);
    atoll_spending_own(spending, &sum);
    assert_int_equal(sum.spent_money, 14 * USD);
    assert_int_equal(sum.excess_money, 6 * USD);
    assert_int_equal(reserve_at(spending, 1, NOON, &err), ATOLL_E_LIMIT);
    atoll_spending_close(spending);
}

static void what_a_kill_left_open_is_unknown(void **state)
{
    static const struct atoll_spending_limit limit = {ATOLL_SCOPE_CAMPAIGN, "", 10 * USD, NONE};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_spending_sum sum;
    struct failing_disk disk;
    struct atoll_spending *spending = open_mortal(&limit, 1, &disk);
    uint64_t kept = must_reserve(spending, "c", "kept", "m", 3 * USD, 30), found = 0;
    uint64_t again = must_reserve(spending, "c", "kept", "m", 2 * USD, 20);
    assert_int_equal(atoll_spending_sync(spending, &err), 0);
    must_reserve(spending, "c", "lost", "m", 4 * USD, 40); /* never acknowledged */
    kill_it(spending, &disk);

    struct atoll_id kept_id = of("c", "kept", "m").request, lost_id = of("c", "lost", "m").request;
    spending = must_open(&limit, 1);
    assert_int_equal(atoll_spending_sum(spending, &sum, &err), 0);
    assert_int_equal(sum.unknown_money, 5 * USD);
    assert_int_equal(sum.unknown_calls, 2);
    assert_int_equal(sum.reserved_money, 0);
    assert_int_equal(atoll_spending_unknown(spending, &lost_id, &found), 0);
    assert_int_equal(atoll_spending_unknown(spending, &kept_id, &found), 1);
    assert_int_equal(found, kept);
    assert_int_equal(atoll_spending_excuse(spending, found, &err), 0);
    assert_int_equal(atoll_spending_unknown(spending, &kept_id, &found), 1);
    assert_int_equal(found, again);
    atoll_spending_own(spending, &sum);
    assert_int_equal(sum.unknown_money, 5 * USD); /* excused is not repaid */
    assert_int_equal(reserve_at(spending, 6 * USD, NOON, &err), ATOLL_E_LIMIT);
    atoll_spending_close(spending);

    spending = must_open(&limit, 1);
    assert_int_equal(atoll_spending_unknown(spending, &kept_id, &found), 1);
    assert_int_equal(found, again); /* the excuse was kept */
    assert_int_equal(atoll_spending_settle(spending, again, USD / 2, 5, &err),
                     0); /* its answer was in the store */
    assert_int_equal(atoll_spending_settle(spending, kept, USD, 5, &err), 0);
    atoll_spending_own(spending, &sum);
    assert_int_equal(sum.unknown_money, 0);
    assert_int_equal(sum.unknown_calls, 0);
    assert_int_equal(sum.spent_money, USD + USD / 2);
    assert_int_equal(reserve_at(spending, 8 * USD, NOON, &err), ATOLL_OK);
    atoll_spending_close(spending);
}

static void what_is_left_is_told(void **state)
{
    static const struct atoll_spending_limit limits[] = {{ATOLL_SCOPE_CAMPAIGN, "", 10 * USD, NONE},
                                                         {ATOLL_SCOPE_TASK, "t", NONE, 100},
                                                         {ATOLL_SCOPE_MODEL, "m", 50 * USD, NONE},
                                                         {ATOLL_SCOPE_DAY, "", 20 * USD, NONE}};
    static const struct {
        size_t limit;
        const char *name;
        atoll_nanousd money;
        uint64_t tokens;
    } cases[] = {
        {0, "c", 7 * USD, NONE}, {0, "other", 10 * USD, NONE}, {1, "c/t", NONE, 60},
        {1, "c/u", NONE, 100},   {2, NULL, 47 * USD, NONE},    {3, "2024-10-04", 17 * USD, NONE},
        {3, "", 20 * USD, NONE},
    };
    struct atoll_spending *spending = must_open(limits, 4);
    atoll_nanousd money;
    uint64_t tokens;
    must_reserve(spending, "c", "t", "m", 3 * USD, 40);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(atoll_spending_left(spending, cases[i].limit, cases[i].name, &money, &tokens), 0);
        if (money != cases[i].money || tokens != cases[i].tokens)
            fail_msg("case %zu: %llu %llu", i, (unsigned long long)money, (unsigned long long)tokens);
    }
    assert_int_equal(atoll_spending_left(spending, 4, "c", &money, &tokens), -1);
    atoll_spending_close(spending);
}

static void what_cannot_be_counted_is_refused(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_spending *spending = must_open(NULL, 0);
    char name[200];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    struct atoll_spending_purpose purpose = of(name, "t", "m");
    uint64_t number;
    assert_int_equal(atoll_spending_reserve(spending, &purpose, 1, 1, NOON, &number, &err), -1);
    assert_int_equal(err.code, ATOLL_E_INPUT);
    assert_non_null(strstr(err.text, "campaign"));
    assert_int_equal(reserve_at(spending, UINT64_MAX, NOON, &err), ATOLL_E_LIMIT);
    purpose = of(NULL, "t", NULL);
    assert_int_equal(atoll_spending_reserve(spending, &purpose, 1, 1, NOON, &number, &err), 0);
    atoll_spending_close(spending);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(bad_settings_are_refused),
        CASE(a_holder_lives_once),
        CASE(what_is_settled_is_there_again),
        CASE(a_number_settles_once),
        CASE(each_scope_has_its_limit),
        CASE(limits_of_one_thing_all_hold),
        CASE(one_alone_can_spend_everything),
        CASE(a_reservation_counts_for_its_day),
        CASE(dates_are_those_of_the_calendar),
        CASE(limits_may_change_between_starts),
        CASE(excess_is_counted_apart_and_made_up_for),
        CASE(what_a_kill_left_open_is_unknown),
        CASE(what_is_left_is_told),
        CASE(what_cannot_be_counted_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
