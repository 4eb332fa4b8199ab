/* Calls of tools in all three dialects: what comes out of replies, and how a conversation with results goes back. */
#include "tests/unit/llm-gateway/reply_case.h"

#define LIMIT ((size_t)16 << 20)

/* ---- replies: calls as "id name arguments" lines ---- */

static const struct {
    enum atoll_provider provider;
    struct reply_case reply;
    const char *calls, *state;
} cases[] = {
    {ATOLL_PROVIDER_ANTHROPIC,
     {.file = "anthropic_tools.sse",
      .status = ATOLL_LLM_TOOL_CALLS,
      .text = "I compile it first.",
      .finish = "tool_use",
      .usage = {472, 0, 0, 89, 0, 0}},
     "toolu_01T1x1fJ34qAmk2tNTrN7Up6 compile {\"source\": \"int x;\"}\n"
     "toolu_02 read_file {\"name\":\"a.md\"}\n",
     "[{\"type\":\"text\",\"bytes\":19},{\"type\":\"tool_use\"},{\"type\":\"tool_use\"}]"},
    {ATOLL_PROVIDER_ANTHROPIC,
     {.file = "anthropic_tools_thinking.sse",
      .status = ATOLL_LLM_TOOL_CALLS,
      .text = "First.",
      .reasoning = "Let me see.",
      .usage = {25, 0, 0, 60, 0, 0}},
     "toolu_03 check {}\n",
     "[{\"type\":\"thinking\",\"thinking\":\"Let me see.\",\"signature\":\"EqQB\"},"
     "{\"type\":\"redacted_thinking\",\"data\":\"EmwKAhgB\"},{\"type\":\"text\",\"bytes\":6},"
     "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"Eg4K\"},{\"type\":\"tool_use\"}]"},
    {ATOLL_PROVIDER_ANTHROPIC,
     {.file = "anthropic_tools_cut.sse",
      .status = ATOLL_LLM_EMPTY,
      .detail = "ended inside its call of a tool, before any text (max_tokens)",
      .usage = {25, 0, 0, 16, 0, 0}},
     "",
     ""},
    {ATOLL_PROVIDER_ANTHROPIC,
     {.file = "anthropic_tools_whole.json",
      .status = ATOLL_LLM_TOOL_CALLS,
      .text = "I look.",
      .usage = {6, 0, 0, 9, 0, 0}},
     "toolu_05 search_knowledge {\"words\":\"wgmma ä\",\"n\":[1,2]}\n",
     "[{\"type\":\"text\",\"bytes\":7},{\"type\":\"tool_use\"}]"},
    {ATOLL_PROVIDER_CHAT,
     {.file = "chat_tools.sse",
      .status = ATOLL_LLM_TOOL_CALLS,
      .finish = "tool_calls",
      .usage = {90, 0, 0, 40, 0, 0}},
     "call_DdmO9pD3xa9XTPNJ32zg2hcA compile {\"source\":\"int x;\"}\n"
     "call_2 search_archive {\"words\":\"tile\"}\n",
     ""},
    {ATOLL_PROVIDER_CHAT,
     {.file = "chat_tools_reasoning.sse",
      .status = ATOLL_LLM_TOOL_CALLS,
      .text = "First.",
      .reasoning = "Let me see.",
      .usage = {90, 0, 0, 40, 0, 0}},
     "call_00 check {}\n",
     "[{\"call\":0,\"extra_content\":{\"google\":{\"thought_signature\":\"c2ln\"}}},"
     "{\"reasoning_content\":\"Let me see.\"}]"},
    {ATOLL_PROVIDER_CHAT,
     {.file = "chat_tools_odd.sse", .status = ATOLL_LLM_TOOL_CALLS, .usage = {90, 0, 0, 40, 0, 0}},
     "call_0 functions_compile_0___ {\"source\":\"x\"}\n"
     "a unnamed {}\n"
     "call_2 nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn not json\n",
     ""},
    {ATOLL_PROVIDER_CHAT,
     {.file = "chat_tools_many.sse",
      .status = ATOLL_LLM_TOOL_CALLS,
      .detail = "more calls of tools than 20 at once: the first are kept",
      .usage = {90, 0, 0, 40, 0, 0}},
     "c0 f {}\nc1 f {}\nc2 f {}\nc3 f {}\nc4 f {}\nc5 f {}\nc6 f {}\nc7 f {}\nc8 f {}\nc9 f {}\nc10 f {}\n"
     "c11 f {}\nc12 f {}\nc13 f {}\nc14 f {}\nc15 f {}\nc16 f {}\nc17 f {}\nc18 f {}\nc19 f {}\n",
     ""},
    {ATOLL_PROVIDER_CHAT,
     {.file = "chat_tools_whole.json", .status = ATOLL_LLM_TOOL_CALLS, .usage = {82, 0, 0, 17, 0, 0}},
     "call_abc123 compile {\n\"source\": \"x\"\n}\ncall_abc124 check {}\n",
     ""},
    {ATOLL_PROVIDER_RESPONSES,
     {.file = "responses_tools.sse",
      .status = ATOLL_LLM_TOOL_CALLS,
      .finish = "completed",
      .usage = {291, 0, 0, 23, 12, 0}},
     "call_1 compile {\"source\":\"int x;\"}\ncall_2 check {}\n",
     "[{\"id\":\"rs_1\",\"type\":\"reasoning\",\"summary\":[],\"encrypted_content\":\"gAAAAAB\"}]"},
    {ATOLL_PROVIDER_RESPONSES,
     {.file = "responses_tools_no_items.sse",
      .status = ATOLL_LLM_TOOL_CALLS,
      .text = "First.",
      .usage = {291, 0, 0, 23, 12, 0}},
     "call_1 compile {}\n",
     ""},
    {ATOLL_PROVIDER_RESPONSES,
     {.file = "responses_tools_whole.json", .status = ATOLL_LLM_TOOL_CALLS, .usage = {291, 0, 0, 23, 12, 0}},
     "call_1 compile {\"source\":\"int x;\"}\ncall_2 check {}\n",
     "[{\"id\":\"rs_1\",\"type\":\"reasoning\",\"summary\":[],\"encrypted_content\":\"gAAAAAB\"}]"},
};

