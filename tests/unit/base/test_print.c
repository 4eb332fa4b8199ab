/* Texts of others cannot steer a terminal, and nothing of them is hidden. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/print.h"

static char *printed(const char *text, int is_formatted)
{
    char *bytes;
    size_t length;
    FILE *out = open_memstream(&bytes, &length);
    assert_non_null(out);
    if (is_formatted)
        assert_true(atoll_print(out, "[%s]", text) >= 2);
    else
        atoll_print_text(out, text);
    assert_int_equal(fclose(out), 0);
    return bytes;
}

static void test_what_reaches_a_terminal(void **state)
{
    static const struct {
        const char *text, *seen;
    } rows[] = {
        {"plain text, caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\n\tx\r\n",
         "plain text, caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\n\tx\r\n"},
        {"", ""},
        {"\033[31mRED\033]0;owned\a", "\\033[31mRED\\033]0;owned\\007"},
        {"// \r\033[8mhidden", "// \\015\\033[8mhidden"}, /* a lone CR goes back to the first column */
        {"\xc2\x9b"
         "31m\x7f",
         "\\302\\23331m\\177"}, /* C1 as UTF-8, DEL */
        {"\x9b"
         "31m\xff",
         "\\23331m\\377"}, /* C1 as a byte: no UTF-8 */
        {"a\xe2\x80\xae"
         "b",
         "a\\342\\200\\256b"},                                 /* turns the direction of reading */
        {"\xe2\x81\xa6\xe2\x82", "\\342\\201\\246\\342\\202"}, /* the same; a cut character */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *text = printed(rows[i].text, 0);
        assert_string_equal(text, rows[i].seen);
        free(text);
    }
}

static void test_formats(void **state)
{
    char *text = printed("a\033b", 1);
    assert_string_equal(text, "[a\\033b]");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_reaches_a_terminal),
        cmocka_unit_test(test_formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
