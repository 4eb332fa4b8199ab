#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/task/expression.h"
#include "base/random.h"

static const struct atoll_binding bindings[] = {
    {"M", 100}, {"N", 0}, {"TM", 64}, {"BIG", INT64_MAX}, {"LEAST", INT64_MIN}};
#define BINDING_COUNT (sizeof(bindings) / sizeof(*bindings))

static int evaluate(const char *text, int64_t *ret_value, struct atoll_err *err)
{
    struct atoll_arena *arena = atoll_arena_create(1u << 20, NULL);
    const struct atoll_expression *e = atoll_expression_parse(arena, text, err);
    int status = e ? atoll_expression_eval(e, bindings, BINDING_COUNT, ret_value, err) : -1;
    atoll_arena_destroy(arena);
    return status;
}

static void test_values(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"7", 7},
        {" 7\t\n", 7},
        {"1+2*3", 7},
        {"(1+2)*3", 9},
        {"2-3-4", -5},
        {"100/7/2", 7},
        {"-7/2", -3},
        {"-7%3", -1},
        {"7%-3", 1},
        {"-(M+1)", -101},
        {"- -3", 3},
        {"!M", 0},
        {"!!M", 1},
        {"!0 + 1", 2},
        {"1<2", 1},
        {"2<=1", 0},
        {"2>1", 1},
        {"1>=2", 0},
        {"1<2==1", 1},
        {"1!=2", 1},
        {"1+1==2 && 3>2", 1},
        {"0 || 7", 1},
        {"0 || 0", 0},
        {"5 && 7", 1},
        {"1 || 0 && 0", 1},
        {"N == 0 || M % N == 0", 1},
        {"N != 0 && M / N > 3", 0},
        {"0 && 1 || 1", 1},
        {"(1 || 1/0) + 1", 2},
        {"min(3, 2)", 2},
        {"max(3,2)", 3},
        {"cdiv(M, TM)", 2},
        {"cdiv(128, TM)", 2},
        {"cdiv(0, 5)", 0},
        {"cdiv(-7, 2)", -3},
        {"cdiv(7, -2)", -3},
        {"cdiv(-7, -2)", 4},
        {"ilog2(1)", 0},
        {"ilog2(1023)", 9},
        {"ilog2(1024)", 10},
        {"ilog2(BIG)", 62},
        {"min(max(1, 2), cdiv(9, 4)) * ilog2(8)", 6},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775807 - 1", INT64_MIN},
        {"LEAST + BIG", -1},
        {"TM*TM <= 8192", 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int64_t value = 0;
        struct atoll_err err = ATOLL_ERR_INIT;
        if (evaluate(cases[i].text, &value, &err) || value != cases[i].value) {
            fail_msg("'%s' gives %lld (%s), expected %lld", cases[i].text, (long long)value, err.text,
                     (long long)cases[i].value);
        }
    }
}

