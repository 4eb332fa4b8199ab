/* Tools: names and schemas, arguments as models write them, the wire, and results of any bytes. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/random.h"
#include "base/utf8.h"
#include "core/plan/plan.h"
#include "core/tool.h"

static struct atoll_arena *arena;

static int set_up(void **state)
{
    arena = atoll_arena_create(8u << 20, NULL);
    return arena ? 0 : -1;
}

static int tear_down(void **state)
{
    atoll_arena_destroy(arena);
    return 0;
}

/* Every schema is an object whose required members it has. */
static void test_schemas(void **state)
{
    for (int i = 0; i < ATOLL_TOOL_COUNT; i++) {
        enum atoll_tool tool = (enum atoll_tool)i;
        const char *schema = atoll_tool_schema(tool);
        size_t index;
        json_t *name;
        json_t *read = atoll_json_load(schema, strlen(schema), 64, 0, NULL);
        assert_non_null(read);
        assert_string_equal(atoll_json_member(read, "type"), "object");
        json_array_foreach(json_object_get(read, "required"), index, name)
            assert_non_null(json_object_get(json_object_get(read, "properties"), json_string_value(name)));
        json_decref(read);
        assert_int_equal(atoll_tool_find(atoll_tool_name(tool)), tool);
        assert_true(strlen(atoll_tool_description(tool, "c")) > 20);
        assert_true(strlen(atoll_tool_description(tool, "cuda")) > 20);
    }
    assert_non_null(strstr(atoll_tool_description(ATOLL_TOOL_COMPILE, "cuda"), "registers, spills"));
    assert_null(strstr(atoll_tool_description(ATOLL_TOOL_COMPILE, "c"), "spills"));
    assert_non_null(strstr(atoll_tool_description(ATOLL_TOOL_COMPILE, "c"), "innermost loop"));
    assert_int_equal(atoll_tool_find("rm"), ATOLL_TOOL_COUNT);
    assert_int_equal(atoll_tool_find(""), ATOLL_TOOL_COUNT);
}

static void test_arguments(void **state)
{
    static const struct {
        enum atoll_tool tool;
        const char *json, *says; /* NULL: they are fine */
    } rows[] = {
        {ATOLL_TOOL_COMPILE, "{\"source\":\"int x;\"}", NULL},
        {ATOLL_TOOL_COMPILE, "{\"source\":\"int x;\",\"pattern\":\"HGMMA|LDS\",\"why\":[1,2]}", NULL},
        {ATOLL_TOOL_COMPILE, "{\"source\":\"int x;\",\"pattern\":null}", NULL},
        {ATOLL_TOOL_COMPILE, "", "\"source\" is missing"},
        {ATOLL_TOOL_COMPILE, "{}", "\"source\" is missing"},
        {ATOLL_TOOL_CHECK, "{\"source\":7}", "\"source\" must be a string"},
        {ATOLL_TOOL_CHECK, "{\"source\":\"a\\u0000b\"}", "no JSON"},
        {ATOLL_TOOL_CHECK, "{\"source\":", "no JSON"},
        {ATOLL_TOOL_CHECK, "[\"int x;\"]", "no JSON object"},
        {ATOLL_TOOL_CHECK, "int x;", "no JSON"},
        {ATOLL_TOOL_COMPILE, "{\"source\":\"x\",\"pattern\":\"(\"}", "pattern is wrong at character 2"},
        {ATOLL_TOOL_SEARCH_ARCHIVE, "{\"words\":\"shared memory\"}", NULL},
        {ATOLL_TOOL_SEARCH_ARCHIVE, "{\"pattern\":\"cp.async\"}", NULL},
        {ATOLL_TOOL_SEARCH_KNOWLEDGE, "{\"name\":\"x\"}", "\"words\" or \"pattern\" is wanted"},
        {ATOLL_TOOL_READ_FILE, "{\"name\":\"a.md\"}", NULL},
        {ATOLL_TOOL_READ_FILE, "{\"name\":\"a.md\",\"line\":0}", "\"line\" must be"},
        {ATOLL_TOOL_READ_FILE, "{\"name\":\"a.md\",\"line\":\"1\"}", "\"line\" must be"},
        {ATOLL_TOOL_READ_FILE, "{\"words\":\"a\"}", "\"name\" is missing"},
    };
    struct atoll_tool_arguments a;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        int rc = atoll_tool_arguments_read(rows[i].tool, rows[i].json, arena, &a, &err);
        if (rc != (rows[i].says ? -1 : 0))
            fail_msg("%s: %d, %s", rows[i].json, rc, err.text);
        if (rows[i].says)
            expect_err(&err, ATOLL_E_INPUT, rows[i].says);
    }
    assert_int_equal(
        atoll_tool_arguments_read(ATOLL_TOOL_READ_FILE, "{\"name\":\"a\",\"line\":7}", arena, &a, NULL), 0);
    assert_string_equal(a.name, "a");
    assert_int_equal(a.line, 7);
    assert_string_equal(a.source, "");
}

