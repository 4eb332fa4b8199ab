/* What evaluators tell of their devices' time, added up and handed to the journal. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>

#include "mpi-eval/coordinator/time_ledger.h"

#define TASKS 5
#define NONE  ATOLL_TIME_OF_NO_TASK

static struct atoll_time_ledger *ledger;

static int set_up(void **state)
{
    ledger = atoll_time_ledger_create(100e9, NULL);
    return ledger ? 0 : -1;
}

static int tear_down(void **state)
{
    atoll_time_ledger_destroy(ledger);
    return 0;
}

/* So many seconds of checks for one task. */
static void tell(unsigned peer, double now_s, int64_t since, uint32_t task, double checks_s)
{
    struct atoll_task_time time = {.task = task};
    struct atoll_time_report report = {since, &time, 1};
    time.time.ns[ATOLL_TIME_CHECKS] = checks_s * 1e9;
    assert_int_equal(atoll_time_ledger_take(ledger, peer, now_s * 1e9, TASKS, &report, NULL), 0);
}

static void hello(unsigned peer, uint64_t key)
{
    struct atoll_device_info device = {.key = key, .model = "Example"};
    snprintf(device.node, sizeof(device.node), "n%u", peer);
    assert_int_equal(atoll_time_ledger_device(ledger, peer, &device, NULL), 0);
}

/* The next device that has something new, and what of it is. */
static void expect_next(uint64_t key, size_t count, uint32_t task, enum atoll_time_part part, double s)
{
    struct atoll_device_times times = {.count = 0};
    double found = 0;
    assert_int_equal(atoll_time_ledger_next(ledger, &times, NULL), 1);
    assert_int_equal(times.device, key);
    assert_int_equal(times.count, count);
    for (size_t i = 0; i < times.count; i++)
        found += times.times[i].task == task ? times.times[i].time.ns[part] : 0;
    free(times.times);
    expect_close(found, s * 1e9, 1e-12);
}

static void expect_all_journaled(void)
{
    struct atoll_device_times times;
    assert_int_equal(atoll_time_ledger_next(ledger, &times, NULL), 0);
}

static double whole_s(size_t index)
{
    struct atoll_time_sum sum;
    assert_int_equal(atoll_time_ledger_sum(ledger, index, &sum), 1);
    return atoll_device_time_whole_ns(&sum.time) / 1e9;
}

static void later_reports_replace_earlier_ones(void **state)
{
    hello(0, 77);
    expect_all_journaled(); /* it has told nothing */
    tell(0, 110, 1, 2, 10);
    expect_next(77, 1, 2, ATOLL_TIME_CHECKS, 10);
    expect_all_journaled();
    tell(0, 111, 1, NONE, 1);
    expect_next(77, 1, NONE, ATOLL_TIME_CHECKS, 1); /* that of task 2 stands in the journal */
    expect_all_journaled();
    tell(0, 115, 1, 2, 14);
    tell(0, 116, 1, 2, 15); /* a report that is lost costs nothing */
    expect_next(77, 1, 2, ATOLL_TIME_CHECKS, 15);
    expect_all_journaled();
    expect_close(whole_s(0), 16, 1e-12);
}

/* The time in which nobody worked on a device is of the part START: all of the attempt's is in some part. */
static void a_new_process_goes_on_behind_a_gap(void **state)
{
    tell(0, 103, 1, 0, 1); /* it came two seconds after the attempt began */
    hello(0, 77);
    tell(0, 110, 1, 0, 8);
    tell(0, 120, 2, 0, 3); /* another process; the first one was lost soon after 110 */
    hello(0, 77);
    tell(0, 121, 2, 0, 4);
    expect_next(77, 2, NONE, ATOLL_TIME_START, 2 + 7);
    expect_all_journaled();
    expect_close(whole_s(0), 21, 1e-12);
    tell(0, 121, 2, 0, 4); /* told again: nothing new */
    expect_all_journaled();
}

static void devices_are_apart(void **state)
{
    struct atoll_time_sum sum;
    tell(0, 110, 1, 0, 10);
    tell(1, 110, 1, 0, 10);
    tell(2, 110, 1, 0, 10); /* never says which device it has */
    hello(1, 78);
    hello(0, 77);
    expect_next(78, 1, 0, ATOLL_TIME_CHECKS, 10);
    expect_next(77, 1, 0, ATOLL_TIME_CHECKS, 10);
    expect_all_journaled();
    assert_int_equal(atoll_time_ledger_sum(ledger, 0, &sum), 1);
    assert_string_equal(sum.node, "n1");
    assert_string_equal(sum.model, "Example");
    assert_int_equal(atoll_time_ledger_sum(ledger, 2, &sum), 0);
    tell(0, 130, 2, 0, 20); /* made anew, it gets the other's device */
    hello(0, 78);
    expect_close(whole_s(0), 30, 1e-12);
    expect_close(whole_s(1), 10, 1e-12);
}

static void the_end_is_all_of_the_attempt(void **state)
{
    tell(0, 110, 1, 0, 10);
    hello(0, 77);
    hello(1, 78); /* tells nothing, as the null backend */
    for (unsigned peer = 0; peer < 3; peer++)
        atoll_time_ledger_end(ledger, peer, 113e9, ATOLL_TIME_IDLE);
    expect_next(77, 2, NONE, ATOLL_TIME_IDLE, 3);
    expect_all_journaled();
    expect_close(whole_s(0), 13, 1e-12);
}

static void hostile_reports_change_nothing(void **state)
{
    static const struct {
        uint32_t task;
        double ns;
        const char *text;
    } cases[] = {{TASKS, 1e9, "task 5"}, {0, 1e17, "s of a device's time"}};
    hello(0, 77);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_task_time time = {.task = cases[i].task};
        struct atoll_time_report report = {1, &time, 1};
        struct atoll_err err = ATOLL_ERR_INIT;
        time.time.ns[ATOLL_TIME_IDLE] = cases[i].ns;
        assert_int_equal(atoll_time_ledger_take(ledger, 0, 110e9, TASKS, &report, &err), -1);
        expect_err(&err, ATOLL_E_PROTOCOL, cases[i].text);
    }
    expect_all_journaled();
    atoll_time_ledger_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(later_reports_replace_earlier_ones, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_new_process_goes_on_behind_a_gap, set_up, tear_down),
        cmocka_unit_test_setup_teardown(devices_are_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_end_is_all_of_the_attempt, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hostile_reports_change_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
