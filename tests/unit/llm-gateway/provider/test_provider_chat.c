#include "tests/unit/llm-gateway/reply_case.h"

#define ESTIMATED                                                                                            \
    {                                                                                                        \
        .is_estimated = 1                                                                                    \
    }

static const struct reply_case cases[] = {
    {.file = "chat_plain.sse", .text = "Hello, wörld", .finish = "stop", .usage = {1200, 1024, 0, 64, 32, 0}},
    {.file = "chat_crlf.sse", .text = "Hello, wörld", .usage = {1200, 1024, 0, 64, 32, 0}},
    {.file = "chat_cr.sse", .text = "Hello, wörld", .usage = {1200, 1024, 0, 64, 32, 0}},
    {.file = "chat_comments.sse", .text = "Hello, wörld", .usage = {1200, 1024, 0, 64, 32, 0}},
    {.file = "chat_reasoning_content.sse",
     .text = "42",
     .reasoning = "Let me think.",
     .usage = {10, 0, 0, 20, 15, 0}},
    {.file = "chat_reasoning.sse",
     .text = "42",
     .reasoning = "Let me think.",
     .usage = {10, 0, 0, 20, 15, 0}},
    {.file = "chat_reasoning_twice.sse", .text = "42", .reasoning = "Think.", .usage = {10, 0, 0, 20, 15, 0}},
    {.file = "chat_reasoning_only.sse",
     .status = ATOLL_LLM_EMPTY,
     .reasoning = "The answer is 42.",
     .detail = "17 bytes in the reasoning channel, none in the text",
     .usage = {10, 0, 0, 20, 20, 0}},
    {.file = "chat_parts.sse", .text = "42", .reasoning = "Hm.", .usage = {10, 0, 0, 20, 0, 0}},
    {.file = "chat_length.sse",
     .status = ATOLL_LLM_TRUNCATED,
     .text = "Hello, wörld",
     .detail = "ended by a limit (length)",
     .finish = "length",
     .usage = {10, 0, 0, 16, 0, 0}},
    {.file = "chat_length_reasoning.sse",
     .status = ATOLL_LLM_EMPTY,
     .reasoning = "Let me think about",
     .detail = "ended inside its reasoning",
     .usage = {10, 0, 0, 16, 16, 0}},
    {.file = "chat_empty.sse",
     .status = ATOLL_LLM_EMPTY,
     .detail = "without any text (stop)",
     .usage = {10, 0, 0, 0, 0, 0}},
    {.file = "chat_blank.sse",
     .status = ATOLL_LLM_EMPTY,
     .text = " \n\t",
     .detail = "without any text",
     .usage = {10, 0, 0, 2, 0, 0}},
    {.file = "chat_content_filter.sse",
     .status = ATOLL_LLM_REFUSED,
     .text = "Hello, wörld",
     .detail = "refused (content_filter)",
     .usage = {10, 0, 0, 3, 0, 0}},
    {.file = "chat_refusal.sse",
     .status = ATOLL_LLM_REFUSED,
     .text = "I cannot help with that.",
     .detail = "refused (stop)",
     .usage = {10, 0, 0, 7, 0, 0}},
    {.file = "chat_no_usage.sse", .text = "Hello, wörld", .usage = ESTIMATED},
    {.file = "chat_no_finish.sse", .text = "Hello, wörld", .finish = "", .usage = {10, 0, 0, 3, 0, 0}},
    {.file = "chat_no_done.sse",
     .status = ATOLL_LLM_STREAM,
     .text = "Hello, wörld",
     .detail = "ended before its [DONE], after 13 bytes of text",
     .usage = {10, 0, 0, 3, 0, 0}},
    {.file = "chat_cut.sse",
     .is_cut = 1,
     .status = ATOLL_LLM_STREAM,
     .text = "Hello",
     .detail = "(connection lost)",
     .usage = ESTIMATED},
    {.file = "chat_error_event.sse",
     .status = ATOLL_LLM_OVERLOADED,
     .text = "Hello, wörld",
     .detail = "error inside the reply: InternalServerError: 500: EngineCore encountered an issue.",
     .usage = ESTIMATED},
    {.file = "chat_error_unknown.sse",
     .status = ATOLL_LLM_STREAM,
     .text = "Hello, wörld",
     .detail = "something odd",
     .usage = ESTIMATED},
    {.file = "chat_error_old.sse",
     .status = ATOLL_LLM_OVERLOADED,
     .text = "Hello, wörld",
     .detail = "out of memory",
     .usage = ESTIMATED},
    {.file = "chat_error_relayed.sse",
     .status = ATOLL_LLM_RATE,
     .text = "Hello, wörld",
     .detail = "429: Provider is rate limited",
     .usage = ESTIMATED},
    {.file = "chat_error_named.sse",
     .status = ATOLL_LLM_OVERLOADED,
     .text = "Hello, wörld",
     .detail = "overloaded_error: busy",
     .usage = ESTIMATED},
    {.file = "chat_abort.sse",
     .status = ATOLL_LLM_STREAM,
     .text = "Hello, wörld",
     .detail = "the provider ended it as 'abort'",
     .usage = {10, 0, 0, 3, 0, 0}},
    {.file = "chat_usage_negative.sse", .text = "Hello, wörld", .usage = ESTIMATED},
    {.file = "chat_usage_text.sse", .text = "Hello, wörld", .usage = ESTIMATED},
    {.file = "chat_usage_absurd.sse", .text = "Hello, wörld", .usage = ESTIMATED},
    {.file = "chat_usage_fraction.sse", .text = "Hello, wörld", .usage = ESTIMATED},
    {.file = "chat_usage_zero.sse", .text = "Hello, wörld", .usage = ESTIMATED},
    {.file = "chat_usage_cached.sse", .text = "Hello, wörld", .usage = ESTIMATED},
    {.file = "chat_usage_beside.sse", .text = "42", .reasoning = "Hm.", .usage = {10, 0, 0, 103, 100, 0}},
    {.file = "chat_usage_each.sse", .text = "42", .usage = {10, 0, 0, 2, 0, 0}},
    {.file = "chat_usage_hits.sse", .text = "Hello, wörld", .usage = {100, 64, 0, 3, 0, 0}},
    {.file = "chat_nul.sse",
     .text = "a\xef\xbf\xbd"
             "b",
     .usage = {10, 0, 0, 3, 0, 0}},
    {.file = "chat_bad_utf8.sse",
     .status = ATOLL_LLM_PROTOCOL,
     .text = "Hello, wörld",
     .detail = "event 4: no JSON at line 1",
     .usage = ESTIMATED},
    {.file = "chat_bad_json.sse",
     .status = ATOLL_LLM_PROTOCOL,
     .text = "Hello, wörld",
     .detail = "event 4: no JSON",
     .usage = ESTIMATED},
    {.file = "chat_no_object.sse",
     .status = ATOLL_LLM_PROTOCOL,
     .text = "Hello, wörld",
     .detail = "event 4 is no JSON object",
     .usage = ESTIMATED},
    {.file = "chat_whole.json", .text = "Hello, world", .reasoning = "Hm.", .usage = {10, 0, 0, 4, 0, 0}},
    {.bytes = "", .status = ATOLL_LLM_PROTOCOL, .detail = "an empty reply", .usage = ESTIMATED},
    {.bytes = "", .is_cut = 1, .status = ATOLL_LLM_STREAM, .detail = "connection lost", .usage = ESTIMATED},
    {.bytes = "<html>hello</html>",
     .status = ATOLL_LLM_PROTOCOL,
     .detail = "neither JSON nor server-sent events",
     .usage = ESTIMATED},
    {.bytes = "{\"choices\": [",
     .status = ATOLL_LLM_PROTOCOL,
     .detail = "the reply is no JSON object: no JSON",
     .usage = ESTIMATED},
    {.bytes = "{\"choices\": [",
     .is_cut = 1,
     .status = ATOLL_LLM_STREAM,
     .detail = "connection lost",
     .usage = ESTIMATED},
    {.bytes = "{\"novel\": 1}",
     .status = ATOLL_LLM_PROTOCOL,
     .detail = "no reply of 'chat'",
     .usage = ESTIMATED},
    {.bytes = "[]", .status = ATOLL_LLM_PROTOCOL, .detail = "a list", .usage = ESTIMATED},
    {.bytes = "data: [DONE]\n\n",
     .status = ATOLL_LLM_EMPTY,
     .detail = "no finish reason",
     .usage = ESTIMATED},
    {.bytes = ": only comments\n\n",
     .status = ATOLL_LLM_PROTOCOL,
     .detail = "neither JSON nor server-sent events",
     .usage = ESTIMATED},
    {.bytes = "{\"error\": \"model is loading\"}",
     .status = ATOLL_LLM_STREAM,
     .detail = "model is loading",
     .usage = ESTIMATED},
};

