/* Sets of metrics are what a capability has, several launches become one number per counter, and CUPTI of this machine
 * accepts every name for every chip, which needs no device. */
#include "tests/support/expect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cuda/process/executor.h"
#include "mpi-eval/backend/cuda/process/cupti.h"
#include "mpi-eval/backend/cuda/measure/backend.h"
#include "mpi-eval/backend/cuda/process/command_batch.h"

static const struct {
    const char *chip;
    unsigned capability;
} chips[] = {{"GH100", 90}, {"GA100", 80}, {"GA102", 86}, {"AD102", 89}, {"GB100", 100}};

static int has(const struct atoll_metrics *metrics, enum atoll_counter counter)
{
    int count = 0;
    for (size_t i = 0; i < metrics->count; i++)
        count += metrics->counters[i] == counter;
    return count;
}

static void sets_hold_what_a_capability_has(void **state)
{
    struct atoll_metrics small, full;
    for (size_t i = 0; i < sizeof(chips) / sizeof(*chips); i++) {
        int counters = 0;
        atoll_metrics_select(ATOLL_METRICS_SMALL, chips[i].capability, &small);
        atoll_metrics_select(ATOLL_METRICS_FULL, chips[i].capability, &full);
        assert_int_equal(small.count, 12);
        assert_in_range(full.count, 1, ATOLL_DEVICE_COMMAND_COUNTER_LIMIT);
        for (unsigned counter = 0; counter < ATOLL_COUNTER_COUNT; counter++)
            counters += has(&full, (enum atoll_counter)counter) > 0;
        assert_int_equal(counters, ATOLL_COUNTER_COUNT - 1 - (chips[i].capability != 90));
        assert_int_equal(has(&full, ATOLL_COUNTER_SM_THROUGHPUT), 0); /* made from the others */
        assert_int_equal(has(&full, ATOLL_COUNTER_STALL_TENSOR), chips[i].capability == 90);
        for (size_t k = 0; k < small.count; k++) {
            assert_int_equal(has(&small, small.counters[k]), 1);
            assert_in_range(has(&full, small.counters[k]), 1, 5);
        }
        for (size_t k = 0; k < full.count; k++) {
            assert_in_range(strlen(full.names[k]), 1, 127); /* of the device process */
            for (size_t other = 0; other < k; other++)
                assert_string_not_equal(full.names[k], full.names[other]);
        }
    }
    /* what says where a kernel stands: memory at each level, issue and the main pipes, time and bytes */
    static const enum atoll_counter needed[] = {ATOLL_COUNTER_DRAM_THROUGHPUT,
                                                ATOLL_COUNTER_L2_THROUGHPUT,
                                                ATOLL_COUNTER_L1_THROUGHPUT,
                                                ATOLL_COUNTER_ISSUE_ACTIVE,
                                                ATOLL_COUNTER_TENSOR,
                                                ATOLL_COUNTER_FMA,
                                                ATOLL_COUNTER_ALU,
                                                ATOLL_COUNTER_DRAM_READ_BYTES,
                                                ATOLL_COUNTER_DRAM_WRITE_BYTES,
                                                ATOLL_COUNTER_TIME_NS};
    for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
        assert_int_equal(has(&small, needed[i]), 1);
    (void)state;
}

static const struct {
    double time[2], hit[2], bytes[2];
    size_t ranges;
    double expected_time, expected_hit, expected_bytes;
} merges[] = {
    {{100, 300}, {80, 40}, {1e6, 2e6}, 2, 400, 50, 3e6},
    {{100, 300}, {80, 40}, {1e6, 2e6}, 1, 100, 80, 1e6},
    {{100, 300}, {80, 40}, {1e6, 2e6}, 0, NAN, NAN, NAN},
    {{100, 300}, {NAN, 40}, {1e6, NAN}, 2, 400, 40, NAN},
    {{NAN, 300}, {80, 40}, {1e6, -2e6}, 2, NAN, 40, NAN},
    {{0, 0}, {80, 40}, {0, 0}, 2, 0, NAN, 0},
    {{100, INFINITY}, {80, INFINITY}, {1e6, 2e6}, 2, NAN, 80, 3e6},
};

/* The SM is as busy as its busiest pipe. */
static void busiest_pipe_is_the_throughput(void **state)
{
    static const struct {
        double issue, tensor, expected;
    } rows[] = {{30, 80, 80}, {30, NAN, 30}, {NAN, NAN, NAN}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_metrics metrics;
        double values[ATOLL_METRICS_LIMIT], counters[ATOLL_COUNTER_COUNT];
        atoll_metrics_select(ATOLL_METRICS_FULL, 90, &metrics);
        for (size_t k = 0; k < metrics.count; k++) {
            values[k] = metrics.counters[k] == ATOLL_COUNTER_TIME_NS        ? 100
                        : metrics.counters[k] == ATOLL_COUNTER_ISSUE_ACTIVE ? rows[i].issue
                        : metrics.counters[k] == ATOLL_COUNTER_TENSOR       ? rows[i].tensor
                                                                            : NAN;
        }
        atoll_metrics_merge(&metrics, values, 1, counters);
        double got = counters[ATOLL_COUNTER_SM_THROUGHPUT];
        assert_true(isnan(rows[i].expected) ? isnan(got) : got == rows[i].expected);
    }
}