/* One byte more than a source may have, and values without end. */
static void test_arguments_are_bounded(void **state)
{
    size_t bytes = ATOLL_SOURCE_LIMIT + 100;
    char *json = malloc(2 * ATOLL_TOOL_ARGUMENTS_LIMIT);
    struct atoll_tool_arguments a;
    struct atoll_err err = ATOLL_ERR_INIT;
    int n = snprintf(json, bytes, "{\"source\":\"");
    memset(json + n, 'x', ATOLL_SOURCE_LIMIT);
    strcpy(json + n + ATOLL_SOURCE_LIMIT, "\"}");
    assert_int_equal(atoll_tool_arguments_read(ATOLL_TOOL_CHECK, json, arena, &a, NULL), 0);
    strcpy(json + n + ATOLL_SOURCE_LIMIT, "y\"}");
    assert_int_equal(atoll_tool_arguments_read(ATOLL_TOOL_CHECK, json, arena, &a, &err), -1);
    expect_err(&err, ATOLL_E_INPUT, "at most 262144");
    memset(json, '[', ATOLL_TOOL_ARGUMENTS_LIMIT + 1);
    json[ATOLL_TOOL_ARGUMENTS_LIMIT + 1] = '\0';
    atoll_err_clear(&err);
    assert_int_equal(atoll_tool_arguments_read(ATOLL_TOOL_CHECK, json, arena, &a, &err), -1);
    expect_err(&err, ATOLL_E_INPUT, "the arguments have 1048577 bytes");
    json[ATOLL_TOOL_ARGUMENTS_LIMIT] = '\0';
    atoll_err_clear(&err);
    assert_int_equal(atoll_tool_arguments_read(ATOLL_TOOL_CHECK, json, arena, &a, &err), -1);
    assert_int_equal(err.code, ATOLL_E_INPUT);
    free(json);
}

/* What was sent is what comes, and nothing of a frame that is cut short or has a number that is none. */
static void test_wire(void **state)
{
    struct atoll_buffer out;
    const struct atoll_tool_order order = {7, 3, ATOLL_TOOL_CHECK, "c", "int x;", "FMA"};
    const struct atoll_tool_answer answer = {9, ATOLL_TOOL_ERROR, "it is not there"};
    struct atoll_tool_order o;
    struct atoll_tool_answer a;
    atoll_buffer_init(&out, 1000000);
    atoll_tool_order_encode(&order, &out);
    assert_int_equal(atoll_tool_order_decode(out.data, out.length, arena, &o, NULL), 0);
    assert_int_equal(o.call, 7);
    assert_int_equal(o.task, 3);
    assert_int_equal(o.tool, ATOLL_TOOL_CHECK);
    assert_string_equal(o.source, "int x;");
    assert_string_equal(o.pattern, "FMA");
    for (size_t n = 0; n < out.length; n++)
        assert_int_equal(atoll_tool_order_decode(out.data, n, arena, &o, NULL), -1);
    out.data[12] = ATOLL_TOOL_SEARCH_ARCHIVE; /* no evaluator searches */
    assert_int_equal(atoll_tool_order_decode(out.data, out.length, arena, &o, NULL), -1);
    atoll_buffer_clear(&out);
    atoll_tool_answer_encode(&answer, &out);
    assert_int_equal(atoll_tool_answer_decode(out.data, out.length, arena, &a, NULL), 0);
    assert_int_equal(a.call, 9);
    assert_int_equal(a.status, ATOLL_TOOL_ERROR);
    assert_string_equal(a.text, "it is not there");
    for (size_t n = 0; n < out.length; n++)
        assert_int_equal(atoll_tool_answer_decode(out.data, n, arena, &a, NULL), -1);
    out.data[8] = ATOLL_TOOL_STATUS_COUNT;
    assert_int_equal(atoll_tool_answer_decode(out.data, out.length, arena, &a, NULL), -1);
    atoll_buffer_fini(&out);
}

static void test_results_are_texts(void **state)
{
    static char text[3 * ATOLL_TOOL_RESULT_LIMIT], result[ATOLL_TOOL_RESULT_LIMIT + 1];
    struct atoll_random random = {.key = 11};
    atoll_tool_result_cut("a\x1b[31m\tb\n\xc2\x9b"
                          "c\xff\x00"
                          "d",
                          15, result);
    assert_string_equal(result, "a [31m\tb\n c? d");
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)('a' + i % 26);
    memcpy(text + sizeof(text) - 9, "\xe2\x82\xac the end", 9);
    atoll_tool_result_cut(text, sizeof(text), result);
    assert_true(strlen(result) <= ATOLL_TOOL_RESULT_LIMIT);
    assert_true(strlen(result) > ATOLL_TOOL_RESULT_LIMIT - 200);
    assert_non_null(strstr(result, "bytes are left out ...]"));
    assert_string_equal(result + strlen(result) - 9, "\xe2\x82\xac the e");
    atoll_tool_text_cut(text, sizeof(text), ATOLL_TOOL_CUT_LEAST, result);
    assert_true(strlen(result) <= ATOLL_TOOL_CUT_LEAST && strlen(result) > ATOLL_TOOL_CUT_LEAST - 100);
    assert_memory_equal(result, "abcdef", 6);
    assert_string_equal(result + strlen(result) - 9, "\xe2\x82\xac the e");
    for (int round = 0; round < 50; round++) {
        size_t length = (size_t)atoll_random_below(atoll_random_next(&random), sizeof(text));
        for (size_t i = 0; i < length; i++)
            text[i] = (char)(atoll_random_next(&random) & (round % 2 ? 0xff : 0xbf));
        memset(result, 'X', sizeof(result));
        atoll_tool_result_cut(text, length, result);
        size_t n = strnlen(result, sizeof(result));
        assert_true(n <= ATOLL_TOOL_RESULT_LIMIT);
        assert_int_equal(atoll_utf8_valid_bytes(result, n), n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_schemas, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_arguments, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_arguments_are_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wire, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_results_are_texts, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
