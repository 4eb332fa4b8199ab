#include "tests/support/expect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "llm-gateway/request/request.h"

#define LIMIT ((size_t)64 << 20)

static struct atoll_llm_request full(void)
{
    struct atoll_llm_request r;
    atoll_llm_request_init(&r);
    r.model = "strong";
    r.message_count = 3;
    r.messages[0] =
        (struct atoll_llm_message){.role = ATOLL_LLM_SYSTEM, .text = "Be \"brief\".\n", .is_cacheable = 1};
    r.messages[1] = (struct atoll_llm_message){.role = ATOLL_LLM_USER, .text = "Grüße"};
    r.messages[2] = (struct atoll_llm_message){.role = ATOLL_LLM_ASSISTANT, .text = ""};
    r.max_output_tokens = 4096;
    r.temperature = 0.7;
    r.top_p = 1;
    r.seed = 0;
    r.effort = ATOLL_LLM_EFFORT_MEDIUM;
    r.schema = "{\"type\":\"object\",\"b\":1.5,\"a\":[]}";
    r.sample = 3;
    r.key = "c1/t/17";
    r.campaign = "c1";
    r.task = "softmax";
    r.purpose = "universal";
    r.generation = 12;
    r.deadline_s = 90.5;
    return r;
}

static const char full_json[] =
    "{\"model\":\"strong\",\"messages\":[{\"role\":\"system\",\"content\":\"Be \\\"brief\\\".\\n\","
    "\"cache_control\":{\"type\":\"ephemeral\"}},{\"role\":\"user\",\"content\":\"Grüße\"},"
    "{\"role\":\"assistant\",\"content\":\"\"}],\"max_completion_tokens\":4096,\"temperature\":0."
    "69999999999999996,"
    "\"top_p\":1.0,\"seed\":0,\"reasoning_effort\":\"medium\",\"response_format\":{\"type\":"
    "\"json_schema\",\"json_schema\":{\"name\":\"answer\",\"strict\":true,\"schema\":{\"type\":\"object\","
    "\"b\":1.5,"
    "\"a\":[]}}},\"atoll\":{\"sample\":3,\"key\":\"c1/t/"
    "17\",\"campaign\":\"c1\",\"task\":\"softmax\",\"purpose\":"
    "\"universal\",\"generation\":12,\"deadline_s\":90.5}}";

static const struct atoll_llm_tool_call calls[] = {{"a1", "compile", "{\"source\":\"x\"}"},
                                                   {"a2", "check", "no object"}};

static struct atoll_llm_request with_tools(void)
{
    struct atoll_llm_request r;
    atoll_llm_request_init(&r);
    r.model = "m";
    r.message_count = 5;
    r.messages[0] = (struct atoll_llm_message){.role = ATOLL_LLM_USER, .text = "x"};
    r.messages[1] = (struct atoll_llm_message){.role = ATOLL_LLM_ASSISTANT, .text = "y"};
    r.messages[2] = (struct atoll_llm_message){.role = ATOLL_LLM_ASSISTANT,
                                               .text = "",
                                               .tool_call_count = 2,
                                               .tool_calls = calls,
                                               .provider_state = "[1]"};
    r.messages[3] = (struct atoll_llm_message){
        .role = ATOLL_LLM_TOOL, .text = "no", .tool_call_id = "a2", .is_error = 1, .is_cacheable = 1};
    r.messages[4] = (struct atoll_llm_message){.role = ATOLL_LLM_TOOL, .text = "", .tool_call_id = "a1"};
    r.tool_count = 1;
    r.tools[0] = (struct atoll_llm_tool){"compile", "Compiles.", "{\"type\":\"object\"}"};
    r.is_tool_free = 1;
    return r;
}

static const char tools_json[] =
    "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"assistant\","
    "\"content\":"
    "\"y\"},{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"a1\",\"type\":\"function\","
    "\"function\":{\"name\":\"compile\",\"arguments\":\"{\\\"source\\\":\\\"x\\\"}\"}},{\"id\":\"a2\","
    "\"type\":"
    "\"function\",\"function\":{\"name\":\"check\",\"arguments\":\"no "
    "object\"}}],\"provider_state\":\"[1]\"},"
    "{\"role\":\"tool\",\"tool_call_id\":\"a2\",\"content\":\"no\",\"is_error\":true,\"cache_control\":{"
    "\"type\":"
    "\"ephemeral\"}},{\"role\":\"tool\",\"tool_call_id\":\"a1\",\"content\":\"\"}],\"tools\":[{\"type\":"
    "\"function\",\"function\":{\"name\":\"compile\",\"description\":\"Compiles.\",\"parameters\":{\"type\":"
    "\"object\"}}}],\"tool_choice\":\"none\"}";