/* Counters that nobody could read are NaN all over; a rate of nothing is NaN by itself. */
static void numbers_that_are_none_are_no_counts(void **state)
{
    const struct atoll_metrics metrics = {
        .count = 3, .counters = {ATOLL_COUNTER_L1_HIT, ATOLL_COUNTER_TIME_NS, ATOLL_COUNTER_INSTRUCTIONS}};
    static const struct {
        double values[6];
        int expected;
    } rows[] = {
        {{80, 100, 7, 40, 300, 8}, 1},        {{NAN, 100, 7, NAN, 300, 0}, 1},
        {{80, 100, 7, 40, 300, NAN}, 0},      {{80, NAN, 7, 40, 300, 8}, 0},
        {{NAN, NAN, NAN, NAN, NAN, NAN}, 0},  {{80, 100, -1, 40, 300, 8}, 0},
        {{80, 100, INFINITY, 40, 300, 8}, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_int_equal(atoll_metrics_are_counted(&metrics, rows[i].values, 2), rows[i].expected);
    assert_int_equal(atoll_metrics_are_counted(&metrics, rows[2].values, 1), 1); /* the second range has it */
    (void)state;
}

/* A level of memory is as busy as its busiest part. */
static void busiest_part_is_the_throughput(void **state)
{
    static const struct {
        double parts[3], expected;
    } rows[] = {{{10, 70, 30}, 70}, {{NAN, 20, NAN}, 20}, {{90, NAN, 5}, 90}, {{NAN, NAN, NAN}, NAN}};
    const struct atoll_metrics metrics = {.count = 4,
                                          .counters = {ATOLL_COUNTER_L2_THROUGHPUT, ATOLL_COUNTER_TIME_NS,
                                                       ATOLL_COUNTER_L2_THROUGHPUT,
                                                       ATOLL_COUNTER_L2_THROUGHPUT}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        double values[] = {rows[i].parts[0], 100, rows[i].parts[1], rows[i].parts[2]};
        double counters[ATOLL_COUNTER_COUNT];
        atoll_metrics_merge(&metrics, values, 1, counters);
        double got = counters[ATOLL_COUNTER_L2_THROUGHPUT];
        assert_true(isnan(rows[i].expected) ? isnan(got) : got == rows[i].expected);
        assert_true(counters[ATOLL_COUNTER_TIME_NS] == 100);
    }
    (void)state;
}

static void assert_same(double got, double expected)
{
    if (isnan(expected))
        assert_true(isnan(got));
    else
        assert_true(fabs(got - expected) < 1e-9);
}

static void launches_become_one_profile(void **state)
{
    const struct atoll_metrics metrics = {
        .count = 3, .counters = {ATOLL_COUNTER_L1_HIT, ATOLL_COUNTER_TIME_NS, ATOLL_COUNTER_DRAM_READ_BYTES}};
    for (size_t i = 0; i < sizeof(merges) / sizeof(*merges); i++) {
        double values[6], counters[ATOLL_COUNTER_COUNT];
        for (size_t r = 0; r < 2; r++) {
            values[3 * r] = merges[i].hit[r];
            values[3 * r + 1] = merges[i].time[r];
            values[3 * r + 2] = merges[i].bytes[r];
        }
        atoll_metrics_merge(&metrics, values, merges[i].ranges, counters);
        assert_same(counters[ATOLL_COUNTER_TIME_NS], merges[i].expected_time);
        assert_same(counters[ATOLL_COUNTER_L1_HIT], merges[i].expected_hit);
        assert_same(counters[ATOLL_COUNTER_DRAM_READ_BYTES], merges[i].expected_bytes);
        assert_true(isnan(counters[ATOLL_COUNTER_L2_HIT]));
    }
}

static void without_times_launches_weigh_the_same(void **state)
{
    const struct atoll_metrics metrics = {.count = 1, .counters = {ATOLL_COUNTER_L2_HIT}};
    const double values[] = {10, 20, 60};
    double counters[ATOLL_COUNTER_COUNT];
    atoll_metrics_merge(&metrics, values, 3, counters);
    assert_same(counters[ATOLL_COUNTER_L2_HIT], 30);
}

static void need_cupti(void)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (!atoll_cupti_open(&err)) {
        assert_int_equal(err.code, ATOLL_E_MISSING);
        print_message("skipped: %s\n", err.text);
        skip();
    }
}

/* Its host side loads a library in a way that sanitizers refuse. */
static void need_host_side(void)
{
#ifdef ATOLL_SANITIZED
    print_message("skipped: CUPTI's host side cannot be loaded under sanitizers\n");
    skip();
#endif
    need_cupti();
}

static size_t passes_of(const char *chip, const struct atoll_metrics *metrics)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    size_t passes = 0;
    if (atoll_counters_plan(chip, metrics->names, metrics->count, &passes, &err))
        fail_msg("%s", err.text);
    return passes;
}

