#include "tests/unit/llm-gateway/reply_case.h"

#define ESTIMATED                                                                                            \
    {                                                                                                        \
        .is_estimated = 1                                                                                    \
    }

static const struct reply_case cases[] = {
    {.file = "anthropic_plain.sse",
     .text = "Hello, wörld",
     .finish = "end_turn",
     .usage = {25, 0, 0, 15, 0, 0}},
    {.file = "anthropic_cache.sse", .text = "Hello", .usage = {1206, 1000, 200, 15, 0, 0}},
    {.file = "anthropic_cumulative.sse", .text = "Hello", .usage = {130, 100, 0, 15, 0, 0}},
    {.file = "anthropic_thinking.sse",
     .text = "42",
     .reasoning = "Let me think.",
     .usage = {25, 0, 0, 30, 0, 0}},
    {.file = "anthropic_thinking_only.sse",
     .status = ATOLL_LLM_EMPTY,
     .reasoning = "Let me think.",
     .detail = "ended inside its reasoning, 13 bytes of it, before any text (max_tokens)",
     .usage = {25, 0, 0, 30, 0, 0}},
    {.file = "anthropic_redacted.sse",
     .status = ATOLL_LLM_EMPTY,
     .detail = "without any text (end_turn)",
     .usage = {25, 0, 0, 30, 0, 0}},
    {.file = "anthropic_max_tokens.sse",
     .status = ATOLL_LLM_TRUNCATED,
     .text = "Hello",
     .detail = "ended by a limit (max_tokens)",
     .usage = {25, 0, 0, 16, 0, 0}},
    {.file = "anthropic_context.sse",
     .status = ATOLL_LLM_TRUNCATED,
     .text = "Hello",
     .detail = "(model_context_window_exceeded)",
     .finish = "model_context_window_exceeded",
     .usage = {25, 0, 0, 16, 0, 0}},
    {.file = "anthropic_pause.sse",
     .status = ATOLL_LLM_TRUNCATED,
     .text = "Hello",
     .detail = "(pause_turn)",
     .usage = {25, 0, 0, 16, 0, 0}},
    {.file = "anthropic_refusal.sse",
     .status = ATOLL_LLM_REFUSED,
     .text = "I can",
     .detail = "refused (refusal): cyber",
     .usage = {25, 0, 0, 4, 0, 0}},
    {.file = "anthropic_refusal_silent.sse",
     .status = ATOLL_LLM_REFUSED,
     .detail = "refused (refusal)",
     .usage = {25, 0, 0, 0, 0, 0}},
    {.file = "anthropic_overloaded.sse",
     .status = ATOLL_LLM_OVERLOADED,
     .text = "Hel",
     .detail = "overloaded_error: Overloaded",
     .usage = ESTIMATED},
    {.file = "anthropic_error.sse",
     .status = ATOLL_LLM_STREAM,
     .text = "Hel",
     .detail = "strange_error: odd",
     .usage = ESTIMATED},
    {.file = "anthropic_cut.sse",
     .status = ATOLL_LLM_STREAM,
     .text = "Hello",
     .detail = "ended before its message_stop, after 5 bytes",
     .usage = ESTIMATED},
    {.file = "anthropic_cut_late.sse",
     .is_cut = 1,
     .status = ATOLL_LLM_STREAM,
     .text = "Hello",
     .detail = "(connection lost)",
     .usage = {25, 0, 0, 15, 0, 0}},
    {.file = "anthropic_unknown_event.sse", .text = "Hello", .usage = {25, 0, 0, 15, 0, 0}},
    {.file = "anthropic_usage_wrong.sse", .text = "Hello", .usage = ESTIMATED},
    {.file = "anthropic_whole.json",
     .text = "Hello, world",
     .reasoning = "Hm.",
     .usage = {106, 100, 0, 9, 0, 0}},
};

#define ERROR(http, type, message, outcome)                                                                  \
    {                                                                                                        \
        .bytes = "{\"type\":\"error\",\"error\":{\"type\":\"" type "\",\"message\":\"" message               \
                 "\"},\"request_id\":\"req_1\"}",                                                            \
        .http_status = http, .status = outcome, .detail = type ": " message, .usage = ESTIMATED              \
    }