static void encode(const struct atoll_llm_request *r, struct atoll_buffer *out)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_buffer_init(out, LIMIT);
    if (atoll_llm_request_encode(r, out, &err))
        fail_msg("%s", err.text);
    atoll_buffer_put_u8(out, 0);
    out->length--;
}

static void expect_equal(const struct atoll_llm_request *a, const struct atoll_llm_request *b)
{
    struct atoll_buffer x, y;
    struct atoll_id i = atoll_llm_request_id(a), k = atoll_llm_request_id(b);
    encode(a, &x);
    encode(b, &y);
    assert_string_equal((const char *)x.data, (const char *)y.data);
    assert_true(atoll_id_equal(&i, &k));
    atoll_buffer_fini(&x);
    atoll_buffer_fini(&y);
}

static void expect_round_trip(const struct atoll_llm_request *r, const char *json)
{
    struct atoll_buffer out;
    struct atoll_llm_request again;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_arena *arena = atoll_arena_create(LIMIT, NULL);
    encode(r, &out);
    if (json)
        assert_string_equal((const char *)out.data, json);
    if (atoll_llm_request_decode(out.data, out.length, arena, &again, &err))
        fail_msg("%s", err.text);
    expect_equal(r, &again);
    assert_int_equal(again.operation, r->operation);
    assert_int_equal(again.generation, r->generation);
    assert_int_equal(again.seed, r->seed);
    assert_int_equal(isnan(again.temperature), isnan(r->temperature));
    assert_true(again.deadline_s == r->deadline_s);
    assert_string_equal(again.key, r->key);
    atoll_buffer_fini(&out);
    atoll_arena_destroy(arena);
}

static void test_round_trips(void **state)
{
    struct atoll_llm_request r = full();
    expect_round_trip(&r, full_json);
    r = with_tools();
    expect_round_trip(&r, tools_json);
    r.is_tool_free = 0;
    r.messages[2].provider_state = NULL;
    expect_round_trip(&r, NULL);
    r = full();
    r.schema = " {\n \"type\" : \"object\", \"x\": \"\\u00e9\\/\", \"y\": 1e3 }";
    expect_round_trip(&r, NULL);
    atoll_llm_request_init(&r);
    r.model = "m";
    r.message_count = 1;
    r.messages[0] = (struct atoll_llm_message){.role = ATOLL_LLM_USER, .text = "x"};
    expect_round_trip(&r, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}");
    r.operation = ATOLL_LLM_EMBED;
    r.message_count = 2;
    r.messages[1] = (struct atoll_llm_message){.role = ATOLL_LLM_USER, .text = "y"};
    r.task = "t";
    expect_round_trip(&r, "{\"model\":\"m\",\"input\":[\"x\",\"y\"],\"atoll\":{\"task\":\"t\"}}");
    r.max_output_tokens = UINT32_MAX;
    r.sample = INT64_MAX;
    r.seed = INT64_MAX;
    r.generation = UINT32_MAX;
    expect_round_trip(&r, NULL);
}