static void every_name_is_known_for_every_chip(void **state)
{
    need_host_side();
    for (size_t i = 0; i < sizeof(chips) / sizeof(*chips); i++) {
        struct atoll_metrics small, full;
        atoll_metrics_select(ATOLL_METRICS_SMALL, chips[i].capability, &small);
        atoll_metrics_select(ATOLL_METRICS_FULL, chips[i].capability, &full);
        size_t few = passes_of(chips[i].chip, &small);
        size_t many = passes_of(chips[i].chip, &full);
        print_message("%s: %zu metrics in %zu passes, %zu in %zu\n", chips[i].chip, small.count, few,
                      full.count, many);
        assert_int_equal(few, chips[i].capability == 80 ? 2 : 1);
        assert_int_equal(many, 5);
    }
}

static const struct {
    const char *chip;
    const char *names[2];
    size_t count;
    enum atoll_code code;
    const char *text;
} refusals[] = {
    {"GH100",
     {"sm__throughput.avg.pct_of_peak_sustained_elapsed", "atoll__none.sum"},
     2,
     ATOLL_E_INPUT,
     "chip GH100 has no metric atoll__none.sum"},
    {"GH100", {"", NULL}, 1, ATOLL_E_INPUT, "chip GH100 has no metric"},
    {"GX999", {"dram__bytes.sum", NULL}, 1, ATOLL_E_MISSING, "CUPTI_ERROR_INVALID_CHIP_NAME"},
    {"GH100", {NULL, NULL}, 0, ATOLL_E_LIMIT, "0 metrics: from 1 to 64"},
    {"GH100", {NULL, NULL}, 65, ATOLL_E_LIMIT, "65 metrics: from 1 to 64"},
};

static void refused_metrics_are_named(void **state)
{
    need_host_side();
    for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        size_t passes = 7;
        assert_int_equal(
            atoll_counters_plan(refusals[i].chip, refusals[i].names, refusals[i].count, &passes, &err), -1);
        assert_int_equal(err.code, refusals[i].code);
        assert_non_null(strstr(err.text, refusals[i].text));
        assert_int_equal(passes, 7);
    }
}

static const struct {
    unsigned int result;
    enum atoll_code code;
    const char *text;
} results[] = {
    {ATOLL_CUPTI_SUCCESS, ATOLL_OK, ""},
    {ATOLL_CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, ATOLL_E_DENIED,
     "ERR_NVGPUCTRPERM, NVreg_RestrictProfilingToAdminUsers) (CUPTI_ERROR_INSUFFICIENT_PRIVILEGES of "
     "cuptiX)"},
    {ATOLL_CUPTI_ERROR_HARDWARE_BUSY, ATOLL_E_DENIED, "another tool"},
    {ATOLL_CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, ATOLL_E_MISSING, "MIG"},
    {ATOLL_CUPTI_ERROR_UNKNOWN, ATOLL_E_MISSING,
     "no counters on this device (CUPTI_ERROR_UNKNOWN of cuptiX)"},
    {4711, ATOLL_E_MISSING, "(CUPTI error 4711 of cuptiX)"},
};

static void results_have_a_meaning(void **state)
{
    need_cupti();
    const struct atoll_cupti *cupti = atoll_cupti_open(NULL);
    for (size_t i = 0; i < sizeof(results) / sizeof(*results); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        assert_int_equal(atoll_cupti_check(cupti, results[i].result, "cuptiX", &err),
                         results[i].code == ATOLL_OK ? 0 : -1);
        assert_int_equal(err.code, results[i].code);
        assert_non_null(strstr(err.text, results[i].text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_hold_what_a_capability_has),
        cmocka_unit_test(busiest_pipe_is_the_throughput),
        cmocka_unit_test(numbers_that_are_none_are_no_counts),
        cmocka_unit_test(busiest_part_is_the_throughput),
        cmocka_unit_test(launches_become_one_profile),
        cmocka_unit_test(without_times_launches_weigh_the_same),
        cmocka_unit_test(every_name_is_known_for_every_chip),
        cmocka_unit_test(refused_metrics_are_named),
        cmocka_unit_test(results_have_a_meaning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
