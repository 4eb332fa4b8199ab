#include "tests/unit/llm-gateway/reply_case.h"

#define ESTIMATED                                                                                            \
    {                                                                                                        \
        .is_estimated = 1                                                                                    \
    }

static const struct reply_case cases[] = {
    {.file = "responses_plain.sse",
     .text = "Hello, wörld",
     .finish = "completed",
     .usage = {1200, 1024, 0, 64, 32, 0}},
    {.file = "responses_summary.sse",
     .text = "42",
     .reasoning = "First.\n\nThen.",
     .usage = {10, 0, 0, 30, 25, 0}},
    {.file = "responses_reasoning_text.sse",
     .text = "42",
     .reasoning = "Let me think.",
     .usage = {10, 0, 0, 30, 25, 0}},
    {.file = "responses_no_deltas.sse", .text = "42", .reasoning = "Hm.", .usage = {10, 0, 0, 30, 25, 0}},
    {.file = "responses_incomplete.sse",
     .status = ATOLL_LLM_TRUNCATED,
     .text = "Hello",
     .detail = "ended by a limit (max_output_tokens)",
     .finish = "max_output_tokens",
     .usage = {10, 0, 0, 16, 0, 0}},
    {.file = "responses_incomplete_reasoning.sse",
     .status = ATOLL_LLM_EMPTY,
     .detail = "without any text (max_output_tokens)",
     .usage = {10, 0, 0, 16, 16, 0}},
    {.file = "responses_content_filter.sse",
     .status = ATOLL_LLM_REFUSED,
     .text = "Hello",
     .detail = "refused (content_filter)",
     .usage = {10, 0, 0, 16, 0, 0}},
    {.file = "responses_refusal.sse",
     .status = ATOLL_LLM_REFUSED,
     .text = "I cannot help.",
     .detail = "refused (completed)",
     .usage = {10, 0, 0, 7, 0, 0}},
    {.file = "responses_failed.sse",
     .status = ATOLL_LLM_OVERLOADED,
     .text = "Hel",
     .detail = "server_error: The model failed to generate",
     .finish = "failed",
     .usage = ESTIMATED},
    {.file = "responses_failed_rate.sse",
     .status = ATOLL_LLM_RATE,
     .detail = "rate_limit_exceeded: slow down",
     .usage = ESTIMATED},
    {.file = "responses_error.sse",
     .status = ATOLL_LLM_STREAM,
     .text = "Hel",
     .detail = "ERR_SOMETHING: Something went wrong",
     .usage = ESTIMATED},
    {.file = "responses_error_nested.sse",
     .status = ATOLL_LLM_QUOTA,
     .detail = "insufficient_quota: You exceeded",
     .usage = ESTIMATED},
    {.file = "responses_cut.sse",
     .status = ATOLL_LLM_STREAM,
     .text = "Hello",
     .detail = "ended before its response.completed",
     .usage = ESTIMATED},
    {.file = "responses_usage_wrong.sse", .text = "Hello", .usage = ESTIMATED},
    {.file = "responses_whole.json",
     .text = "Hello, world",
     .reasoning = "Hm.",
     .usage = {10, 0, 0, 4, 0, 0}},
    {.file = "responses_whole_failed.json",
     .status = ATOLL_LLM_OVERLOADED,
     .detail = "error inside the reply: server_error: The model failed.",
     .usage = ESTIMATED},
    {.file = "chat_plain.sse", .status = ATOLL_LLM_STREAM, .detail = "ended before its", .usage = ESTIMATED},
    {.file = "chat_whole.json",
     .status = ATOLL_LLM_PROTOCOL,
     .detail = "no reply of 'responses'",
     .usage = ESTIMATED},
};

static void test_replies(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        expect_case(ATOLL_PROVIDER_RESPONSES, ATOLL_LLM_CHAT, &cases[i]);
}

static void test_cut_at_every_byte(void **state)
{
    expect_cuts(ATOLL_PROVIDER_RESPONSES, "responses_plain.sse");
    expect_cuts(ATOLL_PROVIDER_RESPONSES, "responses_whole.json");
}

static void test_names(void **state)
{
    struct atoll_llm_outcome o;
    const struct reply_case c = {.http_status = 200};
    char *bytes;
    size_t length = reply_read("responses_plain.sse", &bytes);
    atoll_llm_outcome_init(&o);
    reply_feed(ATOLL_PROVIDER_RESPONSES, ATOLL_LLM_CHAT, bytes, length, 7, 0, &c, &o);
    assert_string_equal(o.model, "gpt-5-2025-08-07");
    assert_int_equal(o.http_status, 200);
    assert_int_equal(o.raw.length, length);
    assert_memory_equal(o.raw.data, bytes, length);
    atoll_llm_outcome_fini(&o);
    free(bytes);
}

static void test_bodies(void **state)
{
    struct atoll_llm_request r = asked();
    struct atoll_provider_model model = {.model = "gpt-5", .max_output_tokens = 4096};
    r.messages[0].is_cacheable = 0;
    expect_body(
        ATOLL_PROVIDER_RESPONSES, &r, &model,
        "{\"model\":\"gpt-5\",\"stream\":true,\"store\":false,\"max_output_tokens\":100,\"input\":"
        "[{\"role\":\"system\",\"content\":\"Be brief.\"},{\"role\":\"user\",\"content\":\"Hello\"}]}");
    r.message_count = 1;
    r.effort = ATOLL_LLM_EFFORT_MINIMAL;
    r.temperature = 1;
    r.top_p = 0.5;
    r.seed = 3;
    r.schema = "{\"type\":\"object\"}";
    expect_body(ATOLL_PROVIDER_RESPONSES, &r, &model,
                "{\"model\":\"gpt-5\",\"stream\":true,\"store\":false,\"max_output_tokens\":100,\"input\":"
                "[{\"role\":\"system\",\"content\":\"Be brief.\"}],\"reasoning\":{\"effort\":\"minimal\"},"
                "\"temperature\":1.0,\"top_p\":0.5,\"text\":{\"format\":{\"type\":\"json_schema\",\"name\":"
                "\"answer\","
                "\"strict\":true,\"schema\":{\"type\":\"object\"}}}}");
    r.messages[0].is_cacheable = 1;
    r.schema = NULL;
    r.effort = ATOLL_LLM_EFFORT_UNSAID;
    model.has_no_sampling = 1;
    expect_body(ATOLL_PROVIDER_RESPONSES, &r, &model,
                "{\"model\":\"gpt-5\",\"stream\":true,\"store\":false,\"max_output_tokens\":100,\"input\":"
                "[{\"role\":\"system\",\"content\":\"Be brief.\"}],"
                "\"prompt_cache_key\":\"4729e95572719597df5ff5d25797330e\"}");
}

static void test_row(void **state)
{
    assert_string_equal(atoll_provider_path(ATOLL_PROVIDER_RESPONSES, ATOLL_LLM_CHAT), "/responses");
    assert_string_equal(atoll_provider_path(ATOLL_PROVIDER_RESPONSES, ATOLL_LLM_EMBED), "/embeddings");
    assert_string_equal(atoll_provider_name(ATOLL_PROVIDER_RESPONSES), "responses");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replies), cmocka_unit_test(test_cut_at_every_byte),
        cmocka_unit_test(test_names),   cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_row),
    };
    return cmocka_run_group_tests_name("llm-gateway.provider-responses", tests, NULL, NULL);
}
