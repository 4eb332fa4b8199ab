#include "tests/support/expect.h"

#include <errno.h>
#include <stdio.h>

static void test_fills_place_code_and_text(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(atoll_err_set(&err, ATOLL_E_INPUT, "%s:%d: wrong", "f", 3), -1);
    expect_err(&err, ATOLL_E_INPUT, "f:3: wrong");
    assert_int_equal(err.sys_errno, 0);
    assert_non_null(strstr(err.file, "test_err.c"));
    assert_true(err.line > 0);
    assert_int_equal(atoll_err_set(NULL, ATOLL_E_INPUT, "x"), -1);
}

static void test_chooses_code_from_errno(void **state)
{
    static const struct {
        int sys_errno;
        enum atoll_code code;
    } cases[] = {{ENOSPC, ATOLL_E_FULL},   {EDQUOT, ATOLL_E_FULL},   {EACCES, ATOLL_E_DENIED},
                 {EPERM, ATOLL_E_DENIED},  {EROFS, ATOLL_E_DENIED},  {ENOENT, ATOLL_E_NOTFOUND},
                 {EEXIST, ATOLL_E_EXISTS}, {ENOMEM, ATOLL_E_MEMORY}, {EIO, ATOLL_E_IO}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        char expected[160];
        snprintf(expected, sizeof(expected), "open x: %s", strerror(cases[i].sys_errno));
        assert_int_equal(atoll_err_errno(&err, cases[i].sys_errno, "open %s", "x"), -1);
        expect_err(&err, cases[i].code, expected);
        assert_int_equal(err.sys_errno, cases[i].sys_errno);
    }
}

static void test_cuts_long_texts(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char text[3 * ATOLL_ERR_TEXT_BYTES];
    memset(text, 'a', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    atoll_err_set(&err, ATOLL_E_LIMIT, "%s", text);
    assert_int_equal(strlen(err.text), ATOLL_ERR_TEXT_BYTES - 1);
    atoll_err_add(&err, "more");
    assert_int_equal(strlen(err.text), ATOLL_ERR_TEXT_BYTES - 1);
    atoll_err_errno(&err, EIO, "%s", text);
    assert_int_equal(strlen(err.text), ATOLL_ERR_TEXT_BYTES - 1);
}

static void test_keeps_one_line_and_may_quote_itself(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_err_set(&err, ATOLL_E_CHILD, "a\nb\r\n\n");
    assert_string_equal(err.text, "a b");
    atoll_err_set(&err, ATOLL_E_CHILD, "<%s>", err.text);
    assert_string_equal(err.text, "<a b>");
}

static void test_adds_and_clears(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_err_set(&err, ATOLL_E_BUSY, "taken");
    assert_int_equal(atoll_err_add(&err, "while %s", "waiting"), -1);
    expect_err(&err, ATOLL_E_BUSY, "taken; while waiting");
    assert_int_equal(atoll_err_add(NULL, "x"), -1);
    atoll_err_clear(&err);
    atoll_err_clear(NULL);
    assert_int_equal(err.code, ATOLL_OK);
    assert_string_equal(err.text, "");
}

static void test_every_code_has_a_name_and_a_status(void **state)
{
    for (unsigned a = 0; a < ATOLL_CODE_COUNT; a++) {
        const char *name = atoll_code_name((enum atoll_code)a);
        assert_non_null(name);
        assert_true((atoll_code_exit_status((enum atoll_code)a) == 0) == (a == ATOLL_OK));
        for (unsigned b = 0; b < a; b++) {
            assert_string_not_equal(name, atoll_code_name((enum atoll_code)b));
            assert_int_not_equal(atoll_code_exit_status((enum atoll_code)a),
                                 atoll_code_exit_status((enum atoll_code)b));
        }
    }
    assert_int_equal(atoll_code_exit_status(ATOLL_E_USAGE), 2);
    assert_string_equal(atoll_code_name(ATOLL_CODE_COUNT), "unknown");
    assert_int_equal(atoll_code_exit_status(ATOLL_CODE_COUNT), atoll_code_exit_status(ATOLL_E_INTERNAL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fills_place_code_and_text),
        cmocka_unit_test(test_chooses_code_from_errno),
        cmocka_unit_test(test_cuts_long_texts),
        cmocka_unit_test(test_keeps_one_line_and_may_quote_itself),
        cmocka_unit_test(test_adds_and_clears),
        cmocka_unit_test(test_every_code_has_a_name_and_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