static void test_replies(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        expect_case(ATOLL_PROVIDER_CHAT, ATOLL_LLM_CHAT, &cases[i]);
}

#define ERROR(http, said, outcome, part)                                                                     \
    {                                                                                                        \
        .bytes = said, .http_status = http, .status = outcome, .detail = part, .usage = ESTIMATED            \
    }

/* HTTP errors: what is said counts before the status. */
static const struct reply_case errors[] = {
    ERROR(429,
          "{\"error\":{\"message\":\"You exceeded your current quota\",\"type\":\"insufficient_quota\","
          "\"param\":null,\"code\":\"insufficient_quota\"}}",
          ATOLL_LLM_QUOTA, "HTTP 429: insufficient_quota: insufficient_quota: You exceeded"),
    ERROR(429,
          "{\"error\":{\"message\":\"Rate limit "
          "reached\",\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}",
          ATOLL_LLM_RATE, "tokens: rate_limit_exceeded"),
    ERROR(429, "{\"error\":{\"message\":\"no type\"}}", ATOLL_LLM_RATE, "HTTP 429: no type"),
    ERROR(400,
          "{\"error\":{\"message\":\"too long\",\"type\":\"invalid_request_error\",\"code\":"
          "\"context_length_exceeded\"}}",
          ATOLL_LLM_TOO_LARGE, "context_length_exceeded"),
    ERROR(
        400,
        "{\"object\":\"error\",\"message\":\"This model's maximum context length is 4096 tokens.\",\"type\":"
        "\"BadRequestError\",\"param\":null,\"code\":400}",
        ATOLL_LLM_TOO_LARGE, "HTTP 400: BadRequestError: 400: This model's"),
    ERROR(400,
          "{\"error\":{\"code\":400,\"message\":\"request (4476 tokens) exceeds the available context size "
          "(4096 "
          "tokens)\",\"type\":\"exceed_context_size_error\"}}",
          ATOLL_LLM_TOO_LARGE, "exceed_context_size_error"),
    ERROR(400,
          "{\"error\":{\"message\":\"Unsupported value\",\"type\":\"invalid_request_error\",\"code\":"
          "\"unsupported_value\"}}",
          ATOLL_LLM_INVALID, "Unsupported value"),
    ERROR(400, "{\"error\":{\"message\":\"bad\",\"type\":\"server_error\"}}", ATOLL_LLM_INVALID,
          "server_error"),
    ERROR(400, "{\"error\":{\"code\":\"content_filter\",\"message\":\"filtered\"}}", ATOLL_LLM_REFUSED,
          "filtered"),
    ERROR(401,
          "{\"error\":{\"message\":\"Incorrect API key\",\"type\":\"invalid_request_error\",\"code\":"
          "\"invalid_api_key\"}}",
          ATOLL_LLM_DENIED, "Incorrect API key"),
    ERROR(404,
          "{\"error\":{\"message\":\"no such model\",\"type\":\"invalid_request_error\",\"code\":"
          "\"model_not_found\"}}",
          ATOLL_LLM_NOTFOUND, "no such model"),
    ERROR(422, "{\"detail\":\"temperature: not a number\"}", ATOLL_LLM_INVALID, "HTTP 422: temperature"),
    ERROR(422, "{\"object\":\"error\",\"message\":\"extra_forbidden\"}", ATOLL_LLM_INVALID,
          "extra_forbidden"),
    ERROR(400, "[{\"error\":{\"code\":400,\"message\":\"in a list\",\"status\":\"INVALID_ARGUMENT\"}}]",
          ATOLL_LLM_INVALID, "in a list"),
    ERROR(502, "<html>\n<h1>Bad\tGateway</h1>", ATOLL_LLM_OVERLOADED,
          "HTTP 502: <html> <h1>Bad Gateway</h1>"),
    ERROR(503, "", ATOLL_LLM_OVERLOADED, "HTTP 503"),
    ERROR(503, "{\"error\":{\"code\":\"slow_down\",\"message\":\"Slow Down\"}}", ATOLL_LLM_OVERLOADED,
          "Slow Down"),
    ERROR(503, "{\"error\":{\"code\":503,\"message\":\"Loading model\",\"type\":\"unavailable_error\"}}",
          ATOLL_LLM_OVERLOADED, "Loading model"),
    ERROR(500, "{\"error\":", ATOLL_LLM_OVERLOADED, "HTTP 500: {\"error\":"),
    ERROR(500, "\xff\xfe", ATOLL_LLM_OVERLOADED, "HTTP 500: ??"),
    ERROR(302, "{}", ATOLL_LLM_PROTOCOL, "HTTP 302"),
    ERROR(400, "data: {\"error\":{\"message\":\"as an event\"}}\n\n", ATOLL_LLM_INVALID, "as an event"),
};

