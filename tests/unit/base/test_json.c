/* JSON from others is read with limits, and texts that are no UTF-8 lose nothing. */
#include "tests/support/expect.h"

#include <stdlib.h>

#include "base/json.h"

static void test_what_is_read(void **state)
{
    static const struct {
        const char *text;
        size_t value_limit;
        enum atoll_code code; /* OK: it is read */
        const char *says;
    } rows[] = {
        {"{\"a\": [1, 2, \"x,[\\\"\"]}", 8, ATOLL_OK, ""},
        {"[1, 2, 3]", 3, ATOLL_E_LIMIT, "JSON with more than 3 values"},
        {"[1,\n 2", 8, ATOLL_E_INPUT, "no JSON at line 2, column"},
        {"", 8, ATOLL_E_INPUT, "no JSON at line 1"},
        {"[99999999999999999999]", 8, ATOLL_OK, ""}, /* beyond 64 bits: a real */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        json_t *document = atoll_json_load(rows[i].text, strlen(rows[i].text), rows[i].value_limit, 0, &err);
        if (rows[i].code == ATOLL_OK) {
            assert_non_null(document);
            json_decref(document);
        } else {
            assert_null(document);
            expect_err(&err, rows[i].code, rows[i].says);
        }
    }
}

static void test_what_is_written(void **state)
{
    struct atoll_buffer out;
    struct atoll_err err = ATOLL_ERR_INIT;
    json_t *document = json_pack("{s:i, s:s}", "b", 1, "a", "x");
    atoll_buffer_init(&out, 64);
    assert_int_equal(atoll_json_put(&out, document, &err), 0);
    assert_int_equal(out.length, strlen("{\"b\":1,\"a\":\"x\"}"));
    assert_memory_equal(out.data, "{\"b\":1,\"a\":\"x\"}", out.length);
    assert_string_equal(atoll_json_member(document, "a"), "x");
    assert_string_equal(atoll_json_member(document, "b"), "");
    assert_string_equal(atoll_json_member(document, "none"), "");
    assert_int_equal(atoll_json_put(&out, NULL, &err), -1);
    expect_err(&err, ATOLL_E_MEMORY, "no memory to write JSON");
    atoll_buffer_fini(&out);
    atoll_err_clear(&err);
    atoll_buffer_init(&out, 4);
    assert_int_equal(atoll_json_put(&out, document, &err), -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
    atoll_buffer_fini(&out);
    json_decref(document);
}

static void test_texts_lose_nothing(void **state)
{
    json_t *utf8 = atoll_json_text("caf\xc3\xa9"), *latin1 = atoll_json_text("caf\xe9");
    assert_string_equal(json_string_value(utf8), "caf\xc3\xa9");
    assert_string_equal(json_string_value(latin1), "caf\xc3\xa9");
    json_decref(utf8);
    json_decref(latin1);
}

/* DEL and the C1 controls are allowed in JSON's texts and steer terminals; U+202E turns what is read. */
static void test_what_is_printed(void **state)
{
    char *bytes;
    size_t length;
    FILE *out = open_memstream(&bytes, &length);
    assert_non_null(out);
    json_t *document = json_pack("{s:s}", "a\xc2\x80", "\xc2\x9b\x7f\033\xe2\x80\xae caf\xc3\xa9");
    atoll_json_print(document, JSON_COMPACT, out);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(bytes, "{\"a\\u0080\":\"\\u009b\\u007f\\u001B\\u202e caf\xc3\xa9\"}\n");
    document = json_loads(bytes, 0, NULL);
    assert_string_equal(atoll_json_member(document, "a\xc2\x80"), "\xc2\x9b\x7f\033\xe2\x80\xae caf\xc3\xa9");
    json_decref(document);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_read),
        cmocka_unit_test(test_what_is_written),
        cmocka_unit_test(test_texts_lose_nothing),
        cmocka_unit_test(test_what_is_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