static void expect_calls(const char *name, const struct atoll_llm_outcome *o, const char *calls,
                         const char *state)
{
    struct atoll_buffer lines;
    atoll_buffer_init(&lines, LIMIT);
    for (size_t i = 0; i < o->tool_call_count; i++)
        atoll_buffer_printf(&lines, "%s %s %s\n", o->tool_calls[i].id, o->tool_calls[i].name,
                            o->tool_calls[i].arguments);
    atoll_buffer_put_u8(&lines, 0);
    if (strcmp((const char *)lines.data, calls) != 0 || strcmp(buffer_text(&o->provider_state), state) != 0)
        fail_msg("%s: calls '%s' state '%s'", name, (const char *)lines.data,
                 buffer_text(&o->provider_state));
    atoll_buffer_fini(&lines);
}

/* Out of the store's bytes, the gateway's JSON, and a copy comes what went in. */
static void expect_kept(const char *name, const struct atoll_llm_outcome *o, const char *calls,
                        const char *state)
{
    struct atoll_llm_outcome again;
    struct atoll_buffer out;
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_llm_outcome_init(&again);
    atoll_buffer_init(&out, LIMIT);
    atoll_llm_outcome_encode(o, &out);
    assert_int_equal(out.data[0], *calls ? 2 : 1);
    if (atoll_llm_outcome_decode(out.data, out.length, &again, &err))
        fail_msg("%s: %s", name, err.text);
    expect_calls(name, &again, calls, state);
    for (size_t n = 0; n < out.length; n++)
        assert_int_equal(atoll_llm_outcome_decode(out.data, n, &again, &err), -1);
    atoll_buffer_clear(&out);
    if (atoll_llm_outcome_json(o, &out, &err) || atoll_reply_parse(out.data, out.length, &again, &err))
        fail_msg("%s: %s", name, err.text);
    assert_int_equal(again.status, o->status);
    expect_calls(name, &again, calls, state);
    assert_int_equal(atoll_llm_outcome_copy(o, &again, &err), 0);
    expect_calls(name, &again, calls, state);
    atoll_buffer_fini(&out);
    atoll_llm_outcome_fini(&again);
}

static void test_replies(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct reply_case *c = &cases[i].reply;
        expect_case(cases[i].provider, ATOLL_LLM_CHAT, c);
        char *bytes;
        size_t length = reply_read(c->file, &bytes);
        for (unsigned step = 0; step < 3; step++) { /* 0: pieces of any size */
            struct atoll_llm_outcome o;
            atoll_llm_outcome_init(&o);
            reply_feed(cases[i].provider, ATOLL_LLM_CHAT, bytes, length, step == 2 ? length : step, 7, c, &o);
            expect_calls(c->file, &o, cases[i].calls, cases[i].state);
            if (step == 2)
                expect_kept(c->file, &o, cases[i].calls, cases[i].state);
            atoll_llm_outcome_fini(&o);
        }
        free(bytes);
    }
    assert_true(atoll_llm_status_is_answer(ATOLL_LLM_TOOL_CALLS) &&
                atoll_llm_status_is_final(ATOLL_LLM_TOOL_CALLS));
}