static void test_errors(void **state)
{
    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
        expect_case(ATOLL_PROVIDER_CHAT, ATOLL_LLM_CHAT, &errors[i]);
}

static void test_every_status(void **state)
{
    static const struct {
        int http_status;
        enum atoll_llm_status status;
    } statuses[] = {{400, ATOLL_LLM_INVALID},    {401, ATOLL_LLM_DENIED},     {402, ATOLL_LLM_QUOTA},
                    {403, ATOLL_LLM_DENIED},     {404, ATOLL_LLM_NOTFOUND},   {405, ATOLL_LLM_INVALID},
                    {407, ATOLL_LLM_INVALID},    {408, ATOLL_LLM_OVERLOADED}, {409, ATOLL_LLM_OVERLOADED},
                    {410, ATOLL_LLM_NOTFOUND},   {411, ATOLL_LLM_INVALID},    {413, ATOLL_LLM_TOO_LARGE},
                    {415, ATOLL_LLM_INVALID},    {422, ATOLL_LLM_INVALID},    {425, ATOLL_LLM_OVERLOADED},
                    {428, ATOLL_LLM_INVALID},    {429, ATOLL_LLM_RATE},       {431, ATOLL_LLM_INVALID},
                    {451, ATOLL_LLM_DENIED},     {499, ATOLL_LLM_INVALID},    {500, ATOLL_LLM_OVERLOADED},
                    {529, ATOLL_LLM_OVERLOADED}, {599, ATOLL_LLM_OVERLOADED}, {301, ATOLL_LLM_PROTOCOL},
                    {100, ATOLL_LLM_PROTOCOL}};
    for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++) {
        const struct reply_case c = ERROR(statuses[i].http_status, "", statuses[i].status, "HTTP ");
        expect_case(ATOLL_PROVIDER_CHAT, ATOLL_LLM_CHAT, &c);
    }
}

