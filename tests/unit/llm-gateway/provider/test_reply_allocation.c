#include "tests/support/allocation.h"

#include <stdio.h>

#ifdef ALLOCATION_SKIP_REASON
int main(void)
{
    puts("skipped: " ALLOCATION_SKIP_REASON);
    return 77;
}
#else

#include "llm-gateway/provider/provider.h"

#define LIMIT ((size_t)16 << 20)

static struct atoll_llm_request request;
static struct atoll_buffer outcome_bytes;

static const char body[] = "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":"
                           "\"text\",\"text\":\"a\"}]},{\"role\":"
                           "\"user\",\"content\":\"b\"}],\"response_format\":{\"type\":\"json_schema\","
                           "\"json_schema\":{\"schema\":{\"type\":"
                           "\"object\"}}},\"atoll\":{\"key\":\"k\"}}";
static const char chat_stream[] = "data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"Hello\","
                                  "\"reasoning_content\":\"Hm.\",\"refusal\":\"No.\"}}]}\n\ndata: [DONE]\n\n";
static const char response[] =
    "{\"object\":\"response\",\"status\":\"completed\",\"output\":[{\"type\":\"message\","
    "\"content\":[{\"type\":\"output_text\",\"text\":\"Hello\"}]}]}";
static const char message_stream[] =
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"Hello\"}}\n\n"
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
static const char tools_body[] = "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{"
                                 "\"role\":\"assistant\",\"tool_calls\":[{"
                                 "\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":{\"a\":1}}}]},{"
                                 "\"role\":\"tool\",\"tool_call_id\":\"c\","
                                 "\"content\":\"r\"}],\"tools\":[{\"type\":\"function\",\"function\":{"
                                 "\"name\":\"f\",\"parameters\":{\"type\":"
                                 "\"object\"}}}]}";
static const char chat_calls[] =
    "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"Hm.\",\"tool_calls\":[{\"index\":0,\"id\":\"c\","
    "\"extra_content\":{},\"function\":{\"name\":\"f\",\"arguments\":{\"a\":1}}}]}}]}\n\ndata: [DONE]\n\n";
static const char response_calls[] =
    "{\"object\":\"response\",\"status\":\"completed\",\"output\":[{\"type\":\"reasoning\",\"encrypted_"
    "content\":"
    "\"e\"},{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"{}\"}]}";
static const char message_calls[] = "{\"type\":\"message\",\"content\":[{\"type\":\"thinking\",\"thinking\":"
                                    "\"Hm.\",\"signature\":\"s\"},{\"type\":"
                                    "\"redacted_thinking\",\"data\":\"d\"},{\"type\":\"text\",\"text\":\"a\"}"
                                    ",{\"type\":\"tool_use\",\"id\":\"c\",\"name\":"
                                    "\"f\",\"input\":{\"a\":1}}],\"stop_reason\":\"tool_use\"}";
static const char list[] = "{\"data\":[{\"id\":\"m\",\"index\":0,\"embedding\":[1,2]}]}";

static int run_decode_of(const char *bytes, size_t length, struct atoll_err *err)
{
    struct atoll_llm_request r;
    struct atoll_arena *arena = atoll_arena_create(LIMIT, err);
    int status = arena ? atoll_llm_request_decode(bytes, length, arena, &r, err) : -1;
    atoll_arena_destroy(arena);
    return status;
}

static int run_decode(struct atoll_err *err)
{
    return run_decode_of(body, sizeof(body) - 1, err);
}

static int run_decode_tools(struct atoll_err *err)
{
    return run_decode_of(tools_body, sizeof(tools_body) - 1, err);
}

static int run_encode(struct atoll_err *err)
{
    struct atoll_buffer out;
    atoll_buffer_init(&out, LIMIT);
    int status = atoll_llm_request_encode(&request, &out, err);
    atoll_buffer_fini(&out);
    return status;
}

static int run_body(enum atoll_provider provider, enum atoll_llm_operation operation, struct atoll_err *err)
{
    static const struct atoll_provider_model model = {.model = "m", .max_output_tokens = 8000};
    struct atoll_llm_request r = request;
    struct atoll_buffer out;
    r.operation = operation;
    atoll_buffer_init(&out, LIMIT);
    int status = atoll_provider_body(provider, &r, &model, &out, err);
    atoll_buffer_fini(&out);
    return status;
}

static int run_chat_body(struct atoll_err *err)
{
    return run_body(ATOLL_PROVIDER_CHAT, ATOLL_LLM_CHAT, err);
}

static int run_embed_body(struct atoll_err *err)
{
    return run_body(ATOLL_PROVIDER_CHAT, ATOLL_LLM_EMBED, err);
}

static int run_responses_body(struct atoll_err *err)
{
    return run_body(ATOLL_PROVIDER_RESPONSES, ATOLL_LLM_CHAT, err);
}

static int run_anthropic_body(struct atoll_err *err)
{
    return run_body(ATOLL_PROVIDER_ANTHROPIC, ATOLL_LLM_CHAT, err);
}

static int run_headers(struct atoll_err *err)
{
    struct atoll_buffer out;
    atoll_buffer_init(&out, LIMIT);
    int status = atoll_provider_headers(ATOLL_PROVIDER_ANTHROPIC, "sk", &out, err);
    atoll_buffer_fini(&out);
    return status;
}

/* A reader has no err: it says so in its outcome. */
static int run_reader(enum atoll_provider provider, const char *bytes, size_t length, struct atoll_err *err)
{
    struct atoll_llm_outcome o;
    struct atoll_reply_reader *reader = atoll_reply_reader_create(provider, ATOLL_LLM_CHAT, err);
    int status = reader ? 0 : -1;
    if (!reader)
        return status;
    atoll_llm_outcome_init(&o);
    for (size_t at = 0; at < length && !atoll_reply_reader_feed(reader, bytes + at, 1); at++) {
    }
    atoll_reply_reader_finish(reader, 200, 1, &o);
    if (o.status == ATOLL_LLM_PROTOCOL) {
        if (!strstr(o.detail, "no memory to read"))
            fail_msg("%s", o.detail);
        status = atoll_err_set(err, ATOLL_E_MEMORY, "%s", o.detail);
    }
    atoll_llm_outcome_fini(&o);
    atoll_reply_reader_destroy(reader);
    return status;
}

static int run_chat_reader(struct atoll_err *err)
{
    return run_reader(ATOLL_PROVIDER_CHAT, chat_stream, sizeof(chat_stream) - 1, err);
}

static int run_responses_reader(struct atoll_err *err)
{
    return run_reader(ATOLL_PROVIDER_RESPONSES, response, sizeof(response) - 1, err);
}

static int run_anthropic_reader(struct atoll_err *err)
{
    return run_reader(ATOLL_PROVIDER_ANTHROPIC, message_stream, sizeof(message_stream) - 1, err);
}

static int run_chat_calls(struct atoll_err *err)
{
    return run_reader(ATOLL_PROVIDER_CHAT, chat_calls, sizeof(chat_calls) - 1, err);
}

static int run_responses_calls(struct atoll_err *err)
{
    return run_reader(ATOLL_PROVIDER_RESPONSES, response_calls, sizeof(response_calls) - 1, err);
}

static int run_anthropic_calls(struct atoll_err *err)
{
    return run_reader(ATOLL_PROVIDER_ANTHROPIC, message_calls, sizeof(message_calls) - 1, err);
}

static void note(void *context, const char *id)
{
}

static int run_models(struct atoll_err *err)
{
    return atoll_provider_models(ATOLL_PROVIDER_CHAT, list, sizeof(list) - 1, note, NULL, err);
}

/* Decoded, copied, written and parsed. */
static int run_outcome(struct atoll_err *err)
{
    struct atoll_llm_outcome a, b;
    struct atoll_buffer out;
    atoll_llm_outcome_init(&a);
    atoll_llm_outcome_init(&b);
    atoll_buffer_init(&out, LIMIT);
    int status = atoll_llm_outcome_decode(outcome_bytes.data, outcome_bytes.length, &a, err);
    status = status ? status : atoll_llm_outcome_copy(&a, &b, err);
    status = status ? status : atoll_llm_outcome_json(&b, &out, err);
    status = status ? status : atoll_reply_parse(out.data, out.length, &b, err);
    atoll_buffer_fini(&out);
    atoll_llm_outcome_fini(&a);
    atoll_llm_outcome_fini(&b);
    return status;
}

static int run_words(struct atoll_err *err)
{
    struct atoll_llm_outcome o;
    atoll_llm_outcome_init(&o);
    int status = atoll_reply_parse("Hello", 5, &o, err);
    atoll_llm_outcome_fini(&o);
    return status;
}

static const struct {
    const char *name;
    int (*run)(struct atoll_err *err);
    long least; /* allocations it makes at least */
} operations[] = {{"decode", run_decode, 10},
                  {"encode", run_encode, 10},
                  {"chat body", run_chat_body, 10},
                  {"embed body", run_embed_body, 10},
                  {"responses body", run_responses_body, 10},
                  {"anthropic body", run_anthropic_body, 10},
                  {"headers", run_headers, 1},
                  {"chat reader", run_chat_reader, 10},
                  {"responses reader", run_responses_reader, 10},
                  {"anthropic reader", run_anthropic_reader, 10},
                  {"decode tools", run_decode_tools, 20},
                  {"chat calls", run_chat_calls, 20},
                  {"responses calls", run_responses_calls, 15},
                  {"anthropic calls", run_anthropic_calls, 20},
                  {"models", run_models, 5},
                  {"outcome", run_outcome, 20},
                  {"words", run_words, 2}};

static void test_every_allocation_fails_once(void **state)
{
    for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++) {
        long count = allocation_each_fails(operations[i].name, operations[i].run);
        if (count < operations[i].least)
            fail_msg("%s: %ld allocations", operations[i].name, count);
    }
}

