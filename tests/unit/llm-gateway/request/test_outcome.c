#include "tests/support/expect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "llm-gateway/provider/provider.h"
#include "llm-gateway/request/outcome.h"

#define LIMIT ((size_t)256 << 20)

static void put(struct atoll_buffer *text, const char *words)
{
    atoll_buffer_put_bytes(text, words, strlen(words) + 1);
    text->length--;
}

static void fill(struct atoll_llm_outcome *o)
{
    atoll_llm_outcome_init(o);
    o->status = ATOLL_LLM_TRUNCATED;
    o->http_status = 200;
    snprintf(o->detail, sizeof(o->detail), "ended by a limit");
    snprintf(o->model, sizeof(o->model), "gpt-5-mini-2025-08-07");
    snprintf(o->name, sizeof(o->name), "cheap");
    snprintf(o->endpoint, sizeof(o->endpoint), "openai");
    snprintf(o->finish, sizeof(o->finish), "length");
    put(&o->text, "Grüße\n\"x\"");
    put(&o->reasoning, "Hm.");
    atoll_buffer_put_bytes(&o->raw, "data: \xff\0\n", 9);
    o->usage = (struct atoll_llm_usage){100, 60, 20, 50, 40, 0};
    o->cost_usd = 0.0125;
    o->tries = 3;
    o->started_unix_ns = 1763700000123456789;
    o->first_byte_s = 0.25;
    o->elapsed_s = 1.5;
    o->is_from_store = 1;
    for (size_t i = 0; i < sizeof(o->request.bytes); i++)
        o->request.bytes[i] = (uint8_t)(i * 7);
}

static const char *text_of(const struct atoll_buffer *text)
{
    if (text->data)
        assert_int_equal(text->data[text->length], 0);
    return text->data ? (const char *)text->data : "";
}

/* All but raw. */
static void expect_equal(const struct atoll_llm_outcome *a, const struct atoll_llm_outcome *b)
{
    assert_string_equal(atoll_llm_status_name(a->status), atoll_llm_status_name(b->status));
    assert_int_equal(a->http_status, b->http_status);
    assert_string_equal(a->detail, b->detail);
    assert_string_equal(a->model, b->model);
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->endpoint, b->endpoint);
    assert_string_equal(a->finish, b->finish);
    assert_string_equal(text_of(&a->text), text_of(&b->text));
    assert_string_equal(text_of(&a->reasoning), text_of(&b->reasoning));
    assert_int_equal(a->tool_call_count, b->tool_call_count);
    assert_int_equal(a->usage.input, b->usage.input);
    assert_int_equal(a->usage.cached_input, b->usage.cached_input);
    assert_int_equal(a->usage.cache_write, b->usage.cache_write);
    assert_int_equal(a->usage.output, b->usage.output);
    assert_int_equal(a->usage.reasoning, b->usage.reasoning);
    assert_int_equal(a->usage.is_estimated, b->usage.is_estimated);
    assert_true(a->cost_usd == b->cost_usd && a->first_byte_s == b->first_byte_s &&
                a->elapsed_s == b->elapsed_s);
    assert_int_equal(a->tries, b->tries);
    assert_int_equal(a->started_unix_ns, b->started_unix_ns);
    assert_int_equal(a->is_from_store, b->is_from_store);
    assert_true(atoll_id_equal(&a->request, &b->request));
}

static void test_copy(void **state)
{
    struct atoll_llm_outcome a, b;
    fill(&a);
    fill(&b);
    b.status = ATOLL_LLM_OK;
    put(&b.text, "more");
    assert_int_equal(atoll_llm_outcome_copy(&a, &b, NULL), 0);
    expect_equal(&a, &b);
    assert_int_equal(b.raw.length, 9);
    assert_memory_equal(b.raw.data, a.raw.data, 9);
    assert_ptr_not_equal(a.text.data, b.text.data);
    atoll_llm_outcome_fini(&a);
    assert_string_equal(text_of(&a.text), "");
    atoll_llm_outcome_copy(&a, &b, NULL);
    expect_equal(&a, &b);
    atoll_llm_outcome_fini(&b);
}