static void test_cut_at_every_byte(void **state)
{
    expect_cuts(ATOLL_PROVIDER_CHAT, "chat_plain.sse");
    expect_cuts(ATOLL_PROVIDER_CHAT, "chat_crlf.sse");
    expect_cuts(ATOLL_PROVIDER_CHAT, "chat_whole.json");
}

/* ---- limits ---- */

static void test_text_beyond_its_limit(void **state)
{
    static char piece[1 << 16];
    static char event[(1 << 16) + 64];
    struct atoll_llm_outcome o;
    struct atoll_reply_reader *reader = atoll_reply_reader_create(ATOLL_PROVIDER_CHAT, ATOLL_LLM_CHAT, NULL);
    int fed = 0, status = 0;
    memset(piece, 'x', sizeof(piece) - 1);
    snprintf(event, sizeof(event), "data: {\"choices\":[{\"delta\":{\"content\":\"%s\"}}]}\n\n", piece);
    while (!status && fed < 100) {
        status = atoll_reply_reader_feed(reader, event, strlen(event));
        fed++;
    }
    assert_int_equal(status, -1);
    assert_int_equal(fed, 65); /* 64 pieces of 65535 bytes are below 4 MiB */
    assert_int_equal(atoll_reply_reader_feed(reader, event, 1), -1);
    atoll_llm_outcome_init(&o);
    atoll_reply_reader_finish(reader, 200, 0, &o);
    assert_int_equal(o.status, ATOLL_LLM_PROTOCOL);
    assert_string_equal(o.detail, "text beyond the limit of 4194304 bytes");
    assert_int_equal(o.text.length, 64 * 65535);
    assert_int_equal(o.text.failed, 0);
    atoll_llm_outcome_fini(&o);
    atoll_reply_reader_destroy(reader);
}

