/* test_source_token.c - tokens as a compiler would cut them, with their lines and places. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/source/source_token.h"

/* Tokens joined by '|', each with its kind's letter; '@' in front of the first of a line, '#' of a directive.
 */
static void describe(const char *source, char *ret, size_t bytes)
{
    struct atoll_token_list list;
    size_t used = 0;
    ret[0] = 0;
    assert_int_equal(atoll_token_list_init(&list, source, NULL), 0);
    for (size_t i = 0; i < list.count && used < bytes; i++) {
        const struct atoll_token *t = &list.tokens[i];
        used += (size_t)snprintf(ret + used, bytes - used, "%s%s%s%c%u:%.*s", i ? "|" : "",
                                 t->first ? "@" : "", t->directive ? "#" : "", "NDSCMO"[t->kind], t -> line,
                                 (int)t -> length, t -> text);
    }
    atoll_token_list_fini(&list);
}

static void test_rows(void **state)
{
    static const struct {
        const char *source, *expected;
    } rows[] = {
        {"", ""},
        {" \t\n\n", ""},
        {"int x;", "@N1:int|N1:x|M1:;"},
        {"a\nb", "@N1:a|@N2:b"},
        {"1.5e-3f+.5 0x1p-2", "@D1:1.5e-3f|M1:+|D1:.5|D1:0x1p-2"},
        {"a+++b->c<<=3...", "@N1:a|M1:++|M1:+|N1:b|M1:->|N1:c|M1:<<=|D1:3...|"},
        {"\"a\\\"b\" 'c' '\\''", "@S1:\"a\\\"b\"|C1:'c'|C1:'\\''"},
        {"a/* x\n y */b // c\nd", "@N1:a|N2:b|@N3:d"},
        {"/**/a", "@N1:a"},
        {"#define A 1\nb", "@#M1:#|#N1:define|#N1:A|#D1:1|@N2:b"},
        {"#if A \\\n B\nc", "@#M1:#|#N1:if|#N1:A|#N1:B|@N3:c"},
        {"as\\\nm\nx", "@N1:asm|@N3:x"},
        {"a\\  \nb\nc", "@N1:a|O1:\\|@N2:b|@N3:c"},
        {"a\\\r\nb\nc", "@N1:ab|@N3:c"},
        {"a\\\r \nb", "@N1:a|O1:\\|O1:\r|@N2:b"},
        {"gr\xc3\xb6 1\xce\xb1 \xc3(", "@N1:gr\xc3\xb6|D1:1\xce\xb1|O1:\xc3|M1:("},
        {"a \\ b", "@N1:a|O1:\\|N1:b"},
        {"/\\\n* x */ a", "@N1:a"},
        {"'open /*\nx", "@O1:'open /*|@N2:x"},
        {"\"open\nx", "@O1:\"open|@N2:x"},
        {"a$\x01", "@N1:a|O1:$|O1:\x02"},
        {"\r\na\r\n", "@N2:a"},
        {"a\rb", "@N1:a|O1:\r|N1:b"},
        {"a # b", "@N1:a|M1:#|N1:b"},
        {"/* c */ # x", "@#M1:#|#N1:x"},
        {"%:define", "@#M1:%:|#N1:define"},
        {"a##b %:%: <:", "@N1:a|M1:##|N1:b|M1:%:%:|M1:<:"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char text[1024];
        describe(rows[i].source, text, sizeof(text));
        const char *expected = rows[i].expected;
        size_t length = strlen(expected);
        if (length && expected[length - 1] == '|') /* "3..." is one preprocessing number */
            length--;
        if (strlen(text) != length || strncmp(text, expected, length) != 0)
            fail_msg("'%s' gave '%s', expected '%s'", rows[i].source, text, expected);
    }
}

static void test_open_comment(void **state)
{
    struct atoll_token_list list;
    assert_int_equal(atoll_token_list_init(&list, "a\n/* b\n c", NULL), 0);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.odd_line, 2);
    atoll_token_list_fini(&list);
    assert_int_equal(atoll_token_list_init(&list, "/*/", NULL), 0);
    assert_int_equal(list.odd_line, 1);
    atoll_token_list_fini(&list);
}

static void test_limit(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_token_list list;
    size_t length = ((size_t)1 << 20) + 1;
    char *text = malloc(length + 1);
    assert_non_null(text);
    memset(text, 'a', length);
    text[length] = 0;
    assert_int_equal(atoll_token_list_init(&list, text, &err), -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
    text[length - 1] = 0;
    assert_int_equal(atoll_token_list_init(&list, text, &err), 0);
    assert_int_equal(list.count, 1);
    atoll_token_list_fini(&list);
    free(text);
}

static void test_compare(void **state)
{
    struct atoll_token t = {.kind = ATOLL_TOKEN_NAME, .text = "forest", .length = 3, .line = 1};
    assert_true(atoll_token_is(&t, "for"));
    assert_false(atoll_token_is(&t, "fo"));
    assert_false(atoll_token_is(&t, "forest"));
    assert_true(atoll_token_starts(&t, "fo"));
    assert_false(atoll_token_starts(&t, "fore"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_open_comment),
                                       cmocka_unit_test(test_limit), cmocka_unit_test(test_compare)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
