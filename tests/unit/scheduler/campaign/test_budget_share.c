#include "tests/support/expect.h"

#include "scheduler/campaign/submission.h"

static struct atoll_budget_share share_of(size_t number, size_t parts, size_t tasks, size_t jobs)
{
    size_t first = number * tasks / parts;
    return (struct atoll_budget_share){number, parts, first, (number + 1) * tasks / parts - first,
                                       tasks,  jobs};
}

static void test_parts_have_together_what_the_whole_has(void **state)
{
    static const struct {
        uint64_t budget;
        size_t parts, tasks;
    } cases[] = {{1, 1, 1},     {4, 4, 4},          {4, 4, 13},   {5, 4, 13},
                 {1000, 7, 13}, {10, 3, 100},       {11, 10, 10}, {4096, 4096, 4096},
                 {9007, 4, 6},  {UINT64_MAX, 4, 7}, {3, 2, 5}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct atoll_search whole = {.evaluation_budget = cases[i].budget,
                                           .token_budget = cases[i].budget,
                                           .device_budget_ns = 8e9,
                                           .money_budget_usd = 3};
        uint64_t evaluations = 0, tokens = 0;
        double device_ns = 0, usd = 0;
        assert_int_equal(atoll_budget_share_check(&whole, cases[i].parts, NULL), 0);
        for (size_t k = 0; k < cases[i].parts; k++) {
            struct atoll_budget_share share = share_of(k, cases[i].parts, cases[i].tasks, 1);
            struct atoll_search part = atoll_budget_share_of(&whole, &share);
            assert_true(part.evaluation_budget > 0); /* 0 would be no limit */
            evaluations += part.evaluation_budget;
            tokens += part.token_budget;
            device_ns += part.device_budget_ns;
            usd += part.money_budget_usd;
        }
        assert_true(evaluations == cases[i].budget && tokens == cases[i].budget);
        expect_close(device_ns, 8e9, 1e-9);
        expect_close(usd, 3, 1e-9);
    }
}

static void test_no_limit_stays_none_and_seeds_differ(void **state)
{
    const struct atoll_search whole = {.seed = 7};
    struct atoll_budget_share share = share_of(2, 3, 9, 1);
    struct atoll_search part = atoll_budget_share_of(&whole, &share);
    assert_true(part.evaluation_budget == 0 && part.token_budget == 0);
    assert_true(part.device_budget_ns == 0 && part.money_budget_usd == 0 && part.wall_budget_ns == 0);
    assert_int_equal(part.seed, 9);
    assert_int_equal(atoll_budget_share_check(&whole, 4096, NULL), 0);
}

static void test_the_clock_is_divided_when_parts_follow_each_other(void **state)
{
    static const struct {
        size_t parts, jobs;
        double wall_ns;
    } cases[] = {{1, 1, 1e9}, {4, 4, 1e9}, {4, 8, 1e9}, {4, 1, 0.25e9}, {8, 2, 0.25e9}};
    const struct atoll_search whole = {.wall_budget_ns = 1e9};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_budget_share share = share_of(0, cases[i].parts, 16, cases[i].jobs);
        expect_close(atoll_budget_share_of(&whole, &share).wall_budget_ns, cases[i].wall_ns, 1e-12);
    }
}

static void test_less_than_one_for_each_is_refused(void **state)
{
    struct atoll_search whole = {.evaluation_budget = 3};
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(atoll_budget_share_check(&whole, 4, &err), -1);
    expect_err(&err, ATOLL_E_USAGE, "--evaluations 3 is less than one for each of 4 parts; lower --jobs");
    whole = (struct atoll_search){.token_budget = 1};
    err = (struct atoll_err)ATOLL_ERR_INIT;
    assert_int_equal(atoll_budget_share_check(&whole, 2, &err), -1);
    expect_err(&err, ATOLL_E_USAGE, "--tokens 1 is less");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_have_together_what_the_whole_has),
        cmocka_unit_test(test_no_limit_stays_none_and_seeds_differ),
        cmocka_unit_test(test_the_clock_is_divided_when_parts_follow_each_other),
        cmocka_unit_test(test_less_than_one_for_each_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