static void test_reply_beyond_its_limit(void **state)
{
    size_t length = (size_t)1 << 20, fed = 0;
    char *comment = malloc(length);
    struct atoll_llm_outcome o;
    struct atoll_reply_reader *reader = atoll_reply_reader_create(ATOLL_PROVIDER_CHAT, ATOLL_LLM_CHAT, NULL);
    assert_non_null(comment);
    memset(comment, ':', length);
    comment[length - 1] = '\n';
    while (!atoll_reply_reader_feed(reader, comment, length)) {
        fed += length;
        assert_true(fed <= (size_t)64 << 20);
    }
    assert_int_equal(fed, (size_t)64 << 20);
    atoll_llm_outcome_init(&o);
    atoll_reply_reader_finish(reader, 200, 0, &o);
    assert_int_equal(o.status, ATOLL_LLM_PROTOCOL);
    assert_string_equal(o.detail, "reply beyond the limit of 67108864 bytes");
    assert_int_equal(o.raw.length, fed);
    atoll_llm_outcome_fini(&o);
    atoll_reply_reader_destroy(reader);
    free(comment);
}

static void test_event_beyond_its_limit(void **state)
{
    size_t length = (size_t)1 << 20, fed = 0;
    char *data = malloc(length);
    struct atoll_llm_outcome o;
    struct atoll_reply_reader *reader = atoll_reply_reader_create(ATOLL_PROVIDER_CHAT, ATOLL_LLM_CHAT, NULL);
    assert_non_null(data);
    memset(data, 'd', length);
    while (!atoll_reply_reader_feed(reader, data, length))
        fed += length;
    assert_int_equal(fed, (size_t)16 << 20);
    atoll_llm_outcome_init(&o);
    atoll_reply_reader_finish(reader, 200, 0, &o);
    assert_string_equal(o.detail, "an event beyond the limit of 16777216 bytes");
    atoll_llm_outcome_fini(&o);
    atoll_reply_reader_destroy(reader);
    free(data);
}

/* ---- bodies ---- */

static const struct atoll_provider_model plain = {.model = "gpt-5-mini", .max_output_tokens = 4096};

