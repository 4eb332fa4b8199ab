/* Patterns: what matches what, what is wrong with one, and that none is slow. */
#include "tests/support/expect.h"

#include <stdlib.h>

#include "base/pattern.h"

static int matches(const char *text, const char *in)
{
    struct atoll_pattern pattern;
    struct atoll_err err = ATOLL_ERR_INIT;
    uint64_t work = 1000000;
    if (atoll_pattern_parse(text, &pattern, &err) != 0)
        fail_msg("%s: %s", text, err.text);
    return atoll_pattern_matches(&pattern, in, strlen(in), &work);
}

static void test_what_matches(void **state)
{
    static const struct {
        const char *pattern, *yes, *no; /* no: NULL = everything matches */
    } rows[] = {
        {"", "", NULL},
        {"abc", "xxABCxx", "ab c"},
        {"a.c", "a-c", "ac"},
        {"ab*c", "ac", "abd"},
        {"ab*c", "abbbc", "bc"},
        {"ab+c", "abbc", "ac"},
        {"ab?c", "abc", "abbc"},
        {"^ab|cd$", "ab-", "-ab"},
        {"^ab|cd$", "xcd", "cdx"},
        {"(ab|c)+d", "xabcabd", "xabcab"},
        {"x(a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p|q|r|s)y", "xsy", "xty"},
        {"[a-c]x", "bx", "dx"},
        {"[^a-c]x", "dx", "Bx"},
        {"[]x]", "]", "["},
        {"[a-]", "-", "b"},
        {"\\d+\\.\\d", "12.5", "12,5"},
        {"wgmma\\.mma_async.*bf16", "  wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16",
         "wgmma_mma_async bf16"},
        {"\\bldg\\b", "@P0 LDG R1", "LDGSTS"},
        {"\\w\\s\\(", "f (", "f("},
        {"(a*)*b", "aab", "aac"},
        {"(a|)+b", "b", "a"},
        {"a\\\\b", "a\\b", "ab"},
        {"__shared__", "__shared__ float x[32];", "shared"},
        {"for(x{1})", "forx{1}", "forx"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (!matches(rows[i].pattern, rows[i].yes))
            fail_msg("'%s' should match '%s'", rows[i].pattern, rows[i].yes);
        if (rows[i].no && matches(rows[i].pattern, rows[i].no))
            fail_msg("'%s' should not match '%s'", rows[i].pattern, rows[i].no);
    }
}

static void test_what_is_wrong(void **state)
{
    static const struct {
        const char *pattern, *says;
    } rows[] = {
        {"(ab", "character 4: a ( without its )"},
        {"ab)", "character 3: a ) without its ("},
        {"*a", "nothing before a *"},
        {"a|+", "nothing before a *"},
        {"[ab", "a [ without its ]"},
        {"ab\\", "nothing behind a backslash"},
        {"[a\\", "a [ without its ]"},
    };
    struct atoll_pattern pattern;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        assert_int_equal(atoll_pattern_parse(rows[i].pattern, &pattern, &err), -1);
        expect_err(&err, ATOLL_E_INPUT, rows[i].says);
        uint64_t work = 100;
        assert_int_equal(atoll_pattern_matches(&pattern, "a", 1, &work), 0);
    }
    char longest[ATOLL_PATTERN_LIMIT + 2];
    struct atoll_err err = ATOLL_ERR_INIT;
    memset(longest, '(', sizeof(longest));
    longest[ATOLL_PATTERN_LIMIT] = '\0';
    assert_int_equal(atoll_pattern_parse(longest, &pattern, &err), -1);
    expect_err(&err, ATOLL_E_INPUT, "without its )");
    memset(longest, 'a', sizeof(longest));
    longest[ATOLL_PATTERN_LIMIT + 1] = '\0';
    atoll_err_clear(&err);
    assert_int_equal(atoll_pattern_parse(longest, &pattern, &err), -1);
    expect_err(&err, ATOLL_E_INPUT, "more than 128 characters");
    longest[ATOLL_PATTERN_LIMIT] = '\0';
    for (int i = 1; i < ATOLL_PATTERN_LIMIT; i += 2)
        longest[i] = '*';
    assert_int_equal(atoll_pattern_parse(longest, &pattern, NULL), 0);
}

/* What takes a matcher that goes back ages takes this one so many steps for each byte; and no more than it may. */
static void test_work_is_bounded(void **state)
{
    struct atoll_pattern pattern;
    static char text[20000];
    uint64_t work = 100u * sizeof(text);
    memset(text, 'a', sizeof(text));
    assert_int_equal(atoll_pattern_parse("(a*)*(a|a)*(a?)+b", &pattern, NULL), 0);
    assert_int_equal(atoll_pattern_matches(&pattern, text, sizeof(text), &work), 0);
    assert_true(work > 0);
    work = 1000;
    assert_int_equal(atoll_pattern_matches(&pattern, text, sizeof(text), &work), 0);
    assert_int_equal(work, 0);
    assert_int_equal(atoll_pattern_matches(&pattern, "b", 1, &work), 0);
    work = 1000;
    assert_int_equal(atoll_pattern_matches(&pattern, "b", 1, &work), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_matches),
        cmocka_unit_test(test_what_is_wrong),
        cmocka_unit_test(test_work_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
