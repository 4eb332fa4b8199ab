/* Where characters end: whole ones, none, cut ones. */
#include "tests/support/expect.h"

#include "base/utf8.h"

static void test_characters(void **state)
{
    static const struct {
        const char *bytes;
        size_t length; /* of the first character, 0 none */
    } rows[] = {
        {"a", 1},
        {"\xc3\xa9", 2},
        {"\xe2\x82\xac", 3},
        {"\xf0\x9f\x98\x80", 4},
        {"\xc0\x80", 0},         /* overlong */
        {"\xed\xa0\x80", 0},     /* a surrogate */
        {"\xf4\x90\x80\x80", 0}, /* beyond U+10FFFF */
        {"\x80", 0},
        {"\xe2\x82", 0},
        {"\xff", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        size_t length = strlen(rows[i].bytes);
        assert_int_equal(atoll_utf8_character_bytes(rows[i].bytes, length), rows[i].length);
        assert_int_equal(atoll_utf8_valid_bytes(rows[i].bytes, length), rows[i].length);
    }
    assert_int_equal(atoll_utf8_valid_bytes("a\xc3\xa9\xff z", 6), 3);
    assert_int_equal(atoll_utf8_valid_bytes("", 0), 0);
}

static void test_cuts(void **state)
{
    static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
    static const size_t kept[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};
    for (size_t length = 0; length < sizeof(kept) / sizeof(*kept); length++)
        assert_int_equal(atoll_utf8_cut(text, length), kept[length]);
    assert_int_equal(atoll_utf8_cut("\x80\x80", 2), 2); /* no character begins there: nothing is cut */
}

static void test_lines(void **state)
{
    char line[8];
    atoll_utf8_line(line, sizeof(line),
                    "a\n\xff\x7f"
                    "b",
                    5);
    assert_string_equal(line, "a ? b");
    atoll_utf8_line(line, sizeof(line), "abcde\xe2\x82\xac", 8);
    assert_string_equal(line, "abcde");
    atoll_utf8_line(line, sizeof(line),
                    "a\xc2\x9b"
                    "b\xe2\x80\xae"
                    "c",
                    8);
    assert_string_equal(line, "a b c");
    atoll_utf8_line(line, sizeof(line), "", 0);
    assert_string_equal(line, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_characters),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