static void test_bodies(void **state)
{
    struct atoll_llm_request r = asked();
    r.messages[0].is_cacheable = 0;
    expect_body(
        ATOLL_PROVIDER_CHAT, &r, &plain,
        "{\"model\":\"gpt-5-mini\",\"stream\":true,\"stream_options\":{\"include_usage\":true},\"messages\":"
        "[{\"role\":\"system\",\"content\":\"Be brief.\"},{\"role\":\"user\",\"content\":\"Hello\"}],"
        "\"max_completion_tokens\":100}");
    r.temperature = 0.5;
    r.top_p = 0.25;
    r.seed = 7;
    r.sample = 2;
    r.effort = ATOLL_LLM_EFFORT_LOW;
    r.schema = "{ \"type\": \"object\" }";
    r.messages[0].is_cacheable = 1;
    struct atoll_provider_model old = plain;
    old.has_old_limit = 1;
    expect_body(
        ATOLL_PROVIDER_CHAT, &r, &old,
        "{\"model\":\"gpt-5-mini\",\"stream\":true,\"stream_options\":{\"include_usage\":true},\"messages\":"
        "[{\"role\":\"system\",\"content\":\"Be brief.\"},{\"role\":\"user\",\"content\":\"Hello\"}],"
        "\"max_tokens\":100,\"reasoning_effort\":\"low\",\"temperature\":0.5,\"top_p\":0.25,\"seed\":9,"
        "\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"answer\",\"strict\":true,"
        "\"schema\":{\"type\":\"object\"}}},\"prompt_cache_key\":\"4729e95572719597df5ff5d25797330e\"}");
}

static void test_body_of_a_reasoning_model(void **state)
{
    struct atoll_llm_request r = asked();
    const struct atoll_provider_model model = {
        .model = "o4", .max_output_tokens = 4096, .effort = ATOLL_LLM_EFFORT_HIGH, .has_no_sampling = 1};
    r.messages[0].is_cacheable = 0;
    r.message_count = 1;
    r.temperature = 0.5;
    r.top_p = 0.25;
    r.seed = 7;
    r.max_output_tokens = 0;
    expect_body(ATOLL_PROVIDER_CHAT, &r, &model,
                "{\"model\":\"o4\",\"stream\":true,\"stream_options\":{\"include_usage\":true},\"messages\":"
                "[{\"role\":\"system\",\"content\":\"Be brief.\"}],\"max_completion_tokens\":4096,"
                "\"reasoning_effort\":\"high\"}");
}

/* The key follows from what is marked and all before it, from nothing behind it. */
static void test_cache_key(void **state)
{
    struct atoll_llm_request r = asked();
    struct atoll_buffer a;
    atoll_buffer_init(&a, WHOLE_LIMIT);
    const char *texts[] = {"Hello", "Other", "Hello"}, *systems[] = {"Be brief.", "Be brief.", "Be long."};
    char keys[3][64];
    for (int i = 0; i < 3; i++) {
        r.messages[0].text = systems[i];
        r.messages[1].text = texts[i];
        atoll_buffer_clear(&a);
        assert_int_equal(atoll_provider_body(ATOLL_PROVIDER_CHAT, &r, &plain, &a, NULL), 0);
        atoll_buffer_put_u8(&a, 0);
        const char *key = strstr((const char *)a.data, "prompt_cache_key");
        assert_non_null(key);
        snprintf(keys[i], sizeof(keys[i]), "%s", key);
    }
    assert_string_equal(keys[0], keys[1]);
    assert_string_not_equal(keys[0], keys[2]);
    atoll_buffer_fini(&a);
}

static void test_bodies_that_cannot_be(void **state)
{
    struct atoll_llm_request r = asked();
    struct atoll_provider_model model = plain;
    r.schema = "[]";
    expect_no_body(ATOLL_PROVIDER_CHAT, &r, &plain, "schema: an object is expected");
    r.schema = "{\"type\":";
    expect_no_body(ATOLL_PROVIDER_CHAT, &r, &plain, "schema: no JSON at line 1");
    r = asked();
    r.messages[1].text = "\xff";
    expect_no_body(ATOLL_PROVIDER_CHAT, &r, &plain, "messages[1]: text: byte 0 is not UTF-8");
    r = asked();
    model.model = "";
    expect_no_body(ATOLL_PROVIDER_CHAT, &r, &model, "model ''");
    model = plain;
    model.max_output_tokens = r.max_output_tokens = 0;
    expect_no_body(ATOLL_PROVIDER_CHAT, &r, &model, "no max_output_tokens");
}

/* ---- embeddings and lists ---- */