/* What OpenAI's clients and those of compatible servers send. */
static const struct {
    const char *json, *means; /* encoded again */
} accepted[] = {
    {"{\"model\":\"m\",\"messages\":[{\"role\":\"developer\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
     "{\"type\":\"text\",\"text\":\"b\"}]}]}",
     "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"ab\"}]}"},
    {"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\","
     "\"cache_control\":{\"type\":\"ephemeral\"}}]}]}",
     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a\",\"cache_control\":{\"type\":"
     "\"ephemeral\"}}"
     "]}"},
    {"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[]}]}",
     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"\"}]}"},
    {"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a\",\"name\":\"x\"}],\"max_tokens\":5,"
     "\"tools\":[],\"user\":\"u\",\"n\":1,\"stop\":null,\"temperature\":null,\"seed\":-1,\"logprobs\":false,"
     "\"response_format\":{\"type\":\"text\"},\"stream\":false,\"atoll\":{\"novelty\":1,\"key\":null}}",
     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"max_completion_tokens\":5}"},
    {"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"max_tokens\":5,"
     "\"max_completion_tokens\":6,\"reasoning_effort\":\"xhigh\",\"temperature\":1}",
     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"max_completion_tokens\":6,"
     "\"temperature\":1.0,\"reasoning_effort\":\"high\"}"},
    {"{\"model\":\"m\",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}],\"tool_choice\":"
     "\"auto\","
     "\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"f\","
     "\"arguments\":"
     "{}}}]},{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":[{\"type\":\"text\",\"text\":\"r\"}]}]}",
     "{\"model\":\"m\",\"messages\":[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"a\","
     "\"type\":"
     "\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":"
     "\"a\","
     "\"content\":\"r\"}],\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"description\":"
     "\"\","
     "\"parameters\":{\"type\":\"object\",\"properties\":{}}}}]}"},
    {"{\"model\":\"m\",\"input\":\"a\",\"encoding_format\":\"float\"}",
     "{\"model\":\"m\",\"input\":[\"a\"]}"},
    {"{\"model\":\"m\",\"input\":\"a\",\"messages\":[{\"role\":\"user\",\"content\":\"b\"}]}",
     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"b\"}]}"},
};

static void test_accepted(void **state)
{
    for (size_t i = 0; i < sizeof(accepted) / sizeof(*accepted); i++) {
        struct atoll_buffer out;
        struct atoll_llm_request r;
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_arena *arena = atoll_arena_create(LIMIT, NULL);
        if (atoll_llm_request_decode(accepted[i].json, strlen(accepted[i].json), arena, &r, &err))
            fail_msg("%s: %s", accepted[i].json, err.text);
        encode(&r, &out);
        assert_string_equal((const char *)out.data, accepted[i].means);
        atoll_buffer_fini(&out);
        atoll_arena_destroy(arena);
    }
}

#define BODY(more) "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]" more "}"

#define ONE_CALL(id) "{\"id\":\"" id "\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}"
#define CALL(id)     "{\"role\":\"assistant\",\"tool_calls\":[" ONE_CALL(id) "]}"
#define RESULT(id)   "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"r\"}"
#define TOOL(name, schema)                                                                                   \
    "{\"type\":\"function\",\"function\":{\"name\":\"" name "\",\"parameters\":" schema "}}"

static const struct {
    const char *json, *part;
} refused[] = {
    {"", "request: no JSON at line 1"},
    {"{", "request: no JSON"},
    {"[]", "request: an object is expected"},
    {"{\"model\":\"m\",\"model\":\"n\"}", "duplicate"},
    {"{}", "model: missing"},
    {"{\"model\":\"m\"}", "messages: 0 of them, 1 to 64"},
    {"{\"model\":7}", "model: a text is expected"},
    {"{\"model\":\"m\",\"messages\":{}}", "messages: a list of 1 to 64"},
    {"{\"model\":\"m\",\"messages\":[]}", "messages: a list of 1 to 64"},
    {"{\"model\":\"m\",\"messages\":[7]}", "messages[0].role: system, developer, user, assistant or tool"},
    {"{\"model\":\"m\",\"messages\":[{\"role\":\"tool\"}]}", "messages[0].tool_call_id: a text is expected"},
    {"{\"model\":\"m\",\"messages\":[{\"role\":\"function\"}]}", "messages[0].role"},
    {"{\"model\":\"m\",\"messages\":[" RESULT("a") "]}", "messages[0].tool_call_id: 'a' is no open call"},
    {"{\"model\":\"m\",\"messages\":[" CALL("a") "]}",
     "messages[1]: a call of a tool before it has no result"},
    {"{\"model\":\"m\",\"messages\":[" CALL("a") ",{\"role\":\"user\",\"content\":\"\"}]}",
     "messages[1]: a call of a tool before it has no result"},
    {"{\"model\":\"m\",\"messages\":[" CALL("a") "," RESULT("b") "]}",
     "messages[1].tool_call_id: 'b' is no open"},
    {"{\"model\":\"m\",\"messages\":[" CALL("a") "," RESULT("a") "," RESULT("a") "]}",
     "messages[2].tool_call_id: 'a' is no open"},
    {"{\"model\":\"m\",\"messages\":[{\"role\":\"assistant\",\"tool_calls\":7}]}",
     "messages[0].tool_calls: a list of up to 20"},
    {"{\"model\":\"m\",\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[{}]}]}",
     "messages[0].tool_calls[0].id: a text"},
    {"{\"model\":\"m\",\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\",\"function\":{"
     "\"name\":"
     "\"f\",\"arguments\":[]}}]}]}",
     "messages[0].tool_calls[0].function.arguments: a text"},
    {"{\"model\":\"m\",\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\",\"function\":{"
     "\"name\":"
     "\"f.g\",\"arguments\":\"\"}}]}]}",
     "messages[0].tool_calls: an id, and a name of 1 to 64 letters"},
    {"{\"model\":\"m\",\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[" ONE_CALL("a") "," ONE_CALL(
         "a") "]}]}",
     "messages[0].tool_calls: id 'a' stands there twice"},
    {BODY(",\"tools\":{}"), "tools: a list of up to 16"},
    {BODY(",\"tools\":[{\"type\":\"web_search\"}]"), "tools[0].type: function is expected"},
    {BODY(",\"tools\":[" TOOL("f g", "{}") "]"), "tools[0].function.name: 'f g' must be 1 to 64"},
    {BODY(",\"tools\":[" TOOL("f", "{}") "," TOOL("f", "{}") "]"),
     "tools[1].function.name: 'f' stands there twice"},
    {BODY(",\"tools\":[" TOOL("f", "[]") "]"), "tools[0].function.parameters: an object"},
    {BODY(",\"tool_choice\":\"required\""), "tool_choice: auto or none is expected"},
    {"{\"model\":\"m\",\"messages\":[{\"role\":\"user\"}]}",
     "messages[0].content: a text, or a list of parts"},
    {"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\"}]}]}",
     "messages[0].content[0]: only parts of type text"},
    {"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a\\u0000b\"}]}", "request: no JSON"},
    {"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"\xff\"}]}", "request: no JSON"},
    {"{\"model\":\"m\",\"input\":[1,2]}", "input[0]: a text is expected"},
    {BODY(",\"max_tokens\":0"), "max_tokens: an integer from 1 to 4294967295"},
    {BODY(",\"max_completion_tokens\":4294967296"), "max_completion_tokens: an integer from 1"},
    {BODY(",\"max_tokens\":1.5"), "max_tokens: an integer"},
    {BODY(",\"max_tokens\":99999999999999999999"), "max_tokens: an integer"},
    {BODY(",\"temperature\":\"1\""), "temperature: a number is expected"},
    {BODY(",\"temperature\":2.5"), "temperature: 2.5 is not within 0 and 2"},
    {BODY(",\"top_p\":-1"), "top_p: -1 is not within 0 and 1"},
    {BODY(",\"seed\":-2"), "seed: an integer from -1"},
    {BODY(",\"reasoning_effort\":\"huge\""), "reasoning_effort: minimal, low, medium or high"},
    {BODY(",\"response_format\":{\"type\":\"json_object\"}"), "response_format: type text or json_schema"},
    {BODY(",\"response_format\":{\"type\":\"json_schema\"}"),
     "response_format.json_schema.schema: an object"},
    {BODY(",\"stream\":1"), "stream: the gateway answers in one piece; send false"},
    {BODY(",\"n\":2"), "n: an integer from 1 to 1"},
    {BODY(",\"atoll\":[]"), "atoll: an object"},
    {BODY(",\"atoll\":{\"sample\":-1}"), "atoll.sample: an integer from 0"},
    {BODY(",\"atoll\":{\"generation\":-1}"), "atoll.generation: an integer from 0"},
    {BODY(",\"atoll\":{\"deadline_s\":-1}"), "atoll.deadline_s: -1 is not within 0"},
    {BODY(",\"atoll\":{\"key\":1}"), "atoll.key: a text"},
};

static void test_refused(void **state)
{
    struct atoll_arena *arena = atoll_arena_create(LIMIT, NULL);
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        struct atoll_llm_request r = {.seed = 77};
        struct atoll_err err = ATOLL_ERR_INIT;
        if (!atoll_llm_request_decode(refused[i].json, strlen(refused[i].json), arena, &r, &err))
            fail_msg("%s was read", refused[i].json);
        expect_err(&err, ATOLL_E_INPUT, refused[i].part);
        assert_int_equal(r.seed, 77);
    }
    atoll_arena_destroy(arena);
}

/* ---- limits ---- */

static void expect_no_encoding(const struct atoll_llm_request *r, const char *part)
{
    struct atoll_buffer out;
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_buffer_init(&out, LIMIT);
    assert_int_equal(atoll_llm_request_encode(r, &out, &err), -1);
    expect_err(&err, ATOLL_E_INPUT, part);
    assert_int_equal(out.length, 0);
    atoll_buffer_fini(&out);
}

static void test_limits_of_texts(void **state)
{
    struct atoll_llm_request r = full();
    char *text = malloc(ATOLL_LLM_TEXT_BYTES + 2), name[258];
    memset(text, 'x', ATOLL_LLM_TEXT_BYTES + 1);
    text[ATOLL_LLM_TEXT_BYTES] = 0;
    memset(name, 'k', sizeof(name) - 1);
    name[256] = name[257] = 0;
    r.message_count = 1;
    r.messages[0].text = text;
    r.schema = NULL;
    r.key = name;
    expect_round_trip(&r, NULL);
    name[256] = 'k';
    expect_no_encoding(&r, "atoll.key: 257 bytes, the limit is 256");
    r.key = "";
    text[ATOLL_LLM_TEXT_BYTES] = 'x';
    text[ATOLL_LLM_TEXT_BYTES + 1] = 0;
    expect_no_encoding(&r, "messages[0]: text: 8388609 bytes, the limit is 8388608");
    r.messages[0].text = "a\xc3";
    expect_no_encoding(&r, "messages[0]: text: byte 1 is not UTF-8");
    free(text);
}

static void test_limits_of_numbers(void **state)
{
    struct atoll_llm_request r = full();
    r.message_count = 65;
    expect_no_encoding(&r, "messages: 65 of them");
    r = full();
    r.model = r.purpose = "";
    expect_no_encoding(&r, "model: missing");
    r.model = "roles";
    expect_no_encoding(&r, "model: missing");
    r.model = NULL;
    expect_no_encoding(&r, "model: a text is expected");
    r = full();
    r.temperature = INFINITY;
    expect_no_encoding(&r, "temperature: inf");
    r = full();
    r.deadline_s = NAN;
    expect_no_encoding(&r, "atoll.deadline_s: no number");
    r = full();
    r.seed = -2;
    expect_no_encoding(&r, "seed: -2 is negative");
    r = full();
    r.sample = (uint64_t)INT64_MAX + 1;
    expect_no_encoding(&r, "atoll.sample: beyond 63 bits");
    r = full();
    r.schema = "[7]";
    expect_no_encoding(&r, "schema: an object is expected");
    r = full();
    r.operation = ATOLL_LLM_OPERATION_COUNT;
    expect_no_encoding(&r, "operation 2 is unknown");
    r = full();
    r.messages[1].role = ATOLL_LLM_ROLE_COUNT;
    expect_no_encoding(&r, "messages[1].role: unknown");
    r = full();
    r.effort = ATOLL_LLM_EFFORT_COUNT;
    expect_no_encoding(&r, "reasoning_effort: unknown");
}

static void test_hostile_size(void **state)
{
    struct atoll_arena *arena = atoll_arena_create(LIMIT, NULL);
    struct atoll_llm_request r;
    struct atoll_err err = ATOLL_ERR_INIT;
    size_t length = 6 * ATOLL_LLM_TEXT_BYTES + (1 << 20) + 1;
    char *bytes = malloc(length);
    memset(bytes, '[', length);
    assert_int_equal(atoll_llm_request_decode(bytes, length, arena, &r, &err), -1);
    expect_err(&err, ATOLL_E_INPUT, "request: 51380225 bytes, the limit is 51380224");
    err = (struct atoll_err)ATOLL_ERR_INIT;
    assert_int_equal(atoll_llm_request_decode(bytes, length - 1, arena, &r, &err), -1);
    expect_err(&err, ATOLL_E_INPUT, "JSON with more than 100000 values");
    err = (struct atoll_err)ATOLL_ERR_INIT;
    assert_int_equal(atoll_llm_request_decode(bytes, 50000, arena, &r, &err), -1);
    expect_err(&err, ATOLL_E_INPUT, "depth");
    free(bytes);
    atoll_arena_destroy(arena);
}

static void test_small_arena(void **state)
{
    struct atoll_arena *arena = atoll_arena_create(64, NULL);
    struct atoll_llm_request r;
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(atoll_llm_request_decode(full_json, strlen(full_json), arena, &r, &err), -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
    atoll_arena_destroy(arena);
}

/* ---- identity ---- */

static void other_model(struct atoll_llm_request *r)
{
    r->model = "weak";
}
static void other_text(struct atoll_llm_request *r)
{
    r->messages[1].text = "Grüss";
}
static void other_role(struct atoll_llm_request *r)
{
    r->messages[1].role = ATOLL_LLM_SYSTEM;
}
static void other_mark(struct atoll_llm_request *r)
{
    r->messages[0].is_cacheable = 0;
}
static void other_split(struct atoll_llm_request *r)
{
    r->messages[1].text = "Grüßex";
    r->messages[2].text = "";
}
static void other_count(struct atoll_llm_request *r)
{
    r->message_count = 2;
}
static void other_limit(struct atoll_llm_request *r)
{
    r->max_output_tokens = 0;
}
static void other_temperature(struct atoll_llm_request *r)
{
    r->temperature = NAN;
}
static void other_top_p(struct atoll_llm_request *r)
{
    r->top_p = 0;
}
static void other_seed(struct atoll_llm_request *r)
{
    r->seed = -1;
}
static void other_effort(struct atoll_llm_request *r)
{
    r->effort = ATOLL_LLM_EFFORT_UNSAID;
}
static void other_schema(struct atoll_llm_request *r)
{
    r->schema = "{\"type\":\"array\"}";
}
static void no_schema(struct atoll_llm_request *r)
{
    r->schema = NULL;
}
static void other_sample(struct atoll_llm_request *r)
{
    r->sample = 4;
}
static void other_operation(struct atoll_llm_request *r)
{
    r->operation = ATOLL_LLM_EMBED;
}
static void other_owner(struct atoll_llm_request *r)
{
    r->key = "k";
    r->campaign = "c2";
    r->task = "t";
    r->purpose = "p";
    r->generation = 1;
    r->deadline_s = 1;
}
static void spaced_schema(struct atoll_llm_request *r)
{
    r->schema = "{ \"type\": \"object\", \"b\": 1.50, \"a\": [ ] }";
}
static void other_nan(struct atoll_llm_request *r)
{
    r->temperature = -NAN;
}

static const struct {
    void (*change)(struct atoll_llm_request *r);
    int is_same;
} changes[] = {{other_model, 0},  {other_text, 0},       {other_role, 0},    {other_mark, 0},
               {other_split, 0},  {other_count, 0},      {other_limit, 0},   {other_top_p, 0},
               {other_seed, 0},   {other_effort, 0},     {other_schema, 0},  {no_schema, 0},
               {other_sample, 0}, {other_owner, 1},      {spaced_schema, 1}, {other_operation, 0},
               {other_nan, 0},    {other_temperature, 0}};

static void test_identity(void **state)
{
    struct atoll_llm_request r = full();
    struct atoll_id id = atoll_llm_request_id(&r);
    char hex[ATOLL_ID_HEX];
    for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
        struct atoll_llm_request changed = full();
        changes[i].change(&changed);
        struct atoll_id other = atoll_llm_request_id(&changed);
        if (atoll_id_equal(&id, &other) != changes[i].is_same)
            fail_msg("change %zu", i);
    }
    struct atoll_llm_request nan = r, minus = r, zero = r;
    nan.temperature = NAN;
    minus.temperature = -NAN;
    expect_equal(&nan, &minus);
    minus.top_p = -0.0;
    minus.temperature = zero.temperature;
    zero.top_p = 0.0;
    struct atoll_id a = atoll_llm_request_id(&minus), b = atoll_llm_request_id(&zero);
    assert_true(atoll_id_equal(&a, &b));
    /* Stores of earlier versions are found by it. */
    atoll_id_hex(&id, hex);
    assert_string_equal(hex, "9fe515b32f46b8df46cc5714cd0bef149d868f157f8a4cd294657d766b179376");
}

static int is_same(const struct atoll_llm_request *a, const struct atoll_llm_request *b)
{
    struct atoll_id x = atoll_llm_request_id(a), y = atoll_llm_request_id(b);
    return atoll_id_equal(&x, &y);
}

static int is_one_conversation(const struct atoll_llm_request *a, const struct atoll_llm_request *b)
{
    struct atoll_id x = atoll_llm_request_conversation(a), y = atoll_llm_request_conversation(b);
    return atoll_id_equal(&x, &y);
}

/* All that is said of tools counts, but what only the provider understands. */
static void test_identity_with_tools(void **state)
{
    const struct atoll_llm_request r = with_tools();
    struct atoll_llm_tool_call other[2];
    struct atoll_llm_request changed = r, first = r, bare = full();
    changed.messages[2].provider_state = NULL;
    assert_true(is_same(&r, &changed));
    for (int i = 0; i < 3; i++) {
        memcpy(other, calls, sizeof(other));
        *(i == 0 ? &other[0].arguments : i == 1 ? &other[1].name : &other[1].id) = "other";
        changed.messages[2].tool_calls = other;
        assert_false(is_same(&r, &changed));
    }
    changed = r;
    changed.is_tool_free = 0;
    assert_false(is_same(&r, &changed));
    changed = r;
    changed.tools[0].description = "";
    assert_false(is_same(&r, &changed));
    changed = r;
    changed.messages[3].is_error = 0;
    assert_false(is_same(&r, &changed));
    changed = r;
    changed.tool_count = 0;
    assert_false(is_same(&r, &changed));
    /* without a model the purpose chooses one, and counts; with one it does not */
    changed = full();
    changed.model = "";
    first = changed;
    first.purpose = "planner";
    assert_false(is_same(&changed, &first));
    expect_round_trip(&first, NULL);
    first = r;
    /* every turn, and the first question of it, are one conversation */
    first.message_count = 2;
    first.is_tool_free = 0;
    assert_false(is_same(&r, &first));
    assert_true(is_one_conversation(&r, &first));
    first.messages[0].text = "z";
    assert_false(is_one_conversation(&r, &first));
    struct atoll_id id = atoll_llm_request_id(&bare), same = atoll_llm_request_conversation(&bare);
    assert_true(atoll_id_equal(&id, &same));
}

/* The copy borrows nothing. */
static void test_copy(void **state)
{
    const struct atoll_llm_request given[] = {full(), with_tools()};
    for (size_t i = 0; i < 2; i++) {
        struct atoll_llm_request copy;
        size_t bytes = atoll_llm_request_copy_bytes(&given[i]);
        void *room = malloc(bytes);
        atoll_llm_request_copy(&given[i], room, &copy);
        expect_equal(&given[i], &copy);
        for (size_t k = 0; k < copy.message_count; k++)
            assert_true(copy.messages[k].text >= (char *)room &&
                        copy.messages[k].text < (char *)room + bytes);
        const char *last = i ? copy.tools[0].schema : copy.messages[2].text;
        assert_ptr_equal(last + strlen(last) + 1, (char *)room + bytes);
        free(room);
    }
}

static void test_bounds(void **state)
{
    struct atoll_llm_request r = full();
    size_t bytes = strlen(r.messages[0].text) + strlen(r.messages[1].text) + strlen(r.schema);
    assert_true(atoll_llm_request_input_bound(&r) >= bytes + 8 * 3);
    assert_int_equal(atoll_llm_request_input_estimate(&r), bytes / 3 + 1);
    r = with_tools();
    size_t tools = strlen(r.tools[0].schema) + strlen(calls[0].arguments) + strlen(calls[1].arguments);
    assert_true(atoll_llm_request_input_bound(&r) > tools + 804);
}

static void test_names(void **state)
{
    assert_string_equal(atoll_llm_role_name(ATOLL_LLM_ASSISTANT), "assistant");
    assert_string_equal(atoll_llm_role_name(ATOLL_LLM_ROLE_COUNT), "?");
    assert_string_equal(atoll_llm_effort_name(ATOLL_LLM_EFFORT_UNSAID), "");
    assert_string_equal(atoll_llm_effort_name(ATOLL_LLM_EFFORT_HIGH), "high");
    assert_string_equal(atoll_llm_effort_name(ATOLL_LLM_EFFORT_COUNT), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_limits_of_texts),
        cmocka_unit_test(test_limits_of_numbers),
        cmocka_unit_test(test_hostile_size),
        cmocka_unit_test(test_small_arena),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_identity_with_tools),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests_name("llm-gateway.request", tests, NULL, NULL);
}