static const struct reply_case errors[] = {
    ERROR(400, "invalid_request_error", "max_tokens: required", ATOLL_LLM_INVALID),
    ERROR(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum",
          ATOLL_LLM_TOO_LARGE),
    ERROR(400, "invalid_request_error", "Your credit balance is too low to access the API", ATOLL_LLM_QUOTA),
    ERROR(401, "authentication_error", "invalid x-api-key", ATOLL_LLM_DENIED),
    ERROR(402, "billing_error", "pay", ATOLL_LLM_QUOTA),
    ERROR(403, "permission_error", "not allowed", ATOLL_LLM_DENIED),
    ERROR(404, "not_found_error", "model: claude-9", ATOLL_LLM_NOTFOUND),
    ERROR(413, "request_too_large", "too large", ATOLL_LLM_TOO_LARGE),
    ERROR(429, "rate_limit_error", "too fast", ATOLL_LLM_RATE),
    ERROR(500, "api_error", "Internal server error", ATOLL_LLM_OVERLOADED),
    ERROR(504, "timeout_error", "timed out", ATOLL_LLM_OVERLOADED),
    ERROR(529, "overloaded_error", "Overloaded", ATOLL_LLM_OVERLOADED),
    ERROR(200, "api_error", "Internal server error", ATOLL_LLM_OVERLOADED),
};

static void test_replies(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        expect_case(ATOLL_PROVIDER_ANTHROPIC, ATOLL_LLM_CHAT, &cases[i]);
    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
        expect_case(ATOLL_PROVIDER_ANTHROPIC, ATOLL_LLM_CHAT, &errors[i]);
}

static void test_cut_at_every_byte(void **state)
{
    expect_cuts(ATOLL_PROVIDER_ANTHROPIC, "anthropic_plain.sse");
    expect_cuts(ATOLL_PROVIDER_ANTHROPIC, "anthropic_whole.json");
}

/* ---- bodies ---- */

static const struct atoll_provider_model model = {.model = "claude", .max_output_tokens = 4096};

#define TURNS "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Hello\"}]}]"

static void test_bodies(void **state)
{
    struct atoll_llm_request r = asked();
    expect_body(ATOLL_PROVIDER_ANTHROPIC, &r, &model,
                "{\"model\":\"claude\",\"stream\":true,\"max_tokens\":100," TURNS
                ",\"system\":[{\"type\":\"text\",\"text\":\"Be "
                "brief.\",\"cache_control\":{\"type\":\"ephemeral\"}}]}");
    r.messages[0].text = "";
    r.temperature = 1.5;
    r.top_p = 0.5;
    r.seed = 3;
    r.schema = "{\"type\":\"object\"}";
    expect_body(ATOLL_PROVIDER_ANTHROPIC, &r, &model,
                "{\"model\":\"claude\",\"stream\":true,\"max_tokens\":100," TURNS
                ",\"temperature\":1.0,\"output_config\":{\"format\":{\"type\":\"json_schema\",\"schema\":"
                "{\"type\":\"object\"}}}}");
}

static void test_efforts(void **state)
{
    static const struct {
        enum atoll_llm_effort effort;
        int is_old;
        uint32_t limit;
        const char *said;
    } efforts[] = {
        {ATOLL_LLM_EFFORT_UNSAID, 0, 0, ",\"temperature\":0.5"},
        {ATOLL_LLM_EFFORT_MINIMAL, 0, 0, ",\"temperature\":0.5,\"output_config\":{\"effort\":\"low\"}"},
        {ATOLL_LLM_EFFORT_MEDIUM, 0, 0,
         ",\"thinking\":{\"type\":\"adaptive\"},\"output_config\":{\"effort\":\"medium\"}"},
        {ATOLL_LLM_EFFORT_MINIMAL, 1, 0, ",\"temperature\":0.5"},
        {ATOLL_LLM_EFFORT_LOW, 1, 16000, ",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":2000}"},
        {ATOLL_LLM_EFFORT_HIGH, 1, 16000, ",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":8000}"},
        {ATOLL_LLM_EFFORT_LOW, 1, 4096, ",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":1024}"},
        {ATOLL_LLM_EFFORT_HIGH, 1, 1024, ",\"temperature\":0.5"},
    };
    for (size_t i = 0; i < sizeof(efforts) / sizeof(*efforts); i++) {
        char expected[512];
        struct atoll_llm_request r = asked();
        struct atoll_provider_model m = model;
        m.has_old_limit = efforts[i].is_old;
        r.messages[0].text = "";
        r.temperature = 0.5;
        r.effort = efforts[i].effort;
        r.max_output_tokens = efforts[i].limit;
        snprintf(expected, sizeof(expected), "{\"model\":\"claude\",\"stream\":true,\"max_tokens\":%u,%s%s}",
                 efforts[i].limit ? efforts[i].limit : 4096, TURNS, efforts[i].said);
        expect_body(ATOLL_PROVIDER_ANTHROPIC, &r, &m, expected);
    }
}

