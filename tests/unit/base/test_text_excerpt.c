/* Excerpts: the best lines of a text, with their neighbours. */
#include "tests/support/expect.h"

#include "base/text_excerpt.h"

static const char text[] = "one\n"
                           "two warp\n"
                           "three\n"
                           "four\n"
                           "\n"
                           "six warp sum\n"
                           "seven\n"
                           "eight sum";

static void test_lines(void **state)
{
    static const struct {
        const char *words, *pattern; /* one of them */
        size_t limit, beside, count;
        const char *excerpt;
    } rows[] = {
        {"warp sum", NULL, 1, 0, 3, "     6: six warp sum\n"},
        {"warp sum", NULL, 2, 0, 3, "     2: two warp\n   ...\n     6: six warp sum\n"},
        {"warp", NULL, 9, 1, 2,
         "     1: one\n     2: two warp\n     3: three\n   ...\n     5: \n     6: six warp sum\n     7: "
         "seven\n"},
        {"sum", NULL, 9, 1, 2, "     5: \n     6: six warp sum\n     7: seven\n     8: eight sum\n"},
        {NULL, "^(one|eight)", 9, 0, 2, "     1: one\n   ...\n     8: eight sum\n"},
        {NULL, "nine", 9, 3, 0, ""},
        {"nine", NULL, 9, 3, 0, ""},
        {"warp", NULL, 0, 3, 2, ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_text_query query;
        struct atoll_pattern pattern;
        uint64_t work = 10000;
        struct atoll_text_wanted wanted = {&query, rows[i].pattern ? &pattern : NULL, &work};
        struct atoll_buffer out;
        atoll_buffer_init(&out, 1000);
        if (rows[i].pattern)
            assert_int_equal(atoll_pattern_parse(rows[i].pattern, &pattern, NULL), 0);
        else
            atoll_text_query_init(&query, rows[i].words, strlen(rows[i].words));
        assert_int_equal(
            atoll_text_excerpt(text, sizeof(text) - 1, &wanted, rows[i].limit, rows[i].beside, &out),
            rows[i].count);
        atoll_buffer_put_u8(&out, 0);
        assert_string_equal((char *)out.data, rows[i].excerpt);
        atoll_buffer_fini(&out);
    }
}

static void test_long_lines_are_cut(void **state)
{
    static char longest[1000];
    struct atoll_text_query query;
    struct atoll_text_wanted wanted = {&query, NULL, NULL};
    struct atoll_buffer out;
    memset(longest, ' ', sizeof(longest));
    memcpy(longest, "warp", 4);
    memcpy(longest + 199, "\xe2\x82\xac", 3);
    atoll_text_query_init(&query, "warp", 4);
    atoll_buffer_init(&out, 1000);
    assert_int_equal(atoll_text_excerpt(longest, sizeof(longest), &wanted, 1, 0, &out), 1);
    assert_int_equal(out.length, 8 + 199 + 5);
    assert_int_equal(atoll_text_excerpt("", 0, &wanted, 1, 0, &out), 0);
    atoll_buffer_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_long_lines_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