/* What no reply could become is refused when it is read from a store. */
static void test_bytes_that_cannot_be(void **state)
{
    static const struct {
        struct atoll_llm_tool_call calls[2];
        size_t count;
    } unsound[] = {{{{"a", "f", "{}"}, {"a", "g", "{}"}}, 2},
                   {{{"", "f", "{}"}}, 1},
                   {{{"a", "f g", "{}"}}, 1},
                   {{{"a", "f", "\xff"}}, 1},
                   {{{"", "", ""}}, 0}};
    for (size_t i = 0; i < sizeof(unsound) / sizeof(*unsound); i++) {
        struct atoll_llm_outcome o, again;
        struct atoll_buffer out;
        struct atoll_err err = ATOLL_ERR_INIT;
        atoll_llm_outcome_init(&o);
        atoll_llm_outcome_init(&again);
        atoll_buffer_init(&out, LIMIT);
        o.status = ATOLL_LLM_TOOL_CALLS;
        assert_int_equal(atoll_llm_outcome_set_calls(&o, unsound[i].calls, unsound[i].count, NULL), 0);
        atoll_llm_outcome_encode(&o, &out);
        if (!atoll_llm_outcome_decode(out.data, out.length, &again, &err))
            fail_msg("row %zu was read", i);
        expect_err(&err, ATOLL_E_PROTOCOL, "outcome: ");
        atoll_buffer_fini(&out);
        atoll_llm_outcome_fini(&o);
        atoll_llm_outcome_fini(&again);
    }
}

/* Cut anywhere: a stream that broke, and never a call that is not whole. */
static void test_cut_at_every_byte(void **state)
{
    static const char *const files[ATOLL_PROVIDER_COUNT] = {"chat_tools.sse", "responses_tools.sse",
                                                            "anthropic_tools.sse"};
    for (int p = 0; p < ATOLL_PROVIDER_COUNT; p++) {
        char *bytes;
        size_t length = reply_read(files[p], &bytes);
        const struct reply_case cut = {.is_cut = 1};
        for (size_t n = 0; n + 2 < length; n++) {
            struct atoll_llm_outcome o;
            atoll_llm_outcome_init(&o);
            reply_feed((enum atoll_provider)p, ATOLL_LLM_CHAT, bytes, n, n ? n : 1, 0, &cut, &o);
            if (o.status != ATOLL_LLM_STREAM || o.tool_call_count || o.provider_state.length)
                fail_msg("%s cut after %zu: %s", files[p], n, atoll_llm_status_name(o.status));
            atoll_llm_outcome_fini(&o);
        }
        free(bytes);
    }
}

/* What a person or another program writes into a spool. */
static void test_written_by_hand(void **state)
{
    static const struct {
        const char *json;
        enum atoll_llm_status status;
        const char *calls;
    } replies[] = {
        {"{\"choices\":[{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"check\",\"arguments\":{"
         "\"source\":\"x\"}}}]}}]}",
         ATOLL_LLM_TOOL_CALLS, "call_0 check {\"source\":\"x\"}\n"},
        {"{\"atoll\":{\"status\":\"ok\"},\"choices\":[{\"message\":{\"content\":\"a\",\"tool_calls\":[{"
         "\"function\":{\"name\":\"f\"}}]}}]}",
         ATOLL_LLM_OK, ""},
        {"{\"atoll\":{\"status\":\"tool_calls\",\"provider_state\":\"[]\"},\"choices\":[{\"message\":{"
         "\"content\":\"a\"}}]}",
         ATOLL_LLM_OK, ""},
        {"{\"atoll\":{\"status\":\"tool_calls\"},\"choices\":[]}", ATOLL_LLM_EMPTY, ""},
        {"{\"choices\":[{\"message\":{\"content\":\"a\",\"tool_calls\":\"none\"}}]}", ATOLL_LLM_OK, ""},
        {"{\"choices\":[{\"message\":{\"content\":\"a\",\"tool_calls\":[]}}]}", ATOLL_LLM_OK, ""},
    };
    for (size_t i = 0; i < sizeof(replies) / sizeof(*replies); i++) {
        struct atoll_llm_outcome o;
        struct atoll_err err = ATOLL_ERR_INIT;
        atoll_llm_outcome_init(&o);
        if (atoll_reply_parse(replies[i].json, strlen(replies[i].json), &o, &err))
            fail_msg("%s: %s", replies[i].json, err.text);
        assert_string_equal(atoll_llm_status_name(o.status), atoll_llm_status_name(replies[i].status));
        expect_calls(replies[i].json, &o, replies[i].calls, "");
        atoll_llm_outcome_fini(&o);
    }
}