static void test_say(void **state)
{
    static const struct {
        const char *said, *detail;
    } cases[] = {{"plain", "plain"},
                 {"two\nlines\r\n\t\x1b[31m", "two lines    [31m"},
                 {"Grüße \xff\xc3+", "Grüße ??+"},
                 {"", ""}};
    struct atoll_llm_outcome o;
    char longest[2000], expected[512];
    atoll_llm_outcome_init(&o);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        atoll_llm_outcome_set(&o, ATOLL_LLM_NETWORK, "%s", cases[i].said);
        assert_int_equal(o.status, ATOLL_LLM_NETWORK);
        assert_string_equal(o.detail, cases[i].detail);
    }
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = 0;
    memcpy(longest + 509, "\xe2\x82\xac", 3); /* does not fit into 511 bytes */
    atoll_llm_outcome_set(&o, ATOLL_LLM_RATE, "%s", longest);
    snprintf(expected, sizeof(expected), "%.509s", longest);
    assert_string_equal(o.detail, expected);
    atoll_llm_outcome_fini(&o);
}

static void test_names(void **state)
{
    for (int i = 0; i < ATOLL_LLM_STATUS_COUNT; i++) {
        const char *name = atoll_llm_status_name((enum atoll_llm_status)i);
        assert_true(*name && *name != '?');
        for (int k = 0; k < i; k++)
            assert_string_not_equal(name, atoll_llm_status_name((enum atoll_llm_status)k));
    }
    assert_string_equal(atoll_llm_status_name(ATOLL_LLM_TOO_LARGE), "too_large");
    assert_string_equal(atoll_llm_status_name(ATOLL_LLM_UNKNOWN), "unknown");
    assert_string_equal(atoll_llm_status_name(ATOLL_LLM_STATUS_COUNT), "?");
    assert_true(atoll_llm_status_is_answer(ATOLL_LLM_OK) && atoll_llm_status_is_answer(ATOLL_LLM_TRUNCATED));
    assert_false(atoll_llm_status_is_answer(ATOLL_LLM_EMPTY) ||
                 atoll_llm_status_is_answer(ATOLL_LLM_REFUSED));
}

/* ---- bytes ---- */

static void test_bytes(void **state)
{
    struct atoll_llm_outcome a, b;
    struct atoll_buffer out;
    struct atoll_err err = ATOLL_ERR_INIT;
    fill(&a);
    atoll_llm_outcome_init(&b);
    atoll_buffer_init(&out, LIMIT);
    atoll_llm_outcome_encode(&a, &out);
    assert_int_equal(atoll_llm_outcome_decode(out.data, out.length, &b, &err), 0);
    expect_equal(&a, &b);
    assert_int_equal(b.raw.length, 9);
    assert_memory_equal(b.raw.data, a.raw.data, 9);
    for (size_t n = 0; n < out.length; n++) {
        assert_int_equal(atoll_llm_outcome_decode(out.data, n, &b, &err), -1);
        expect_err(&err, ATOLL_E_PROTOCOL, "outcome: malformed or cut");
        expect_equal(&a, &b); /* untouched */
    }
    atoll_buffer_put_u8(&out, 0);
    assert_int_equal(atoll_llm_outcome_decode(out.data, out.length, &b, &err), -1);
    expect_err(&err, ATOLL_E_PROTOCOL, "1 bytes too many");
    out.data[0] = 3;
    assert_int_equal(atoll_llm_outcome_decode(out.data, out.length, &b, &err), -1);
    expect_err(&err, ATOLL_E_SCHEMA, "version 3");
    out.data[0] = 0;
    assert_int_equal(atoll_llm_outcome_decode(out.data, out.length, &b, &err), -1);
    expect_err(&err, ATOLL_E_PROTOCOL, "version 0");
    out.data[0] = 1;
    out.data[1] = ATOLL_LLM_STATUS_COUNT;
    assert_int_equal(atoll_llm_outcome_decode(out.data, out.length - 1, &b, &err), -1);
    atoll_buffer_fini(&out);
    atoll_llm_outcome_fini(&a);
    atoll_llm_outcome_fini(&b);
}