static int make_samples(void **state)
{
    struct atoll_llm_outcome o;
    atoll_llm_request_init(&request);
    request.model = "m";
    static const struct atoll_llm_tool_call call = {"c", "f", "{\"a\":1}"};
    request.message_count = 4;
    request.messages[2] = (struct atoll_llm_message){
        .role = ATOLL_LLM_ASSISTANT,
        .text = "First.",
        .tool_call_count = 1,
        .tool_calls = &call,
        .provider_state =
            "[{\"type\":\"thinking\",\"signature\":\"s\"},{\"type\":\"text\",\"bytes\":3},{\"type\":"
            "\"reasoning\"},{\"reasoning_content\":\"r\"},{\"call\":0,\"extra_content\":{}}]"};
    request.messages[3] = (struct atoll_llm_message){
        .role = ATOLL_LLM_TOOL, .text = "r", .tool_call_id = "c", .is_error = 1, .is_cacheable = 1};
    request.tool_count = 1;
    request.tools[0] = (struct atoll_llm_tool){"f", "Does.", "{\"type\":\"object\"}"};
    request.is_tool_free = 1;
    request.messages[0] =
        (struct atoll_llm_message){.role = ATOLL_LLM_SYSTEM, .text = "Be brief.", .is_cacheable = 1};
    request.messages[1] = (struct atoll_llm_message){.role = ATOLL_LLM_USER, .text = "Hello"};
    request.effort = ATOLL_LLM_EFFORT_LOW;
    request.schema = "{\"type\":\"object\"}";
    request.key = "k";
    atoll_llm_outcome_init(&o);
    if (atoll_reply_parse(message_calls, sizeof(message_calls) - 1, &o, NULL))
        return -1;
    atoll_buffer_put_bytes(&o.reasoning, "Hm.", 4);
    o.reasoning.length--;
    atoll_buffer_init(&outcome_bytes, LIMIT);
    atoll_llm_outcome_encode(&o, &outcome_bytes);
    atoll_llm_outcome_fini(&o);
    return 0;
}

static int free_samples(void **state)
{
    atoll_buffer_fini(&outcome_bytes);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_allocation_fails_once)};
    return cmocka_run_group_tests_name("llm-gateway.reply-allocation", tests, make_samples, free_samples);
}
#endif