/* Too much of a call names the limit of a call, in a stream as in a whole reply. */
static void test_arguments_beyond_their_limit(void **state)
{
    size_t room = ATOLL_LLM_ARGUMENT_BYTES + 512;
    char *filling = malloc(ATOLL_LLM_ARGUMENT_BYTES + 3), *call = malloc(room), *text = malloc(room);
    assert_true(filling && call && text);
    memset(filling, 'x', ATOLL_LLM_ARGUMENT_BYTES + 2);
    filling[ATOLL_LLM_ARGUMENT_BYTES + 2] = '\0';
    snprintf(
        call, room,
        "{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"%s\"}}]}",
        filling);
    for (size_t i = 0; i < 2; i++) {
        struct atoll_llm_outcome o;
        struct atoll_err err = ATOLL_ERR_INIT;
        atoll_llm_outcome_init(&o);
        if (i == 0)
            snprintf(text, room, "{\"choices\":[{\"message\":%s}]}", call);
        else
            snprintf(text, room, "data: {\"choices\":[{\"delta\":%s}]}\n\n", call);
        if (i == 0) {
            assert_int_equal(atoll_reply_parse(text, strlen(text), &o, &err), -1);
            expect_err(&err, ATOLL_E_LIMIT, "arguments of a call beyond the limit of 262144 bytes");
        } else {
            struct atoll_reply_reader *reader =
                atoll_reply_reader_create(ATOLL_PROVIDER_CHAT, ATOLL_LLM_CHAT, NULL);
            assert_int_equal(atoll_reply_reader_feed(reader, text, strlen(text)), -1);
            atoll_reply_reader_finish(reader, 200, 0, &o);
            assert_string_equal(o.detail, "arguments of a call beyond the limit of 262144 bytes");
            atoll_reply_reader_destroy(reader);
        }
        atoll_llm_outcome_fini(&o);
    }
    free(filling);
    free(call);
    free(text);
}

/* ---- bodies ---- */

static const struct atoll_llm_tool_call calls[] = {{"a1", "compile", "{\"source\":\"x\"}"},
                                                   {"a2", "check", "no object"}};

/* A conversation of one round of calls. */
static struct atoll_llm_request asked_with_tools(const char *provider_state)
{
    struct atoll_llm_request r = asked();
    r.messages[0].is_cacheable = 0;
    r.message_count = 6;
    r.messages[2] = (struct atoll_llm_message){.role = ATOLL_LLM_ASSISTANT,
                                               .text = "First.",
                                               .tool_call_count = 2,
                                               .tool_calls = calls,
                                               .provider_state = provider_state};
    r.messages[3] = (struct atoll_llm_message){.role = ATOLL_LLM_TOOL, .text = "clean", .tool_call_id = "a1"};
    r.messages[4] =
        (struct atoll_llm_message){.role = ATOLL_LLM_TOOL, .text = "", .tool_call_id = "a2", .is_error = 1};
    r.messages[5] = (struct atoll_llm_message){.role = ATOLL_LLM_USER, .text = "Go on"};
    r.tool_count = 1;
    r.tools[0] = (struct atoll_llm_tool){"compile", "Compiles.", "{\"type\":\"object\"}"};
    r.is_tool_free = 1;
    return r;
}

static const struct atoll_provider_model plain = {.model = "m", .max_output_tokens = 4096};