/* A text that is none is refused, wherever its bytes come from. */
static void test_bytes_of_broken_texts(void **state)
{
    static const char *const broken[] = {"\xff", "\xed\xa0\x80", "\xc0\x80", "\xf4\x90\x80\x80", "a\xe2\x82",
                                         "\0"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
        struct atoll_llm_outcome a, b;
        struct atoll_buffer out;
        struct atoll_err err = ATOLL_ERR_INIT;
        fill(&a);
        atoll_llm_outcome_init(&b);
        atoll_buffer_clear(&a.text);
        put(&a.text, broken[i]);
        a.text.length += !a.text.length;
        atoll_buffer_init(&out, LIMIT);
        atoll_llm_outcome_encode(&a, &out);
        assert_int_equal(atoll_llm_outcome_decode(out.data, out.length, &b, &err), -1);
        expect_err(&err, ATOLL_E_PROTOCOL, "outcome: malformed");
        atoll_buffer_fini(&out);
        atoll_llm_outcome_fini(&a);
        atoll_llm_outcome_fini(&b);
    }
}

/* A clock that went back, or a price gone wrong, must not make a record that nobody can read. */
static void test_bytes_of_odd_numbers(void **state)
{
    struct atoll_llm_outcome a, b;
    struct atoll_buffer out;
    struct atoll_err err = ATOLL_ERR_INIT;
    fill(&a);
    a.elapsed_s = -1;
    a.first_byte_s = NAN;
    a.cost_usd = INFINITY;
    a.http_status = -5;
    atoll_llm_outcome_init(&b);
    atoll_buffer_init(&out, LIMIT);
    atoll_llm_outcome_encode(&a, &out);
    if (atoll_llm_outcome_decode(out.data, out.length, &b, &err))
        fail_msg("%s", err.text);
    assert_true(b.elapsed_s == 0 && b.first_byte_s == 0 && b.cost_usd == 1e9 && b.http_status == 0);
    atoll_buffer_fini(&out);
    atoll_llm_outcome_fini(&a);
    atoll_llm_outcome_fini(&b);
}

/* ---- JSON ---- */

static void json(const struct atoll_llm_outcome *o, struct atoll_buffer *out)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_buffer_init(out, LIMIT);
    if (atoll_llm_outcome_json(o, out, &err))
        fail_msg("%s", err.text);
    atoll_buffer_put_u8(out, 0);
    out->length--;
}

static void test_json_of_an_answer(void **state)
{
    struct atoll_llm_outcome o;
    struct atoll_buffer out;
    fill(&o);
    json(&o, &out);
    assert_string_equal(
        (const char *)out.data,
        "{\"id\":\"chatcmpl-00070e151c232a31383f464d\",\"object\":\"chat.completion\",\"created\":1763700000,"
        "\"model\":\"cheap\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":"
        "\"Grüße\\n\\\"x\\\"\",\"reasoning_content\":\"Hm.\"},\"finish_reason\":\"length\"}],\"usage\":"
        "{\"prompt_tokens\":100,\"completion_tokens\":50,\"total_tokens\":150,\"prompt_tokens_details\":"
        "{\"cached_tokens\":60},\"completion_tokens_details\":{\"reasoning_tokens\":40}},\"atoll\":{"
        "\"status\":"
        "\"truncated\",\"http_status\":200,\"detail\":\"ended by a "
        "limit\",\"model\":\"gpt-5-mini-2025-08-07\","
        "\"name\":\"cheap\",\"endpoint\":\"openai\",\"finish\":\"length\",\"usage\":{\"input\":100,\"cached_"
        "input\":60,"
        "\"cache_write\":20,\"output\":50,\"reasoning\":40,\"is_estimated\":false},\"cost_usd\":0."
        "012500000000000001,"
        "\"tries\":3,\"started_unix_ns\":1763700000123456789,\"first_byte_s\":0.25,\"elapsed_s\":1.5,"
        "\"is_from_store\":true,\"request\":"
        "\"00070e151c232a31383f464d545b626970777e858c939aa1a8afb6bdc4cbd2d9\"}}");
    atoll_buffer_fini(&out);
    atoll_llm_outcome_fini(&o);
}

