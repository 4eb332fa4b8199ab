/* The account of a device's time, by a clock of the test. */
#include "tests/support/expect.h"

#include <stdlib.h>

#include "mpi-eval/referee/time_account.h"

static double now; /* ns */
static struct atoll_time_account *account;

static double clock_ns(void *context)
{
    return now;
}

static int set_up(void **state)
{
    now = 5e9;
    account = atoll_time_account_create(clock_ns, NULL, NULL);
    return account ? 0 : -1;
}

static int tear_down(void **state)
{
    atoll_time_account_destroy(account);
    return 0;
}

static struct atoll_time_report report_of(int is_all)
{
    struct atoll_time_report report;
    assert_int_equal(atoll_time_account_report(account, is_all, &report, NULL), 0);
    return report;
}

/* Of a task in a part; the whole of everything is the time since the beginning. */
static void expect_time(uint32_t task, enum atoll_time_part part, double ns)
{
    struct atoll_time_report report = report_of(1);
    double whole = 0, found = 0;
    for (size_t i = 0; i < report.count; i++) {
        whole += atoll_device_time_whole_ns(&report.times[i].time);
        found += report.times[i].task == task ? report.times[i].time.ns[part] : 0;
    }
    free(report.times);
    expect_close(found, ns, 1e-12);
    expect_close(whole, now - 5e9, 1e-12);
}

static void it_begins_with_the_start(void **state)
{
    expect_time(ATOLL_TIME_OF_NO_TASK, ATOLL_TIME_START, 0);
    now += 2e9;
    expect_time(ATOLL_TIME_OF_NO_TASK, ATOLL_TIME_START, 2e9);
    atoll_time_account_destroy(NULL);
}

static void parts_follow_each_other(void **state)
{
    now += 1e9;
    atoll_time_account_begin(account, ATOLL_TIME_OTHER, 7);
    now += 2e9;
    enum atoll_time_part before = atoll_time_account_enter(account, ATOLL_TIME_COUNTERS);
    assert_int_equal(before, ATOLL_TIME_OTHER);
    now += 3e9;
    assert_int_equal(atoll_time_account_enter(account, before), ATOLL_TIME_COUNTERS);
    now += 4e9;
    atoll_time_account_begin(account, ATOLL_TIME_TASKS, 3);
    now += 5e9;
    atoll_time_account_begin(account, ATOLL_TIME_OTHER, 7);
    now += 6e9;
    expect_time(ATOLL_TIME_OF_NO_TASK, ATOLL_TIME_START, 1e9);
    expect_time(7, ATOLL_TIME_COUNTERS, 3e9);
    expect_time(7, ATOLL_TIME_OTHER, 12e9);
    expect_time(3, ATOLL_TIME_TASKS, 5e9);
    struct atoll_time_report report = report_of(1);
    assert_int_equal(report.count, 3);
    for (size_t i = 1; i < report.count; i++) /* as they travel */
        assert_true(report.times[i].task > report.times[i - 1].task);
    free(report.times);
}

/* What nobody works at is idle, or waits for what orders need; the other thread says which, at any moment. */
static void waiting_is_idle_or_not(void **state)
{
    atoll_time_account_orders(account, 1); /* it is not waiting: nothing changes */
    now += 1e9;
    atoll_time_account_wait(account);
    now += 2e9;
    atoll_time_account_orders(account, 0);
    now += 4e9;
    atoll_time_account_orders(account, 1);
    now += 8e9;
    atoll_time_account_begin(account, ATOLL_TIME_OTHER, 0);
    atoll_time_account_orders(account, 0);
    now += 16e9;
    expect_time(ATOLL_TIME_OF_NO_TASK, ATOLL_TIME_START, 1e9);
    expect_time(ATOLL_TIME_OF_NO_TASK, ATOLL_TIME_COMPILING, 10e9);
    expect_time(ATOLL_TIME_OF_NO_TASK, ATOLL_TIME_IDLE, 4e9);
    expect_time(0, ATOLL_TIME_OTHER, 16e9);
}