/* What is marked, of ten messages whose text is their number: turns before system, the last ones first. */
static void test_cache_marks(void **state)
{
    static const struct {
        const char *roles, *marks, *expected;
    } marks[] = {{"suau", "1010", "02"},       {"suauau", "111111", "2345"}, {"sssssu", "111111", "2345"},
                 {"sssssu", "111110", "1234"}, {"suauau", "000000", ""},     {"su", "11", "01"}};
    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
        static const char *const digits[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
        struct atoll_llm_request r = asked();
        struct atoll_buffer out;
        char seen[16] = "";
        r.message_count = strlen(marks[i].roles);
        for (size_t m = 0; m < r.message_count; m++) {
            enum atoll_llm_role role = marks[i].roles[m] == 's'   ? ATOLL_LLM_SYSTEM
                                       : marks[i].roles[m] == 'u' ? ATOLL_LLM_USER
                                                                  : ATOLL_LLM_ASSISTANT;
            r.messages[m] = (struct atoll_llm_message){
                .role = role, .text = digits[m], .is_cacheable = marks[i].marks[m] == '1'};
        }
        atoll_buffer_init(&out, WHOLE_LIMIT);
        assert_int_equal(atoll_provider_body(ATOLL_PROVIDER_ANTHROPIC, &r, &model, &out, NULL), 0);
        atoll_buffer_put_u8(&out, 0);
        for (size_t m = 0; m < r.message_count; m++) {
            char marked[80];
            snprintf(marked, sizeof(marked), "\"text\":\"%zu\",\"cache_control\":{\"type\":\"ephemeral\"}",
                     m);
            if (strstr((const char *)out.data, marked))
                strcat(seen, digits[m]);
        }
        assert_string_equal(seen, marks[i].expected);
        atoll_buffer_fini(&out);
    }
}

static void test_bodies_that_cannot_be(void **state)
{
    struct atoll_llm_request r = asked();
    r.operation = ATOLL_LLM_EMBED;
    expect_no_body(ATOLL_PROVIDER_ANTHROPIC, &r, &model, "anthropic has no embeddings");
    r = asked();
    r.message_count = 1;
    expect_no_body(ATOLL_PROVIDER_ANTHROPIC, &r, &model, "messages: anthropic needs one of role user");
}

static void test_row(void **state)
{
    struct atoll_buffer out;
    atoll_buffer_init(&out, 256);
    assert_int_equal(atoll_provider_headers(ATOLL_PROVIDER_ANTHROPIC, "sk", &out, NULL), 0);
    assert_int_equal(out.length, 14 + 30);
    assert_memory_equal(out.data, "x-api-key: sk\0anthropic-version: 2023-06-01", out.length - 1);
    assert_string_equal(atoll_provider_path(ATOLL_PROVIDER_ANTHROPIC, ATOLL_LLM_CHAT), "/messages");
    assert_null(atoll_provider_path(ATOLL_PROVIDER_ANTHROPIC, ATOLL_LLM_EMBED));
    atoll_buffer_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replies),     cmocka_unit_test(test_cut_at_every_byte),
        cmocka_unit_test(test_bodies),      cmocka_unit_test(test_efforts),
        cmocka_unit_test(test_cache_marks), cmocka_unit_test(test_bodies_that_cannot_be),
        cmocka_unit_test(test_row),
    };
    return cmocka_run_group_tests_name("llm-gateway.provider-anthropic", tests, NULL, NULL);
}