static void test_json_of_an_error(void **state)
{
    struct atoll_llm_outcome o;
    struct atoll_buffer out;
    fill(&o);
    o.status = ATOLL_LLM_STREAM;
    json(&o, &out);
    const char start[] =
        "{\"error\":{\"message\":\"ended by a limit\",\"type\":\"stream\",\"code\":\"stream\","
        "\"param\":null},\"atoll\":{\"status\":\"stream\",";
    assert_memory_equal(out.data, start, sizeof(start) - 1);
    assert_non_null(strstr((const char *)out.data, "\"text\":\"Grüße\\n\\\"x\\\"\",\"reasoning\":\"Hm.\"}}"));
    atoll_buffer_fini(&out);
    atoll_llm_outcome_fini(&o);
}

/* Every status, with and without texts, comes back from its JSON. */
static void test_json_round_trips(void **state)
{
    for (int status = 0; status < ATOLL_LLM_STATUS_COUNT; status++) {
        for (int has_text = 0; has_text < 2; has_text++) {
            struct atoll_llm_outcome a, b;
            struct atoll_buffer out;
            struct atoll_err err = ATOLL_ERR_INIT;
            if (!has_text && atoll_llm_status_is_answer((enum atoll_llm_status)status))
                continue;
            fill(&a);
            fill(&b);
            const struct atoll_llm_tool_call call = {"a", "f", "{}"};
            a.status = (enum atoll_llm_status)status;
            if (a.status == ATOLL_LLM_TOOL_CALLS)
                assert_int_equal(atoll_llm_outcome_set_calls(&a, &call, 1, NULL), 0);
            a.usage.is_estimated = has_text;
            if (!has_text) {
                atoll_buffer_fini(&a.text);
                atoll_buffer_fini(&a.reasoning);
            }
            json(&a, &out);
            if (atoll_reply_parse(out.data, out.length, &b, &err))
                fail_msg("%s: %s", atoll_llm_status_name(a.status), err.text);
            expect_equal(&a, &b);
            assert_int_equal(b.raw.length, out.length);
            atoll_buffer_fini(&out);
            atoll_llm_outcome_fini(&a);
            atoll_llm_outcome_fini(&b);
        }
    }
}

static void test_json_of_embeddings(void **state)
{
    static const char reply[] =
        "{\"object\":\"list\",\"data\":[{\"index\":0,\"embedding\":[0.5,1]}],\"usage\":"
        "{\"prompt_tokens\":3,\"total_tokens\":3}}";
    struct atoll_llm_outcome a, b;
    struct atoll_buffer out;
    atoll_llm_outcome_init(&a);
    atoll_llm_outcome_init(&b);
    a.usage.input = 3;
    a.tries = 1;
    atoll_buffer_put_bytes(&a.raw, reply, sizeof(reply) - 1);
    json(&a, &out);
    assert_memory_equal(out.data, reply, sizeof(reply) - 2);
    assert_int_equal(atoll_reply_parse(out.data, out.length, &b, NULL), 0);
    expect_equal(&a, &b);
    assert_int_equal(b.raw.length, out.length);
    atoll_buffer_fini(&out);
    atoll_llm_outcome_fini(&a);
    atoll_llm_outcome_fini(&b);
}