static void test_embeddings(void **state)
{
    struct atoll_llm_request r = asked();
    const struct reply_case c = {.file = "chat_embedding.json", .usage = {8, 0, 0, 0, 0, 0}};
    const struct reply_case none = {.bytes = "{\"object\":\"list\",\"data\":[]}",
                                    .status = ATOLL_LLM_PROTOCOL,
                                    .detail = "no embeddings in the reply",
                                    .usage = ESTIMATED};
    r.operation = ATOLL_LLM_EMBED;
    expect_body(
        ATOLL_PROVIDER_CHAT, &r, &plain,
        "{\"model\":\"gpt-5-mini\",\"encoding_format\":\"float\",\"input\":[\"Be brief.\",\"Hello\"]}");
    expect_case(ATOLL_PROVIDER_CHAT, ATOLL_LLM_EMBED, &c);
    expect_case(ATOLL_PROVIDER_RESPONSES, ATOLL_LLM_EMBED, &c);
    expect_case(ATOLL_PROVIDER_CHAT, ATOLL_LLM_EMBED, &none);
}

static void note(void *context, const char *id)
{
    strcat(context, id);
    strcat(context, ";");
}

static void test_models(void **state)
{
    char seen[256] = "", *bytes;
    size_t length = reply_read("chat_models.json", &bytes);
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(atoll_provider_models(ATOLL_PROVIDER_CHAT, bytes, length, note, seen, &err), 0);
    assert_string_equal(seen, "gpt-5;gpt-5-mini;");
    assert_int_equal(atoll_provider_models(ATOLL_PROVIDER_CHAT, "{}", 2, note, seen, &err), -1);
    expect_err(&err, ATOLL_E_PROTOCOL, "no list 'data'");
    assert_int_equal(atoll_provider_models(ATOLL_PROVIDER_CHAT, "{", 1, note, seen, &err), -1);
    expect_err(&err, ATOLL_E_PROTOCOL, "list of models: no JSON");
    free(bytes);
}

/* ---- the table ---- */

static void test_rows(void **state)
{
    for (int i = 0; i < ATOLL_PROVIDER_COUNT; i++) {
        assert_string_not_equal(atoll_provider_name((enum atoll_provider)i), "?");
        assert_non_null(atoll_provider_path((enum atoll_provider)i, ATOLL_LLM_CHAT));
        assert_non_null(atoll_provider_models_path((enum atoll_provider)i));
    }
    assert_string_equal(atoll_provider_path(ATOLL_PROVIDER_CHAT, ATOLL_LLM_CHAT), "/chat/completions");
    assert_string_equal(atoll_provider_path(ATOLL_PROVIDER_CHAT, ATOLL_LLM_EMBED), "/embeddings");
    assert_string_equal(atoll_provider_models_path(ATOLL_PROVIDER_CHAT), "/models");
}

static void test_headers(void **state)
{
    struct atoll_buffer out;
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_buffer_init(&out, 256);
    assert_int_equal(atoll_provider_headers(ATOLL_PROVIDER_CHAT, "sk-1", &out, &err), 0);
    assert_int_equal(out.length, 27);
    assert_string_equal((const char *)out.data, "Authorization: Bearer sk-1");
    atoll_buffer_clear(&out);
    assert_int_equal(atoll_provider_headers(ATOLL_PROVIDER_CHAT, NULL, &out, &err), 0);
    assert_int_equal(out.length, 0);
    assert_int_equal(atoll_provider_headers(ATOLL_PROVIDER_CHAT, "sk-1\r\nX: y", &out, &err), -1);
    expect_err(&err, ATOLL_E_INPUT, "the key holds a byte");
    assert_null(strstr(err.text, "sk-1"));
    atoll_buffer_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replies),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_every_status),
        cmocka_unit_test(test_cut_at_every_byte),
        cmocka_unit_test(test_text_beyond_its_limit),
        cmocka_unit_test(test_reply_beyond_its_limit),
        cmocka_unit_test(test_event_beyond_its_limit),
        cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_body_of_a_reasoning_model),
        cmocka_unit_test(test_cache_key),
        cmocka_unit_test(test_bodies_that_cannot_be),
        cmocka_unit_test(test_embeddings),
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_headers),
    };
    return cmocka_run_group_tests_name("llm-gateway.provider-chat", tests, NULL, NULL);
}
