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

static void test_folded_lines(void **state)
{
    static const struct {
        unsigned columns, indent;
        const char *text, *seen;
    } rows[] = {
        {0, 4, "as long as it is, nobody cuts it anywhere", "as long as it is, nobody cuts it anywhere\n"},
        {20, 4, "ok   cc   it is here", "ok   cc   it is here\n"},
        {20, 4, "ok   cc   it is there", "ok   cc   it is\n    there\n"},
        {20, 4, "ok   cc   one two three four five six seven",
         "ok   cc   one two\n    three four five\n    six seven\n"},
        {12, 4, "a /a/path/longer/than/that b", "a\n    /a/path/longer/than/that\n    b\n"},
        {10, 2, "caf\xc3\xa9 caf\xc3\xa9 x", "caf\xc3\xa9 caf\xc3\xa9\n  x\n"}, /* characters, not bytes */
        {10, 2, "one two\n three four", "one two\n three\n  four\n"},
        {6, 4, "too narrow for that", "too narrow for that\n"},
        {12, 2, "compiling 9 %, other 28 %",
         "compiling\n  9 %, other\n  28 %\n"}, /* a number keeps its sign */
        {12, 0, "an \033[31m escape", "an \\033[31m\nescape\n"},
        {80, 4, "", "\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *bytes;
        size_t length;
        FILE *out = open_memstream(&bytes, &length);
        assert_non_null(out);
        atoll_print_folded(out, rows[i].columns, rows[i].indent, rows[i].text);
        assert_int_equal(fclose(out), 0);
        assert_string_equal(bytes, rows[i].seen);
        free(bytes);
    }
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(atoll_print_columns(file), 0);
    atoll_print_line(file, 4, "%s of %d words", "a line", 123);
    rewind(file);
    char line[64] = "";
    assert_non_null(fgets(line, sizeof(line), file));
    assert_string_equal(line, "a line of 123 words\n");
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_reaches_a_terminal),
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_folded_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
