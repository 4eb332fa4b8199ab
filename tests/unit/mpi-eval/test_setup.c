#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "mpi-eval/setup.h"

static void test_options(void **state)
{
    struct atoll_setup s;
    atoll_setup_defaults(&s);
    assert_int_equal(s.backend_null, 0);
    assert_int_equal(atoll_setup_option(&s, "compiler", "clang", NULL), 1);
    assert_string_equal(s.compiler, "clang");
    assert_int_equal(atoll_setup_option(&s, "compile-flags", "-O2 -g", NULL), 1);
    assert_string_equal(s.compile_flags, "-O2 -g");
    assert_int_equal(atoll_setup_option(&s, "compile-deadline", "1m30s", NULL), 1);
    assert_true(s.compile_deadline_ns == 90e9);
    assert_int_equal(atoll_setup_option(&s, "compile-memory", "1G", NULL), 1);
    assert_int_equal(s.compile_memory_bytes, 1u << 30);
    assert_int_equal(atoll_setup_option(&s, "sample-device", "250ms", NULL), 1);
    assert_true(s.sample_device_ns == 250e6);
    assert_int_equal(atoll_setup_option(&s, "sample-min", "9", NULL), 1);
    assert_int_equal(s.sample_min, 9);
    assert_int_equal(atoll_setup_option(&s, "interval", "0.01", NULL), 1);
    assert_true(s.interval_target == 0.01);
    assert_int_equal(atoll_setup_option(&s, "threads", "3", NULL), 1);
    assert_int_equal(s.threads, 3);
    assert_int_equal(atoll_setup_option(&s, "backend", "null", NULL), 1);
    assert_int_equal(s.backend_null, 1);
    assert_int_equal(atoll_setup_option(&s, "backend", "cpu", NULL), 1);
    assert_int_equal(s.backend_null, 0);
    assert_int_equal(atoll_setup_option(&s, "ranks", "3", NULL), 0); /* somebody else's */
}

static void test_wrong_values(void **state)
{
    static char long_text[2000];
    static const struct {
        const char *key, *value, *text;
    } cases[] = {
        {"sample-min", "0", "not within"},      {"sample-min", "2.5", "not a number"},
        {"sample-min", "", "not a number"},     {"threads", "-1", "not within"},
        {"interval", "nan", "not within"},      {"interval", "1e-9", "not within"},
        {"backend", "cuda", "no backend"},      {"compile-deadline", "never", "duration"},
        {"compile-memory", "1K", "not within"}, {"compiler", long_text, "longer"},
        {"sample-device", "0s", "not within"},
    };
    memset(long_text, 'x', sizeof long_text - 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct atoll_setup s, before;
        struct atoll_err err = ATOLL_ERR_INIT;
        atoll_setup_defaults(&s);
        before = s;
        assert_int_equal(atoll_setup_option(&s, cases[i].key, cases[i].value, &err), -1);
        assert_int_equal(err.code, ATOLL_E_INPUT);
        if (!strstr(err.text, cases[i].text))
            fail_msg("%s=%s: \"%s\"", cases[i].key, cases[i].value, err.text);
        assert_memory_equal(&s, &before, sizeof s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_options), cmocka_unit_test(test_wrong_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