static void test_chat_body(void **state)
{
    struct atoll_llm_request r = asked_with_tools(
        "[{\"call\":1,\"extra_content\":{\"g\":1}},{\"call\":9,\"extra_content\":{}},{\"reasoning_content\":"
        "\"Hm.\"},7]");
    expect_body(
        ATOLL_PROVIDER_CHAT, &r, &plain,
        "{\"model\":\"m\",\"stream\":true,\"stream_options\":{\"include_usage\":true},\"messages\":["
        "{\"role\":\"system\",\"content\":\"Be brief.\"},{\"role\":\"user\",\"content\":\"Hello\"},"
        "{\"role\":\"assistant\",\"content\":\"First.\",\"tool_calls\":[{\"id\":\"a1\",\"type\":\"function\","
        "\"function\":{\"name\":\"compile\",\"arguments\":\"{\\\"source\\\":\\\"x\\\"}\"}},{\"id\":\"a2\","
        "\"type\":\"function\",\"function\":{\"name\":\"check\",\"arguments\":\"no object\"},"
        "\"extra_content\":{\"g\":1}}],\"reasoning_content\":\"Hm.\"},"
        "{\"role\":\"tool\",\"tool_call_id\":\"a1\",\"content\":\"clean\"},"
        "{\"role\":\"tool\",\"tool_call_id\":\"a2\",\"content\":\"\"},"
        "{\"role\":\"user\",\"content\":\"Go on\"}],"
        "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"compile\",\"description\":\"Compiles.\","
        "\"parameters\":{\"type\":\"object\"}}}],\"tool_choice\":\"none\",\"max_completion_tokens\":100}");
    r = asked_with_tools(NULL);
    r.messages[2].text = "";
    struct atoll_buffer out;
    atoll_buffer_init(&out, WHOLE_LIMIT);
    assert_int_equal(atoll_provider_body(ATOLL_PROVIDER_CHAT, &r, &plain, &out, NULL), 0);
    atoll_buffer_put_u8(&out, 0);
    assert_non_null(
        strstr((const char *)out.data, "{\"role\":\"assistant\",\"content\":null,\"tool_calls\""));
    atoll_buffer_fini(&out);
}

static void test_responses_body(void **state)
{
    struct atoll_llm_request r = asked_with_tools(
        "[{\"id\":\"rs_1\",\"type\":\"reasoning\",\"summary\":[],\"encrypted_content\":\"g\"},{\"type\":"
        "\"file\"}]");
    r.effort = ATOLL_LLM_EFFORT_LOW;
    expect_body(
        ATOLL_PROVIDER_RESPONSES, &r, &plain,
        "{\"model\":\"m\",\"stream\":true,\"store\":false,\"max_output_tokens\":100,\"input\":["
        "{\"role\":\"system\",\"content\":\"Be brief.\"},{\"role\":\"user\",\"content\":\"Hello\"},"
        "{\"id\":\"rs_1\",\"type\":\"reasoning\",\"summary\":[],\"encrypted_content\":\"g\"},"
        "{\"role\":\"assistant\",\"content\":\"First.\"},"
        "{\"type\":\"function_call\",\"call_id\":\"a1\",\"name\":\"compile\",\"arguments\":"
        "\"{\\\"source\\\":\\\"x\\\"}\"},"
        "{\"type\":\"function_call\",\"call_id\":\"a2\",\"name\":\"check\",\"arguments\":\"no object\"},"
        "{\"type\":\"function_call_output\",\"call_id\":\"a1\",\"output\":\"clean\"},"
        "{\"type\":\"function_call_output\",\"call_id\":\"a2\",\"output\":\"\"},"
        "{\"role\":\"user\",\"content\":\"Go on\"}],"
        "\"tools\":[{\"type\":\"function\",\"name\":\"compile\",\"description\":\"Compiles.\",\"parameters\":"
        "{\"type\":\"object\"},\"strict\":false}],\"tool_choice\":\"none\","
        "\"include\":[\"reasoning.encrypted_content\"],\"reasoning\":{\"effort\":\"low\"}}");
}

#define ANTHROPIC_HEAD                                                                                       \
    "{\"model\":\"m\",\"stream\":true,\"max_tokens\":100,\"messages\":[{\"role\":\"user\",\"content\":["     \
    "{\"type\":\"text\",\"text\":\"Hello\"}]},{\"role\":\"assistant\",\"content\":["
#define ANTHROPIC_USES                                                                                       \
    "{\"type\":\"tool_use\",\"id\":\"a1\",\"name\":\"compile\",\"input\":{\"source\":\"x\"}},"               \
    "{\"type\":\"tool_use\",\"id\":\"a2\",\"name\":\"check\",\"input\":{\"arguments\":\"no object\"}}]},"
#define ANTHROPIC_REST                                                                                       \
    "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"a1\",\"content\":"          \
    "\"clean\"},{\"type\":\"tool_result\",\"tool_use_id\":\"a2\",\"is_error\":true}]},"                      \
    "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Go on\"}]}],"                             \
    "\"system\":[{\"type\":\"text\",\"text\":\"Be brief.\"}],"                                               \
    "\"tools\":[{\"name\":\"compile\",\"input_schema\":{\"type\":\"object\"},\"description\":"               \
    "\"Compiles.\"}],\"tool_choice\":{\"type\":\"none\"}"

