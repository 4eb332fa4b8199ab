#include "tests/support/expect.h"

#include <stdlib.h>

#include <math.h>

#include "base/units.h"

static void test_bytes_are_parsed(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {{"0", 0},
                 {"512", 512},
                 {"64K", 65536},
                 {"64k", 65536},
                 {"64kB", 65536},
                 {"64 KiB", 65536},
                 {"1.5M", 1572864},
                 {"2G", 2147483648u},
                 {".5K", 512},
                 {"1P", 1125899906842624u},
                 {"2TB", 2199023255552u},
                 {"7B", 7},
                 {"18446744073709551615", UINT64_MAX}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint64_t bytes = 1;
        assert_int_equal(atoll_bytes_parse(cases[i].text, &bytes, NULL), 0);
        assert_true(bytes == cases[i].bytes);
    }
}

static void test_bytes_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"", "a number such as"},   {"K", "a number such as"},     {"-1", "a number such as"},
        {"1X", "unknown unit 'X'"}, {"1K ", "unknown unit 'K '"},  {"0x10", "unknown unit"},
        {"1e9", "unknown unit"},    {"16777216T", "does not fit"}, {"18446744073709551616", "a number"},
        {".", "a number such as"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        uint64_t bytes = 77;
        assert_int_equal(atoll_bytes_parse(cases[i][0], &bytes, &err), -1);
        expect_err(&err, ATOLL_E_INPUT, cases[i][1]);
        assert_true(bytes == 77);
    }
}

static void test_durations_are_parsed(void **state)
{
    static const struct {
        const char *text;
        double seconds;
    } cases[] = {{"90", 90},
                 {"90s", 90},
                 {"2m", 120},
                 {"1h30m", 5400},
                 {"1h 30m", 5400},
                 {"250ms", 0.25},
                 {"1.5h", 5400},
                 {"10us", 1e-5},
                 {"5ns", 5e-9},
                 {"2d", 172800},
                 {"1-12:00:00", 129600},
                 {"1-12", 129600},
                 {"1-12:30", 131400},
                 {"01:02:03", 3723},
                 {"30:00", 1800},
                 {"0", 0},
                 {"0.5", 0.5},
                 {"3min", 180}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        double seconds = -1.0;
        assert_int_equal(atoll_duration_parse(cases[i].text, &seconds, NULL), 0);
        expect_close(seconds, cases[i].seconds, 1e-12);
    }
}

static void test_durations_are_refused(void **state)
{
    static const char *const cases[] = {"",
                                        "s",
                                        "-5",
                                        "1x",
                                        "1h30",
                                        "1:2:3:4",
                                        "1-",
                                        "1-1:1:1:1",
                                        "1.5:0",
                                        "nan",
                                        "inf",
                                        "1 2",
                                        "1::2",
                                        ":30",
                                        "1-2-3",
                                        "0x1",
                                        "1e3s",
                                        "1-00:00:",
                                        "99999999999999999999"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        double seconds = 77;
        if (atoll_duration_parse(cases[i], &seconds, &err) != -1)
            fail_msg("'%s' was taken", cases[i]);
        expect_err(&err, ATOLL_E_INPUT, "1-12:00:00");
        assert_true(seconds == 77);
    }
}

static void test_numbers_are_short_and_whole(void **state)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {{0.1, "0.1"},
                {0.32, "0.32"},
                {900, "900"},
                {1.0 / 3, "0.3333333333333333"},
                {1e300, "1e+300"},
                {-0.5, "-0.5"},
                {123456789, "123456789"},
                {0.1 + 0.2, "0.30000000000000004"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char text[32];
        assert_string_equal(atoll_number_text(rows[i].value, text, sizeof(text)), rows[i].text);
        assert_true(strtod(text, NULL) == rows[i].value);
    }
}

static void test_texts(void **state)
{
    char text[32];
    static const struct {
        uint64_t bytes;
        const char *text;
    } sizes[] = {{0, "0 B"},           {1023, "1023 B"},     {1024, "1.0 KiB"},
                 {1572864, "1.5 MiB"}, {1048575, "1.0 MiB"}, {UINT64_MAX, "16.0 EiB"}};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        assert_string_equal(atoll_bytes_text(sizes[i].bytes, text, sizeof(text)), sizes[i].text);
    static const struct {
        double ns;
        const char *text;
    } times[] = {{0, "0 s"},          {12345, "12.3 us"},  {4.56e6, "4.56 ms"}, {999.6, "1.00 us"},
                 {59.94e9, "59.9 s"}, {59.96e9, "1m 00s"}, {63e9, "1m 03s"},    {3599.6e9, "1h 00m"},
                 {7500e9, "2h 05m"},  {4e14, "4d 15h"},    {-1, "?"},           {NAN, "?"},
                 {HUGE_VAL, "?"}};
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
        assert_string_equal(atoll_duration_text(times[i].ns, text, sizeof(text)), times[i].text);
    assert_string_equal(atoll_duration_interval_text(4.56e6, 4.4688e6, 4.6512e6, text, sizeof(text)),
                        "4.56 ms   2%");
    assert_string_equal(atoll_duration_interval_text(4.56e6, 4.55e6, 4.57e6, text, sizeof(text)),
                        "4.56 ms  <1%");
    assert_string_equal(atoll_duration_interval_text(4.56e6, 4.56e6, 4.56e6, text, sizeof(text)),
                        "4.56 ms   0%");
    assert_string_equal(atoll_duration_interval_text(4.56e6, 0, 0, text, sizeof(text)), "4.56 ms     ");
    assert_string_equal(atoll_duration_interval_text(0, 0, 0, text, sizeof(text)), "-");
    assert_string_equal(atoll_ratio_interval_text(0, 2.5, 2.4, 2.6, text, sizeof(text)), "2.50x   4%");
    assert_string_equal(atoll_ratio_interval_text(1, 2.5, 0, 0, text, sizeof(text)), "~2.50x     ");
    assert_string_equal(atoll_ratio_interval_text(1, 0, 0, 0, text, sizeof(text)), "-");
    static const struct {
        double count;
        const char *text;
    } counts[] = {{0, "0"},          {999, "999"},      {999.7, "1.00 k"},
                  {12345, "12.3 k"}, {4.5e9, "4.50 G"}, {-2e6, "-2.00 M"}};
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
        assert_string_equal(atoll_count_text(counts[i].count, text, sizeof(text)), counts[i].text);
    char tiny[4];
    static const struct {
        double bytes;
        const char *text;
    } messages[] = {{0, "0 bytes"},       {262144, "262144 bytes"}, {9999999, "9999999 bytes"},
                    {1e7, "10.0 MB"},     {4e12, "4.0 TB"},         {4294967296.0, "4.3 GB"},
                    {999.96e6, "1.0 GB"}, {8e18, "8.0 EB"},         {5e25, "5e+07 EB"}};
    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
        assert_string_equal(atoll_size_text(messages[i].bytes, text, sizeof(text)), messages[i].text);
    assert_string_equal(atoll_bytes_text(1572864, tiny, sizeof(tiny)), "1.5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_are_parsed),
        cmocka_unit_test(test_bytes_are_refused),
        cmocka_unit_test(test_durations_are_parsed),
        cmocka_unit_test(test_durations_are_refused),
        cmocka_unit_test(test_numbers_are_short_and_whole),
        cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
