#include "tests/support/expect.h"

#include "llm-gateway/http/retry.h"

#define NOVEMBER_1994 784111777.0 /* Sun, 06 Nov 1994 08:49:37 GMT: the example of RFC 9110 */

static void test_http_dates(void **state)
{
    static const struct {
        const char *text;
        double now, unix_s;
    } cases[] = {
        {"Sun, 06 Nov 1994 08:49:37 GMT", 0, NOVEMBER_1994},
        {"Sunday, 06-Nov-94 08:49:37 GMT", 784000000, NOVEMBER_1994},
        {"Sun Nov  6 08:49:37 1994", 0, NOVEMBER_1994},
        {"Sun Nov 16 08:49:37 1994", 0, NOVEMBER_1994 + 864000},
        {"Thu, 01 Jan 1970 00:00:00 GMT", 0, 0},
        {"Thu, 29 Feb 2024 23:59:60 GMT", 0, 1709251200},
        {"Wed, 31 Dec 2025 23:59:59 GMT", 0, 1767225599},
        /* in 2026: 94 was, 60 will be, 26 is */
        {"Sunday, 06-Nov-94 08:49:37 GMT", 1780000000, NOVEMBER_1994},
        {"Monday, 01-Nov-60 00:00:00 GMT", 1780000000, 2866492800},
        {"Friday, 02-Jan-26 00:00:00 GMT", 1780000000, 1767312000},
        /* at the end of a century: 05 is the next one's */
        {"Saturday, 01-Jan-05 00:00:00 GMT", 3786912000 /* 2090 */, 4260211200},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        double unix_s = -1;
        if (atoll_instant_of_http(cases[i].text, cases[i].now, &unix_s) != 0)
            fail_msg("'%s' was refused", cases[i].text);
        if (unix_s < cases[i].unix_s || unix_s > cases[i].unix_s)
            fail_msg("'%s' is %.0f, not %.0f", cases[i].text, unix_s, cases[i].unix_s);
    }
}

static void test_what_is_no_http_date(void **state)
{
    static const char *const cases[] = {"",
                                        "120",
                                        "Sun",
                                        "Sun, 06 Nov 1994 08:49:37",
                                        "Sun, 06 Nov 1994 08:49:37 GMT ",
                                        "Sun, 06 Nov 1994 08:49:37 CET",
                                        "Sun, 6 Nov 1994 08:49:37 GMT",
                                        "Sun, 06 Nov 1994 24:00:00 GMT",
                                        "Sun, 06 Nov 1994 08:60:00 GMT",
                                        "Sun, 32 Nov 1994 08:49:37 GMT",
                                        "Sun, 00 Nov 1994 08:49:37 GMT",
                                        "Sun, 06 Foo 1994 08:49:37 GMT",
                                        ", 06 Nov 1994 08:49:37 GMT",
                                        "Sun Nov   6 08:49:37 1994",
                                        "Sun, 06 Nov 0000 08:49:37 GMT",
                                        "1994-11-06T08:49:37Z"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        double unix_s = 77;
        if (atoll_instant_of_http(cases[i], 0, &unix_s) != -1)
            fail_msg("'%s' was taken", cases[i]);
        assert_true(unix_s >= 77 && unix_s <= 77);
    }
}

static void test_rfc3339(void **state)
{
    static const struct {
        const char *text;
        double unix_s;
    } cases[] = {
        {"1994-11-06T08:49:37Z", NOVEMBER_1994},      {"1994-11-06t08:49:37z", NOVEMBER_1994},
        {"1994-11-06 08:49:37Z", NOVEMBER_1994},      {"1994-11-06T08:49:37.250Z", NOVEMBER_1994 + 0.25},
        {"1994-11-06T09:49:37+01:00", NOVEMBER_1994}, {"1994-11-06T03:19:37-05:30", NOVEMBER_1994},
        {"2026-01-31T12:00:00+00:00", 1769860800}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        double unix_s = -1;
        if (atoll_instant_of_rfc3339(cases[i].text, &unix_s) != 0)
            fail_msg("'%s' was refused", cases[i].text);
        expect_close(unix_s, cases[i].unix_s, 1e-12);
    }
    static const char *const wrong[] = {"",
                                        "1994-11-06",
                                        "1994-11-06T08:49:37",
                                        "1994-11-06T08:49:37.Z",
                                        "1994-11-06T08:49:37Zulu",
                                        "1994-11-06T08:49Z",
                                        "1994-13-06T08:49:37Z",
                                        "1994-11-06T08:49:37+0100",
                                        "1994-11-06T08:49:37+24:00",
                                        "94-11-06T08:49:37Z",
                                        "60"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        double unix_s = 77;
        if (atoll_instant_of_rfc3339(wrong[i], &unix_s) != -1)
            fail_msg("'%s' was taken", wrong[i]);
        assert_true(unix_s >= 77 && unix_s <= 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_dates),
        cmocka_unit_test(test_what_is_no_http_date),
        cmocka_unit_test(test_rfc3339),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