static void test_json_of_broken_texts(void **state)
{
    struct atoll_llm_outcome o;
    struct atoll_buffer out;
    struct atoll_err err = ATOLL_ERR_INIT;
    fill(&o);
    atoll_buffer_init(&out, LIMIT);
    memcpy(o.detail, "\xff\n", 3);
    assert_int_equal(atoll_llm_outcome_json(&o, &out, &err), 0);
    o.text.data[0] = 0xff;
    assert_int_equal(atoll_llm_outcome_json(&o, &out, &err), -1);
    expect_err(&err, ATOLL_E_INTERNAL, "a text that is not UTF-8");
    atoll_buffer_fini(&out);
    atoll_llm_outcome_fini(&o);
}

/* ---- what people and other programs write ---- */

static const struct {
    const char *file;
    enum atoll_llm_status status;
    const char *text, *reasoning, *detail, *model;
    uint64_t output; /* 0: estimated */
} parsed[] = {
    {"Hello\n", ATOLL_LLM_OK, "Hello\n", "", "", "", 0},
    {"\xef\xbb\xbfHello", ATOLL_LLM_OK, "Hello", "", "", "", 0},
    {"```c\nint x;\n```", ATOLL_LLM_OK, "```c\nint x;\n```", "", "", "", 0},
    {"[1, 2]", ATOLL_LLM_OK, "[1, 2]", "", "", "", 0},
    {"", ATOLL_LLM_EMPTY, "", "", "a reply without any text", "", 0},
    {" \n\t\n", ATOLL_LLM_EMPTY, " \n\t\n", "", "a reply without any text", "", 0},
    {"\n "
     "{\"choices\":[{\"message\":{\"content\":\"Hello\"},\"finish_reason\":\"stop\"}],\"model\":\"m\","
     "\"usage\":"
     "{\"prompt_tokens\":3,\"completion_tokens\":2}}",
     ATOLL_LLM_OK, "Hello", "", "", "m", 2},
    {"{\"choices\":[{\"message\":{\"content\":\"Hello\"},\"finish_reason\":\"length\"}]}",
     ATOLL_LLM_TRUNCATED, "Hello", "", "ended by a limit (length)", "", 0},
    {"{\"choices\":[]}", ATOLL_LLM_EMPTY, "", "", "answered without any text (no finish reason)", "", 0},
    {"{\"object\":\"response\",\"status\":\"completed\",\"model\":\"m\",\"output\":[{\"type\":\"message\","
     "\"content\":"
     "[{\"type\":\"output_text\",\"text\":\"Hello\"}]}]}",
     ATOLL_LLM_OK, "Hello", "", "", "m", 0},
    {"{\"type\":\"message\",\"model\":\"m\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"Hm.\"},{"
     "\"type\":"
     "\"text\",\"text\":\"Hello\"}],\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":1,\"output_"
     "tokens\":2}}",
     ATOLL_LLM_OK, "Hello", "Hm.", "", "m", 2},
    {"{\"error\":{\"message\":\"no\",\"code\":\"insufficient_quota\"}}", ATOLL_LLM_QUOTA, "", "",
     "error inside the reply: insufficient_quota: no", "", 0},
    {"{\"atoll\":{\"status\":\"novel\",\"tries\":-1,\"cost_usd\":\"x\",\"request\":\"zz\"},\"choices\":[{"
     "\"message\":"
     "{\"content\":\"Hello\"}}]}",
     ATOLL_LLM_OK, "Hello", "", "", "", 0},
    {"{\"atoll\":{\"status\":\"ok\"},\"choices\":[]}", ATOLL_LLM_EMPTY, "", "",
     "a reply that says 'ok' and holds no text", "", 0},
};