static void a_sample_is_split_at_its_end(void **state)
{
    static const struct {
        double candidates, inputs; /* said */
        double got_candidates, got_inputs, got_rest;
    } cases[] = {{3e9, 5e9, 3e9, 5e9, 2e9},
                 {0, 0, 0, 0, 10e9},
                 {-1e9, 4e9, 0, 4e9, 6e9}, /* a clock that went back */
                 {15e9, 5e9, 7.5e9, 2.5e9, 0} /* more than there was */};
    double candidates = 0, inputs = 0, rest = 0;
    atoll_time_account_begin(account, ATOLL_TIME_RIVALS, 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_device_time parts = {{0}};
        parts.ns[ATOLL_TIME_CANDIDATES] = cases[i].candidates;
        parts.ns[ATOLL_TIME_INPUTS] = cases[i].inputs;
        atoll_time_account_sample_begin(account);
        now += 10e9;
        atoll_time_account_sample_end(account, &parts);
        expect_time(1, ATOLL_TIME_CANDIDATES, candidates += cases[i].got_candidates);
        expect_time(1, ATOLL_TIME_INPUTS, inputs += cases[i].got_inputs);
        expect_time(1, ATOLL_TIME_RIVALS, rest += cases[i].got_rest);
    }
}

/* Whoever reads in between is told what is sure: that only grows. */
static void a_sample_under_way_is_left_out(void **state)
{
    struct atoll_device_time parts = {{0}};
    atoll_time_account_begin(account, ATOLL_TIME_OTHER, 1);
    now += 1e9;
    atoll_time_account_sample_begin(account);
    now += 10e9;
    struct atoll_time_report report = report_of(1);
    assert_int_equal(report.count, 2);
    expect_close(atoll_device_time_whole_ns(&report.times[0].time), 1e9, 1e-12);
    free(report.times);
    atoll_time_account_sample_end(account, &parts);
    expect_time(1, ATOLL_TIME_OTHER, 11e9);
}

static void only_what_has_grown_is_told(void **state)
{
    now += 1e9;
    for (uint32_t task = 0; task < 20; task++) {
        atoll_time_account_begin(account, ATOLL_TIME_OTHER, task);
        now += 1e9;
    }
    struct atoll_time_report first = report_of(0), second = report_of(0);
    assert_int_equal(first.count, 21);
    assert_int_equal(second.count, 0);
    assert_true(first.since_unix_ns == second.since_unix_ns && first.since_unix_ns > 0);
    now += 1e9;
    struct atoll_time_report third = report_of(0), all = report_of(1);
    assert_int_equal(third.count, 1);
    assert_int_equal(third.times[0].task, 19);
    expect_close(third.times[0].time.ns[ATOLL_TIME_OTHER], 2e9, 1e-12); /* cumulative */
    assert_int_equal(all.count, 21);
    free(first.times);
    free(second.times);
    free(third.times);
    free(all.times);
}

static void without_an_account_nothing_is_done(void **state)
{
    const struct atoll_device_time parts = {{0}};
    assert_int_equal(atoll_time_account_enter(NULL, ATOLL_TIME_CHECKS), ATOLL_TIME_CHECKS);
    atoll_time_account_begin(NULL, ATOLL_TIME_OTHER, 1);
    atoll_time_account_wait(NULL);
    atoll_time_account_orders(NULL, 1);
    atoll_time_account_sample_begin(NULL);
    atoll_time_account_sample_end(NULL, &parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_begins_with_the_start, set_up, tear_down),
        cmocka_unit_test_setup_teardown(parts_follow_each_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(waiting_is_idle_or_not, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_sample_is_split_at_its_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_sample_under_way_is_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_what_has_grown_is_told, set_up, tear_down),
        cmocka_unit_test(without_an_account_nothing_is_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
