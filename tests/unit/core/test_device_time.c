/* Parts of a device's time: names, sums, words, and what travels. */
#include "tests/support/expect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/device_time.h"

static struct atoll_device_time example(void)
{
    struct atoll_device_time t = {{0}};
    t.ns[ATOLL_TIME_CANDIDATES] = 41e9;
    t.ns[ATOLL_TIME_CHECKS] = 20e9;
    t.ns[ATOLL_TIME_IDLE] = 38.7e9;
    t.ns[ATOLL_TIME_FLUSH] = 0.3e9;
    return t;
}

static void every_part_has_a_name(void **state)
{
    for (unsigned i = 0; i < ATOLL_TIME_PART_COUNT; i++)
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(atoll_time_part_name(i), atoll_time_part_name(k));
    assert_string_equal(atoll_time_part_name(ATOLL_TIME_PART_COUNT), "unknown");
}

static void sums_are_of_all_parts(void **state)
{
    struct atoll_device_time t = example(), more = {{0}};
    expect_close(atoll_device_time_whole_ns(&t), 100e9, 1e-12);
    expect_close(atoll_device_time_occupied_ns(&t), 61.3e9, 1e-12);
    for (unsigned i = 0; i < ATOLL_TIME_PART_COUNT; i++)
        more.ns[i] = 1e9 * (1 << i);
    atoll_device_time_add(&t, &more);
    expect_close(atoll_device_time_whole_ns(&t), 100e9 + 1e9 * ((1 << ATOLL_TIME_PART_COUNT) - 1), 1e-12);
    expect_close(atoll_device_time_occupied_ns(&more), 1e9 * ((1 << (ATOLL_TIME_OTHER + 1)) - 1), 1e-12);
}

static void words_are_shares(void **state)
{
    static const struct {
        double of_ns;
        const char *text;
    } cases[] = {{100e9, "candidates 41 %, idle 39 %, checks 20 %"},
                 {1000e9, "candidates 4 %, idle 4 %, checks 2 %"},
                 {1e15, ""},
                 {0, ""}};
    struct atoll_device_time t = example(), none = {{0}}, all;
    char text[ATOLL_DEVICE_TIME_TEXT];
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_string_equal(atoll_device_time_text(&t, cases[i].of_ns, text, sizeof(text)), cases[i].text);
    assert_string_equal(atoll_device_time_text(&none, 1, text, sizeof(text)), "");
    for (unsigned i = 0; i < ATOLL_TIME_PART_COUNT; i++)
        all.ns[i] = 100;
    assert_true(strlen(atoll_device_time_text(&all, 100, text, sizeof(text))) < sizeof(text) - 1);
    assert_non_null(strstr(text, "idle 100 %"));
}

static void encode(const struct atoll_time_report *report, struct atoll_buffer *out)
{
    atoll_buffer_init(out, 1 << 16);
    atoll_time_report_encode(report, out);
    assert_int_equal(atoll_buffer_check(out, NULL), 0);
}

static void reports_travel(void **state)
{
    struct atoll_task_time times[] = {{3, example()}, {ATOLL_TIME_OF_NO_TASK, example()}};
    struct atoll_time_report report = {1700000000000000000, times, 2}, back = {.count = 0};
    struct atoll_buffer bytes;
    encode(&report, &bytes);
    assert_int_equal(atoll_time_report_decode(bytes.data, bytes.length, &back, NULL), 0);
    assert_true(back.since_unix_ns == report.since_unix_ns && back.count == 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(back.times[i].task, times[i].task);
        assert_memory_equal(&back.times[i].time, &times[i].time, sizeof(times[i].time));
    }
    free(back.times);
    for (size_t length = 0; length < bytes.length; length++)
        assert_int_equal(atoll_time_report_decode(bytes.data, length, &back, NULL), -1);
    atoll_buffer_put_u8(&bytes, 0);
    assert_int_equal(atoll_time_report_decode(bytes.data, bytes.length, &back, NULL), -1);
    atoll_buffer_fini(&bytes);
    report.count = 0;
    encode(&report, &bytes);
    assert_int_equal(atoll_time_report_decode(bytes.data, bytes.length, &back, NULL), 0);
    assert_int_equal(back.count, 0);
    free(back.times);
    atoll_buffer_fini(&bytes);
}

static void hostile_reports_are_refused(void **state)
{
    const struct {
        int64_t since_unix_ns;
        uint32_t tasks[2];
        double ns;
    } cases[] = {
        {-1, {0, 1}, 0}, {0, {1, 1}, 0}, {0, {2, 1}, 0}, {0, {0, 1}, -1}, {0, {0, 1}, (double)NAN},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_task_time times[2] = {{.task = cases[i].tasks[0]}, {.task = cases[i].tasks[1]}};
        struct atoll_time_report report = {cases[i].since_unix_ns, times, 2}, back = {.count = 7};
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_buffer bytes;
        times[1].time.ns[ATOLL_TIME_IDLE] = cases[i].ns;
        encode(&report, &bytes);
        assert_int_equal(atoll_time_report_decode(bytes.data, bytes.length, &back, &err), -1);
        assert_int_equal(err.code, ATOLL_E_PROTOCOL);
        assert_int_equal(back.count, 7);
        atoll_buffer_fini(&bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_has_a_name),
        cmocka_unit_test(sums_are_of_all_parts),
        cmocka_unit_test(words_are_shares),
        cmocka_unit_test(reports_travel),
        cmocka_unit_test(hostile_reports_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
