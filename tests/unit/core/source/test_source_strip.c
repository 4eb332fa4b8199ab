/* test_source_strip.c - what a reader is shown of a source: its tokens, and nothing that only speaks to people. */
#include "tests/support/expect.h"

#include "core/source/source_strip.h"

static void test_rows(void **state)
{
    static const struct {
        const char *language, *source, *expected;
    } rows[] = {
        {"c", "", ""},
        {"c", "/* this kernel is honest */ int x; // really\n", "int x;\n"},
        {"c", "a;\n\n\n\nb;\n", "a;\n\nb;\n"},
        {"c", "f(\n    /* 1 */ x,\n    y);", "f(\nx,\n    y);\n"},
        {"c", "x = a/* hides\n */ + b;", "x = a\n+ b;\n"},
        {"c", "s = \"/* no comment */\"; c = '\"'; d = 1; // \"",
         "s = \"/* no comment */\"; c = '\"'; d = 1;\n"},
        {"c", "#if 0\nnever();\n#else\nalways();\n#endif\n", "#if 0\n\n#else\nalways();\n#endif\n"},
        {"c", "/\\\n* gone */ kept();", "kept();\n"},
        {"c", "// gone \\\n also gone\nkept();", "kept();\n"},
        {"c", "#define A(x) \\\n    (x)\n    y", "#define A(x) (x)\n    y\n"},
        {"c", "x\xe2\x80\x8b = 1; \x01", "x??? = 1; ?\n"},
        {"cuda", "__global__ void f() {\n  // note\n  g();\n}\n", "__global__ void f() {\n\n  g();\n}\n"},
        {"triton", "# note\ndef f(x):\n    \"\"\"honest\n    # text\"\"\"\n    return x # y\n",
         "def f(x):\n\n    return x\n"},
        {"triton", "s = \"# no comment\"\nt = '''a\n# b'''\n", "s = \"# no comment\"\nt = '''a\n# b'''\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_buffer out;
        atoll_buffer_init(&out, 4096);
        assert_int_equal(atoll_source_strip(rows[i].language, rows[i].source, &out, NULL), 0);
        atoll_buffer_put_u8(&out, 0);
        assert_string_equal((const char *)out.data, rows[i].expected);
        atoll_buffer_fini(&out);
    }
}

static void test_limits(void **state)
{
    struct atoll_err err = {0};
    struct atoll_buffer out;
    atoll_buffer_init(&out, 4);
    assert_int_equal(atoll_source_strip("c", "int x;", &out, &err), -1);
    expect_err(&err, ATOLL_E_LIMIT, "");
    atoll_buffer_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