static void test_anthropic_body(void **state)
{
    static const char thoughts[] = "[{\"type\":\"thinking\",\"thinking\":\"Hm.\",\"signature\":\"s\"},{"
                                   "\"type\":\"text\",\"bytes\":3},{\"type\":\"redacted_thinking\",\"data\":"
                                   "\"d\"},{\"type\":\"text\",\"bytes\":3},{\"type\":\"tool_use\"}]";
    struct atoll_llm_request r = asked_with_tools(thoughts);
    r.effort = ATOLL_LLM_EFFORT_HIGH;
    expect_body(ATOLL_PROVIDER_ANTHROPIC, &r, &plain,
                ANTHROPIC_HEAD "{\"type\":\"thinking\",\"thinking\":\"Hm.\",\"signature\":\"s\"},"
                               "{\"type\":\"text\",\"text\":\"Fir\"},"
                               "{\"type\":\"redacted_thinking\",\"data\":\"d\"},"
                               "{\"type\":\"text\",\"text\":\"st.\"}," ANTHROPIC_USES ANTHROPIC_REST
                               ",\"thinking\":{\"type\":\"adaptive\"},\"output_config\":{\"effort\":"
                               "\"high\"}}");
    /* Without what was thought before, nothing is thought on; the effort stays. */
    r = asked_with_tools(NULL);
    r.effort = ATOLL_LLM_EFFORT_HIGH;
    expect_body(ATOLL_PROVIDER_ANTHROPIC, &r, &plain,
                ANTHROPIC_HEAD "{\"type\":\"text\",\"text\":\"First.\"}," ANTHROPIC_USES ANTHROPIC_REST
                               ",\"output_config\":{\"effort\":\"high\"}}");
    const struct atoll_provider_model old = {
        .model = "m", .max_output_tokens = 4096, .has_old_limit = 1, .effort = ATOLL_LLM_EFFORT_HIGH};
    r = asked_with_tools("[{\"type\":\"text\",\"bytes\":6},{\"type\":\"tool_use\"}]");
    r.max_output_tokens = 0;
    struct atoll_buffer out;
    for (int is_thought = 0; is_thought < 2; is_thought++) {
        atoll_buffer_init(&out, WHOLE_LIMIT);
        r.messages[2].provider_state = is_thought ? thoughts : r.messages[2].provider_state;
        assert_int_equal(atoll_provider_body(ATOLL_PROVIDER_ANTHROPIC, &r, &old, &out, NULL), 0);
        atoll_buffer_put_u8(&out, 0);
        assert_int_equal(strstr((const char *)out.data, "budget_tokens") != NULL, is_thought);
        atoll_buffer_fini(&out);
    }
}

/* A model that can call none gets the question without tools; one that did call cannot be it. */
static void test_model_without_tools(void **state)
{
    struct atoll_llm_request r = asked();
    const struct atoll_provider_model none = {.model = "m", .max_output_tokens = 4096, .has_no_tools = 1};
    r.tool_count = 1;
    r.tools[0] = (struct atoll_llm_tool){"compile", "", "{}"};
    for (int p = 0; p < ATOLL_PROVIDER_COUNT; p++) {
        struct atoll_buffer out;
        struct atoll_llm_request with = asked_with_tools(NULL);
        atoll_buffer_init(&out, WHOLE_LIMIT);
        assert_int_equal(atoll_provider_body((enum atoll_provider)p, &r, &none, &out, NULL), 0);
        atoll_buffer_put_u8(&out, 0);
        assert_null(strstr((const char *)out.data, "tools"));
        atoll_buffer_fini(&out);
        expect_no_body((enum atoll_provider)p, &with, &none, "model 'm' can call none (tools: no)");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replies),
        cmocka_unit_test(test_cut_at_every_byte),
        cmocka_unit_test(test_written_by_hand),
        cmocka_unit_test(test_arguments_beyond_their_limit),
        cmocka_unit_test(test_chat_body),
        cmocka_unit_test(test_responses_body),
        cmocka_unit_test(test_anthropic_body),
        cmocka_unit_test(test_model_without_tools),
        cmocka_unit_test(test_bytes_that_cannot_be),
    };
    return cmocka_run_group_tests_name("llm-gateway.tool-calls", tests, NULL, NULL);
}