static void test_errors_name_column_and_reason(void **state)
{
    static const char *const cases[][2] = {
        {"", "column 1: a number, a name or ( is expected, but it ends here"},
        {"M +", "column 4: a number"},
        {"+1", "column 1: a number, a name or ( is expected, not '+'"},
        {"(1", "column 3: ) is expected"},
        {"1)", "column 2: an operator or the end"},
        {"1 2", "column 3: an operator or the end"},
        {"M $ 2", "column 3: one of"},
        {"M & 2", "column 3: one of"},
        {"a = 2", "column 3: one of"},
        {"foo(1)", "column 1: a function among min, max, cdiv, ilog2 is expected, not 'foo'"},
        {"min(1)", "column 6: , is expected"},
        {"min(1,2,3)", "column 8: ) is expected"},
        {"ilog2()", "column 7: a number"},
        {"1.5", "column 2: one of"},
        {"9223372036854775808", "column 1: number does not fit"},
        {"M / N", "column 3: division by zero"},
        {"M % N", "column 3: division by zero"},
        {"cdiv(M, N)", "column 1: division by zero"},
        {"LEAST / -1", "overflow"},
        {"LEAST % -1", "overflow"},
        {"cdiv(LEAST, -1)", "overflow"},
        {"-LEAST", "column 1: overflow"},
        {"BIG + 1", "column 5: overflow"},
        {"LEAST - 1", "overflow"},
        {"BIG * 2", "overflow"},
        {"ilog2(0)", "column 1: ilog2 of less than 1"},
        {"ilog2(-4)", "ilog2 of less than 1"},
        {"M + q", "column 5: unknown name 'q'"},
        {"m", "unknown name 'm'"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int64_t value = 77;
        struct atoll_err err = ATOLL_ERR_INIT;
        assert_int_equal(evaluate(cases[i][0], &value, &err), -1);
        expect_err(&err, ATOLL_E_INPUT, cases[i][1]);
        assert_int_equal(value, 77);
    }
}

static void test_names_in_order_of_first_use(void **state)
{
    struct atoll_arena *arena = atoll_arena_create(1u << 20, NULL);
    const struct atoll_expression *e = atoll_expression_parse(arena, "b*min(a, b)+_c1 - a", NULL);
    assert_int_equal(atoll_expression_name_count(e), 3);
    assert_string_equal(atoll_expression_name(e, 0), "b");
    assert_string_equal(atoll_expression_name(e, 1), "a");
    assert_string_equal(atoll_expression_name(e, 2), "_c1");
    assert_null(atoll_expression_name(e, 3));
    assert_string_equal(atoll_expression_text(e), "b*min(a, b)+_c1 - a");
    atoll_arena_destroy(arena);
}

/* count times text between head and tail. */
static char *repeated(const char *head, const char *text, size_t count, const char *tail)
{
    size_t length = strlen(text);
    char *whole = malloc(strlen(head) + count * length + strlen(tail) + 1), *end = stpcpy(whole, head);
    for (size_t i = 0; i < count; i++)
        end = stpcpy(end, text);
    strcpy(end, tail);
    return whole;
}

static void test_limits(void **state)
{
    static const struct {
        const char *head, *text, *tail;
        size_t count;
        const char *wrong; /* NULL: fine */
    } cases[] = {
        {"", "(", "1", 63, ") is expected"},
        {"", "(", "1", 64, "nested deeper than 64"},
        {"", "-", "1", 63, NULL},
        {"", "-", "1", 64, "nested deeper"},
        {"", "min(1,", "1", 2000, "longer than 4096 bytes"},
        {"", "min(1,", "1", 600, "nested deeper"},
        {"1", "+1", "", 2047, NULL},
        {"1", "+1", "", 2048, "longer than 4096 bytes"},
        {"0", "||(0&&1==1<1+1*(0", "", 31, ") is expected"},
        {"", "!", "", 4000, "nested deeper"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        int64_t value;
        char *text = repeated(cases[i].head, cases[i].text, cases[i].count, cases[i].tail);
        int status = evaluate(text, &value, &err);
        if (cases[i].wrong) {
            assert_int_equal(status, -1);
            expect_err(&err, ATOLL_E_INPUT, cases[i].wrong);
        } else {
            assert_int_equal(status, 0);
        }
        free(text);
    }
}

static void test_too_many_names_and_a_full_arena(void **state)
{
    char text[4096];
    size_t length = 0;
    struct atoll_err err = ATOLL_ERR_INIT;
    int64_t value;
    for (int i = 0; i < 65; i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%sn%d", i ? "+" : "", i);
    assert_int_equal(evaluate(text, &value, &err), -1);
    expect_err(&err, ATOLL_E_INPUT, "more than 64 names");
    struct atoll_arena *tiny = atoll_arena_create(200, NULL);
    assert_null(atoll_expression_parse(tiny, "1+2+3+4+5", &err));
    expect_err(&err, ATOLL_E_LIMIT, "limit");
    atoll_arena_destroy(tiny);
}

/* Random token strings: whatever they are, an answer or an error, never a crash. */
static void test_random_texts(void **state)
{
    static const char *const pieces[] = {"1",    "M",    "N",     "+",      "-",  "*",   "/",  "%",  "(",
                                         ")",    ",",    "<",     "<=",     "==", "!=",  "&&", "||", "!",
                                         "min(", "max(", "cdiv(", "ilog2(", " ",  "BIG", "#"};
    struct atoll_random random = {5, 0};
    int right = 0;
    for (int i = 0; i < 20000; i++) {
        char text[128] = "";
        int64_t value;
        size_t count = atoll_random_below(atoll_random_next(&random), 9) + 1;
        for (size_t j = 0; j < count; j++) {
            strcat(text,
                   pieces[atoll_random_below(atoll_random_next(&random), sizeof(pieces) / sizeof(*pieces))]);
        }
        struct atoll_err err = ATOLL_ERR_INIT;
        int status = evaluate(text, &value, &err);
        assert_true(status == 0 || (status == -1 && err.code == ATOLL_E_INPUT));
        right += status == 0;
    }
    assert_true(right > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_errors_name_column_and_reason),
        cmocka_unit_test(test_names_in_order_of_first_use),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_too_many_names_and_a_full_arena),
        cmocka_unit_test(test_random_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