static void test_parse(void **state)
{
    for (size_t i = 0; i < sizeof(parsed) / sizeof(*parsed); i++) {
        struct atoll_llm_outcome o;
        struct atoll_err err = ATOLL_ERR_INIT;
        fill(&o);
        if (atoll_reply_parse(parsed[i].file, strlen(parsed[i].file), &o, &err))
            fail_msg("%s: %s", parsed[i].file, err.text);
        assert_string_equal(atoll_llm_status_name(o.status), atoll_llm_status_name(parsed[i].status));
        assert_string_equal(text_of(&o.text), parsed[i].text);
        assert_string_equal(text_of(&o.reasoning), parsed[i].reasoning);
        assert_string_equal(o.detail, parsed[i].detail);
        assert_string_equal(o.model, parsed[i].model);
        assert_int_equal(o.usage.output, parsed[i].output);
        assert_int_equal(o.usage.is_estimated, !parsed[i].output);
        assert_int_equal(o.raw.length, strlen(parsed[i].file));
        assert_int_equal(o.tries, 0);
        atoll_llm_outcome_fini(&o);
    }
}

static void test_parse_refuses(void **state)
{
    static const struct {
        const char *file;
        size_t length;
        const char *part;
    } cases[] = {{"Hello\xff", 6, "reply: byte 5 is no text of UTF-8"},
                 {"Hel\0o", 5, "reply: byte 3 is no text of UTF-8"},
                 {"{\"choices\":", 11, "reply: it begins with a brace, but no JSON at line 1"},
                 {"{\"a\":1}", 7, "reply: an object that is neither"},
                 {"{ int x; }", 10, "it begins with a brace, but"}};
    struct atoll_llm_outcome o, before;
    fill(&o);
    fill(&before);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        assert_int_equal(atoll_reply_parse(cases[i].file, cases[i].length, &o, &err), -1);
        expect_err(&err, ATOLL_E_INPUT, cases[i].part);
        expect_equal(&o, &before);
    }
    /* in a file an object that nothing marks is the answer; all else is as ever */
    static const struct {
        const char *file, *text; /* NULL: refused */
    } files[] = {{"\n {\"rewrite\": {\"type\": \"x\"}}\n", "{\"rewrite\": {\"type\": \"x\"}}\n"},
                 {"{}", "{}"},
                 {"{ int x; }", NULL},
                 {"{\"object\":\"novel\"}", NULL},
                 {"{\"choices\":7}", NULL},
                 {"{\"type\":\"message\"}", NULL},
                 {"{\"atoll\":{}}", NULL},
                 {"{\"choices\":[{\"message\":{\"content\":\"a\"}}]}", "a"},
                 {"words", "words"}};
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        struct atoll_err why = ATOLL_ERR_INIT;
        struct atoll_llm_outcome heard;
        atoll_llm_outcome_init(&heard);
        int status = atoll_reply_parse_file(files[i].file, strlen(files[i].file), &heard, &why);
        if (status != (files[i].text ? 0 : -1))
            fail_msg("%s: %s", files[i].file, why.text);
        assert_string_equal(text_of(&heard.text), files[i].text ? files[i].text : "");
        atoll_llm_outcome_fini(&heard);
    }
    size_t length = ((size_t)4 << 20) + 1;
    char *text = malloc(length);
    struct atoll_err err = ATOLL_ERR_INIT;
    memset(text, 'x', length);
    assert_int_equal(atoll_reply_parse(text, length - 1, &o, &err), 0);
    assert_int_equal(o.text.length, length - 1);
    assert_int_equal(atoll_reply_parse(text, length, &o, &err), -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
    free(text);
    atoll_llm_outcome_fini(&o);
    atoll_llm_outcome_fini(&before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_say),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_bytes_of_broken_texts),
        cmocka_unit_test(test_bytes_of_odd_numbers),
        cmocka_unit_test(test_json_of_an_answer),
        cmocka_unit_test(test_json_of_an_error),
        cmocka_unit_test(test_json_round_trips),
        cmocka_unit_test(test_json_of_embeddings),
        cmocka_unit_test(test_json_of_broken_texts),
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_parse_refuses),
    };
    return cmocka_run_group_tests_name("llm-gateway.outcome", tests, NULL, NULL);
}
