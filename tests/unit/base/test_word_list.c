#include "base/word_list.h"

#include "tests/support/expect.h"

static void words_are_whole(void **state)
{
    static const struct {
        const char *list, *word;
        int is_in;
    } rows[] = {{"a,b", "a", 1},  {"a,b", "b", 1}, {"a, bc", "bc", 1},      {"ab,c", "a", 0},
                {"a,b", "ab", 0}, {"", "a", 0},    {NULL, "a", 0},          {",,a", "a", 1},
                {"a", "", 0},     {", ", "", 0},   {"gemm_f8,x", "gemm", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (atoll_word_is_in(rows[i].list, rows[i].word) != rows[i].is_in)
            fail_msg("row %zu", i);
}

static void words_come_in_turn(void **state)
{
    static const char *const rows[][2] = {{"a,b", "a b "}, {" ab, c ,,d ", "ab c d "}, {"", ""}, {", ", ""}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char got[32] = "";
        size_t length;
        for (const char *at = rows[i][0]; (length = atoll_word_at(&at)) > 0; at += length) {
            strncat(got, at, length);
            strcat(got, " ");
        }
        assert_string_equal(got, rows[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(words_are_whole),
                                       cmocka_unit_test(words_come_in_turn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
