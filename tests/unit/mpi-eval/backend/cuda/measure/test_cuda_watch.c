/* What a monitor's readings mean for samples: slowdowns disturb, a power cap is noted, new memory errors are ours. */
#include "tests/support/expect.h"

#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cuda/measure/nvml.h"
#include "mpi-eval/backend/cuda/measure/monitor.h"

static void test_memory_errors(void **state)
{
    struct atoll_watch watch = {.monitor = NULL};
    struct atoll_monitor_reading r = {.has_ecc = 1, .ecc_uncorrected = 7};
    struct atoll_trial *t = calloc(1, sizeof(*t));
    (void)state;
    assert_non_null(t);
    assert_int_equal(atoll_watch_judge(&watch, &r, t), 0); /* errors of before are not this sample's */
    assert_int_equal(atoll_watch_judge(&watch, &r, t), 0);
    r.has_ecc = 0;
    r.ecc_uncorrected = 0;
    assert_int_equal(atoll_watch_judge(&watch, &r, t), 0); /* not told */
    r.has_ecc = 1;
    r.ecc_uncorrected = 9;
    assert_int_equal(atoll_watch_judge(&watch, &r, t), 1);
    assert_int_equal(t->verdict, ATOLL_V_INFRASTRUCTURE);
    assert_string_equal(t->detail, "the device had 2 uncorrectable memory errors during this sample");
    assert_int_equal(atoll_watch_judge(&watch, &r, t), 0);
    free(t);
}

/* What the driver says of a kernel belongs to the sample that ended badly. */
static void test_xids(void **state)
{
    static const struct {
        enum atoll_verdict verdict;
        size_t count;
        int has_events;
        const char *detail;
    } rows[] = {
        {ATOLL_V_CRASH, 2, 1, "it ended (Xid 31, Xid 43)"},
        {ATOLL_V_TIMEOUT, 1, 1, "it ended (Xid 31)"},
        {ATOLL_V_CRASH, 0, 1, "it ended"},
        {ATOLL_V_CRASH, 2, 0, "it ended"},
        {ATOLL_V_CORRECT, 2, 1, "it ended"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_watch watch = {.monitor = NULL};
        struct atoll_monitor_reading r = {
            .has_events = rows[i].has_events, .xid_count = rows[i].count, .xids = {31, 43}};
        struct atoll_trial *t = calloc(1, sizeof(*t));
        assert_non_null(t);
        t->verdict = rows[i].verdict;
        strcpy(t->detail, "it ended");
        assert_int_equal(atoll_watch_judge(&watch, &r, t), 0);
        assert_string_equal(t->detail, rows[i].detail);
        free(t);
    }
}

static void test_reasons(void **state)
{
    struct atoll_watch watch = {.monitor = NULL};
    struct atoll_monitor_reading r = {.has_throttle = 1,
                                      .throttle_reasons = ATOLL_nvmlClocksThrottleReasonSwPowerCap};
    struct atoll_trial *t = calloc(1, sizeof(*t));
    (void)state;
    assert_non_null(t);
    assert_int_equal(atoll_watch_judge(&watch, &r, t), 0);
    assert_int_equal(watch.reasons, ATOLL_nvmlClocksThrottleReasonSwPowerCap);
    r.has_throttle = 0;
    assert_int_equal(atoll_watch_judge(&watch, &r, t), 0);
    assert_int_equal(watch.reasons, 0);
    free(t);
}

/* Without a monitor nothing is known and nothing is disturbed. */
static void test_none(void **state)
{
    struct atoll_watch watch = {.monitor = NULL, .reasons = UINT64_MAX};
    struct atoll_trial *t = calloc(1, sizeof(*t));
    (void)state;
    assert_non_null(t);
    assert_int_equal(atoll_watch_record(&watch, 1e12, t), 0);
    assert_true(!t->disturbed && !t->throttle_reasons);
    atoll_watch_close(&watch);
    free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory_errors), cmocka_unit_test(test_xids),
                                       cmocka_unit_test(test_reasons), cmocka_unit_test(test_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
