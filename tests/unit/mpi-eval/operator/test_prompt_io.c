/* From asks to requests and from outcomes to replies, on an engine whose evaluators are played (tests/support). */
#include "tests/support/operator.h"

#include <math.h>

#include "mpi-eval/operator/prompt_io.h"
#include "tests/support/texts.h"

static const struct sim_seed seeds[] = {
    {"naive", NULL, NULL},
    {"tiled", "\"A\": [1, 2, 3, 4, 5, 6], \"B\": [1, 2, 3, 4]", NULL},
};

struct stand {
    struct sim *sim;
    struct atoll_prompt_context *context;
    struct atoll_prompt_io io;
    struct atoll_roles roles;
    struct atoll_arena *arena, *other;
    size_t fed; /* events that the prompt context has seen */
};

static void feed(struct stand *s)
{
    struct atoll_arena *arena = atoll_arena_create(1u << 26, NULL);
    for (; s->fed < s->sim->event_count; s->fed++) {
        struct atoll_event event;
        const struct sim_bytes *bytes = &s->sim->events[s->fed];
        assert_int_equal(atoll_event_decode(bytes->bytes, bytes->length, arena, &event, NULL), 0);
        assert_int_equal(atoll_prompt_context_add_event(s->context, &event, NULL), 0);
        atoll_event_fini(&event);
        atoll_arena_reset(arena);
    }
    atoll_arena_destroy(arena);
    s->io.engine = s->sim->engine;
}

static int set_up(void **state)
{
    static struct stand stand;
    struct atoll_buffer task;
    struct atoll_search search;
    struct atoll_device_info device = {.key = 0, .model = "processor", .backend = "cpu", .threads = 4};
    atoll_buffer_init(&task, 1u << 24);
    sim_task("copy", seeds, 2, 1, &task);
    atoll_search_defaults(&search);
    search.evaluation_budget = 400;
    search.ask_share = 1;
    stand =
        (struct stand){.sim = malloc(sizeof(*stand.sim)), .context = atoll_prompt_context_create(0, NULL)};
    assert_non_null(stand.sim);
    sim_start(stand.sim, 7, &search);
    sim_add_task(stand.sim, 0, &task);
    sim_capacity(stand.sim, 4);
    atoll_prompt_context_add_device(stand.context, &device, NULL);
    stand.io = (struct atoll_prompt_io){.context = stand.context,
                                        .texts = source_texts(),
                                        .campaign = "0123456789abcdef0123456789abcdef0123456789abcdef",
                                        .roles = &stand.roles,
                                        .backend = "cpu",
                                        .deadline_s = 60};
    assert_int_equal(atoll_roles_parse("some-model", "writer:temperature=0.5", &stand.roles, NULL), 0);
    stand.arena = atoll_arena_create(ATOLL_PROMPT_IO_ARENA_BYTES, NULL);
    stand.other = atoll_arena_create(ATOLL_PROMPT_IO_ARENA_BYTES, NULL);
    for (int i = 0; i < 200 && op_count(stand.sim) == 0; i++)
        sim_answer(stand.sim);
    assert_true(op_count(stand.sim) > 0);
    feed(&stand);
    atoll_buffer_fini(&task);
    *state = &stand;
    return 0;
}

static int tear_down(void **state)
{
    struct stand *s = *state;
    sim_fini(s->sim);
    free(s->sim);
    atoll_prompt_context_destroy(s->context);
    atoll_arena_destroy(s->arena);
    atoll_arena_destroy(s->other);
    return 0;
}

static struct atoll_prompt_question last_question;

static struct atoll_llm_request request_of(struct stand *s, const struct atoll_ask *ask,
                                           struct atoll_arena *arena)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_prompt_io_request(&s->io, ask, arena, &last_question, &err) != 0)
        fail_msg("%s", err.text);
    return last_question.request;
}

static void an_ask_becomes_a_request(void **state)
{
    struct stand *s = *state;
    const struct atoll_ask ask = *op_at(s->sim, 0);
    struct atoll_llm_request request = request_of(s, &ask, s->arena);
    char key[64];
    snprintf(key, sizeof(key), "%.32s.%llu", s->io.campaign, (unsigned long long)ask.number);
    assert_string_equal(request.key, key);
    assert_string_equal(request.model, "some-model");
    assert_string_equal(request.task, "copy");
    assert_string_equal(request.purpose, "writer");
    assert_true(request.temperature == 0.5);
    assert_int_equal(request.sample, ask.number);
    assert_true(request.deadline_s == 60);
    assert_int_equal(request.message_count, 2);
    assert_int_equal(request.messages[0].role, ATOLL_LLM_SYSTEM);
    assert_true(request.messages[0].is_cacheable);
    assert_non_null(strstr(request.messages[1].text, "copy"));
    assert_non_null(strstr(request.messages[1].text, "processor"));
}

/* As many calls as the search allows, or the ask's role; none where nobody could carry them out. */
static void a_role_limits_its_calls(void **state)
{
    struct stand *s = *state;
    const struct atoll_ask write = {.kind = ATOLL_ASK_WRITE}, order = {.kind = ATOLL_ASK_ORDER};
    enum atoll_model_role role = atoll_model_role_of_ask(&write);
    const struct {
        unsigned limit;
        uint32_t own;
        unsigned expected;
    } cases[] = {{8, UINT32_MAX, 8}, {8, 0, 0}, {8, 20, 20}, {8, 3, 3}, {0, 3, 0}, {0, UINT32_MAX, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        s->io.tool_limit = cases[i].limit;
        s->roles.of[role].tools = cases[i].own;
        assert_int_equal(atoll_prompt_io_tool_limit(&s->io, &write), cases[i].expected);
        assert_int_equal(atoll_prompt_io_tool_limit(&s->io, &order), 0);
    }
}

/* An elite of CUDA is shown as it is, and asked for in Triton; any other ask about it stays in its language. */
static void a_translation_speaks_of_two_languages(void **state)
{
    static const struct sim_seed in_cuda[] = {{"k0.cu", NULL, NULL}};
    struct stand *plain = *state, stand = *plain;
    struct atoll_buffer task;
    struct atoll_search search;
    atoll_buffer_init(&task, 1u << 24);
    sim_task_with("copy", in_cuda, 1, "baselines:\n  - {name: k0, file: seeds/k0.cu}\n", &task);
    atoll_search_defaults(&search);
    search.language = ATOLL_LANGUAGE_CUDA_TRITON;
    search.triton = ATOLL_TRITON_BESIDE;
    search.ask_share = 1;
    stand.sim = malloc(sizeof(*stand.sim));
    sim_start(stand.sim, 7, &search);
    sim_add_task(stand.sim, 0, &task);
    sim_capacity(stand.sim, 1);
    stand.io.engine = stand.sim->engine;
    stand.io.backend = "cuda";
    struct atoll_ask ask = {.number = 2,
                            .kind = ATOLL_ASK_WRITE,
                            .op = ATOLL_OPERATOR_TRANSLATE,
                            .count = 1,
                            .role = ATOLL_ISLAND_ROLE_COUNT,
                            .parent = stand.sim->orders[0].candidate};
    assert_string_equal(atoll_prompt_io_language(stand.io.engine, "cuda", &ask), "triton");
    struct atoll_llm_request request = request_of(&stand, &ask, stand.other);
    assert_non_null(strstr(request.messages[0].text, "# Your part: translator"));
    assert_non_null(strstr(request.messages[1].text, "language `cuda`; you write it in `triton`"));
    assert_non_null(strstr(request.messages[1].text, "```cuda"));
    ask.op = ATOLL_OPERATOR_UNIVERSAL;
    assert_string_equal(atoll_prompt_io_language(stand.io.engine, "cuda", &ask), "cuda");
    atoll_arena_reset(stand.other);
    sim_fini(stand.sim);
    free(stand.sim);
    atoll_buffer_fini(&task);
}

static size_t bytes_of(const struct atoll_llm_request *request)
{
    size_t bytes = 0;
    for (size_t i = 1; i < request->message_count; i++) {
        const struct atoll_llm_message *m = &request->messages[i];
        bytes += m->text ? strlen(m->text) : 0;
        for (size_t k = 0; k < m->tool_call_count; k++)
            bytes += strlen(m->tool_calls[k].arguments);
    }
    return bytes;
}

/* Each request is the beginning of the next one, and none is longer than the model's context: results are cut, then no more
 * calls are wanted. */
static void turns_fit_the_context(void **state)
{
    struct stand *s = *state;
    const struct atoll_ask ask = *op_at(s->sim, 0);
    struct atoll_role_settings *role = &s->roles.of[atoll_model_role_of_ask(&ask)];
    char *result = calloc(1, ATOLL_TOOL_RESULT_LIMIT + 1), *last = NULL;
    struct atoll_llm_request request;
    uint32_t turn = 0;
    memset(result, 'r', ATOLL_TOOL_RESULT_LIMIT);
    s->io.tool_limit = ATOLL_TOOL_CALL_LIMIT;
    assert_int_equal(atoll_prompt_context_add_ask(s->context, &ask, NULL), 0);
    role->context_tokens = 20000; /* a prompt alone, and one turn that may be tried */
    request = request_of(s, &ask, s->arena);
    assert_false(request.is_tool_free);
    atoll_arena_reset(s->arena);
    role->context_tokens = 40000; /* 32,000 bytes without what is kept */
    for (request = request_of(s, &ask, s->arena); !request.is_tool_free; turn++) {
        struct atoll_event event = {.type = ATOLL_EVENT_TOOL,
                                    .tool_turn = {.ask = ask.number,
                                                  .turn = turn,
                                                  .said = "I look.",
                                                  .call_count = 2,
                                                  .calls = {{"a", "compile", "{}", result, ATOLL_TOOL_OK, 0},
                                                            {"b", "check", "{}", result, ATOLL_TOOL_OK, 0}}}};
        assert_true(turn < ATOLL_TOOL_CALL_LIMIT / 2 - 1);
        assert_int_equal(atoll_prompt_context_add_event(s->context, &event, NULL), 0);
        atoll_arena_reset(s->arena);
        request = request_of(s, &ask, s->arena);
        assert_int_equal(request.message_count, 2 + 3 * (turn + 1));
        assert_true(bytes_of(&request) <= 32000);
        if (last)
            assert_string_equal(request.messages[1 + 3 * turn].text, last);
        free(last);
        last = strdup(request.messages[4 + 3 * turn].text);
    }
    assert_true(turn > 0 && bytes_of(&request) > 32000 - 4096);
    assert_non_null(strstr(last, "bytes are left out"));
    assert_true(last_question.is_short_of_room);
    role->context_tokens = 0;
    atoll_arena_reset(s->arena);
    request = request_of(s, &ask, s->arena);
    assert_false(request.is_tool_free || last_question.is_short_of_room);
    assert_memory_equal(request.messages[request.message_count - 1].text, result, strlen(result));
    free(last);
    free(result);
}

/* Behind what the last call of a turn gave stands how many are left; of a turn before what was left then. */
static void calls_left_are_told(void **state)
{
    static const struct {
        uint32_t calls;
        enum atoll_tool_status status; /* of the last one */
        const char *told;
    } rows[] = {{2, ATOLL_TOOL_OK, "fine\n[3 more calls may be made.]"},
                {2, ATOLL_TOOL_ERROR, "fine\n[1 more call may be made.]"},
                {1, ATOLL_TOOL_OK, "fine\n[No more calls may be made: answer now.]"},
                {1, ATOLL_TOOL_REFUSED, "fine"}};
    struct stand *s = *state;
    const struct atoll_ask ask = *op_at(s->sim, 0);
    struct atoll_llm_request request;
    s->io.tool_limit = 5;
    assert_int_equal(atoll_prompt_context_add_ask(s->context, &ask, NULL), 0);
    for (uint32_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_event event = {
            .type = ATOLL_EVENT_TOOL,
            .tool_turn = {.ask = ask.number, .turn = i, .said = "I look.", .call_count = rows[i].calls}};
        for (uint32_t k = 0; k < rows[i].calls; k++)
            event.tool_turn.calls[k] =
                (struct atoll_tool_call){"a", "compile", "{}", "fine", rows[i].status, 0};
        assert_int_equal(atoll_prompt_context_add_event(s->context, &event, NULL), 0);
    }
    request = request_of(s, &ask, s->arena);
    size_t at = 2;
    for (uint32_t i = 0; i < sizeof(rows) / sizeof(*rows); i++, at++) {
        for (uint32_t k = 1; k < rows[i].calls; k++)
            assert_string_equal(request.messages[at + k].text, "fine");
        at += rows[i].calls;
        assert_string_equal(request.messages[at].text, rows[i].told);
    }
    assert_int_equal(at, request.message_count);
    assert_true(request.is_tool_free);
}

/* Thoughts go back with their turn: their text takes room, or, where the provider sealed it, their tokens do. */
static void thoughts_take_room(void **state)
{
    struct stand *s = *state;
    const struct atoll_ask ask = *op_at(s->sim, 0);
    char *thought = calloc(1, 30001);
    memset(thought, 't', 30000);
    const struct {
        const char *thought;
        uint64_t tokens;
        int is_full;
    } rows[] = {{"", 10, 0}, {thought, 10, 1}, {"", 15000, 1}, {NULL, UINT64_MAX, 1}};
    s->io.tool_limit = 4;
    s->roles.of[atoll_model_role_of_ask(&ask)].context_tokens = 40000;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_prompt_context *context = atoll_prompt_context_create(0, NULL);
        struct atoll_event event = {
            .type = ATOLL_EVENT_TOOL,
            .tool_turn = {.ask = ask.number,
                          .said = "I look.",
                          .thought = rows[i].thought,
                          .tokens_out = rows[i].tokens,
                          .call_count = 1,
                          .calls = {{"a", "compile", "{}", "fine", ATOLL_TOOL_OK, 0}}}};
        s->io.context = context;
        assert_int_equal(atoll_prompt_context_add_ask(context, &ask, NULL), 0);
        assert_int_equal(atoll_prompt_context_add_event(context, &event, NULL), 0);
        atoll_arena_reset(s->arena);
        assert_int_equal(request_of(s, &ask, s->arena).is_tool_free, rows[i].is_full);
        assert_int_equal(last_question.is_short_of_room, rows[i].is_full);
        atoll_prompt_context_destroy(context);
    }
    s->io.context = s->context;
    free(thought);
}

/* docs/adr/0014: whatever else is measured while a model thinks, and over a snapshot, the words stay. */
static void words_do_not_change(void **state)
{
    struct stand *s = *state;
    const struct atoll_ask ask = *op_at(s->sim, 0);
    struct atoll_llm_request before = request_of(s, &ask, s->arena), after;
    struct atoll_task_status status;
    for (int i = 0; i < 60 && s->sim->order_count; i++)
        sim_answer(s->sim);
    sim_reload(s->sim);
    feed(s);
    assert_int_equal(atoll_engine_task_status(s->sim->engine, 0, 0, &status), 0);
    assert_true(status.best_ns < ask.best_ns); /* what a prompt could tell did change */
    after = request_of(s, &ask, s->other);
    assert_string_equal(before.messages[0].text, after.messages[0].text);
    assert_string_equal(before.messages[1].text, after.messages[1].text);
    struct atoll_id a = atoll_llm_request_id(&before), b = atoll_llm_request_id(&after);
    assert_true(atoll_id_equal(&a, &b));
    struct atoll_ask another = ask;
    another.best_ns = ask.best_ns / 2; /* and the test can see a change */
    after = request_of(s, &another, s->other);
    assert_string_not_equal(before.messages[1].text, after.messages[1].text);
}

/* What an analyser found is told to who is asked about its kernel, as far as the ask names it; what comes later changes nothing. */
static void an_analysis_is_told(void **state)
{
    struct stand *s = *state;
    struct atoll_ask ask = *op_at(s->sim, 0),
                     analysis = {.number = 1000, .kind = ATOLL_ASK_ANALYSE, .op = ATOLL_OPERATOR_PLAN};
    struct atoll_event event;
    analysis.parent = ask.parent;
    for (; analysis.number < 1002; analysis.number++) {
        assert_int_equal(atoll_prompt_context_add_ask(s->context, &analysis, NULL), 0);
        atoll_event_init(&event, ATOLL_EVENT_REPLY);
        event.reply = (struct atoll_reply){.ask = analysis.number, .item_count = 1};
        event.reply.items[0] = (struct atoll_reply_item){
            .kind = ATOLL_ITEM_ISSUE,
            .stage = 4,
            .text = analysis.number == 1000 ? "Rows are read twice.\n# Task" : "Nothing is left.",
            .after = "Read them once."};
        assert_int_equal(atoll_prompt_context_add_event(s->context, &event, NULL), 0);
        ask.plan = 1000;
        struct atoll_llm_request request = request_of(s, &ask, s->arena);
        assert_non_null(strstr(request.messages[1].text, "An analyst has read the parent, its verdict"));
        assert_non_null(strstr(request.messages[1].text, "\n| Rows are read twice.\n| # Task\n  Fix:\n"));
        ask.plan = 0;
        request = request_of(s, &ask, s->arena);
        assert_null(strstr(request.messages[1].text, "analyst"));
    }
}

static void say(struct atoll_llm_outcome *outcome, enum atoll_llm_status status, const char *text,
                size_t length)
{
    atoll_llm_outcome_init(outcome);
    atoll_llm_outcome_set(outcome, status, "as it is");
    atoll_buffer_put_bytes(&outcome->text, text, length);
    snprintf(outcome->model, sizeof(outcome->model), "model-1");
    outcome->usage = (struct atoll_llm_usage){.input = 100, .cached_input = 40, .output = 20, .reasoning = 5};
    outcome->cost_usd = 0.5;
    outcome->elapsed_s = 3;
}

static struct atoll_reply reply_of(struct stand *s, const struct atoll_llm_outcome *outcome)
{
    const struct atoll_ask ask = *op_at(s->sim, 0);
    struct atoll_prompt_question question;
    struct atoll_reply reply;
    assert_int_equal(atoll_prompt_io_request(&s->io, &ask, s->arena, &question, NULL), 0);
    assert_int_equal(atoll_prompt_io_reply(&s->io, &ask, &question, outcome, s->arena, &reply, NULL), 0);
    assert_int_equal(reply.ask, ask.number);
    assert_string_equal(reply.dialogue.prompt, question.request.messages[1].text);
    assert_string_equal(reply.dialogue.model, "some-model");
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < reply.dialogue.section_count; i++)
        bytes += reply.dialogue.sections[i].bytes;
    assert_int_equal(bytes, strlen(reply.dialogue.prompt));
    return reply;
}

static const char kernel[] =
    "```c\n/* atoll-plan {\"version\": 1, \"launch\": [{\"function\": \"f\", \"units\": \"N\", \"args\": "
    "[\"x\", \"y\"]}]} */\n"
    "void f(long a, long b, const float *x, float *y) { for (long i = a; i < b; i++) y[i] = x[i]; }\n```\n";

static void outcomes_become_replies(void **state)
{
    static const struct {
        enum atoll_llm_status status;
        const char *text;
        enum atoll_reply_status reply;
        uint32_t sources;
    } cases[] = {
        {ATOLL_LLM_OK, kernel, ATOLL_REPLY_OK, 1},
        {ATOLL_LLM_TRUNCATED, kernel, ATOLL_REPLY_OK, 1},
        {ATOLL_LLM_OK, "I do not know.", ATOLL_REPLY_OK, 1}, /* the complaint, as bad_plan */
        {ATOLL_LLM_EMPTY, "", ATOLL_REPLY_EMPTY, 0},
        {ATOLL_LLM_REFUSED, kernel, ATOLL_REPLY_REFUSED, 0},
        {ATOLL_LLM_BUDGET, "", ATOLL_REPLY_TASK_SPENT, 0},
        {ATOLL_LLM_TIMEOUT, "", ATOLL_REPLY_FAILED, 0},
        {ATOLL_LLM_MISS, kernel, ATOLL_REPLY_FAILED, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_llm_outcome outcome;
        say(&outcome, cases[i].status, cases[i].text, strlen(cases[i].text));
        struct atoll_reply reply = reply_of(*state, &outcome);
        assert_int_equal(reply.status, cases[i].reply);
        assert_int_equal(reply.source_count, cases[i].sources);
        assert_string_equal(reply.origin, "model-1");
        assert_true(reply.tokens == 120 && reply.cost_usd == 0.5);
        assert_string_equal(reply.dialogue.answer, cases[i].text);
        assert_true(reply.dialogue.cached_tokens == 40 && reply.dialogue.reasoning_tokens == 5);
        atoll_llm_outcome_fini(&outcome);
    }
}

/* A replay reads what the journal holds: of what a run read there must be no more in it. */
static void what_is_read_is_what_is_kept(void **state)
{
    const size_t length = (size_t)2 << 20;
    struct atoll_llm_outcome outcome, again;
    char *text = malloc(length);
    memset(text, ' ', length);
    memcpy(text, "\0\xc3\xa4", 3);
    for (size_t i = 3; i + 1 < length; i += 2)
        memcpy(text + i, "\xc3\xa4", 2);
    memcpy(text + length - sizeof(kernel), kernel, sizeof(kernel) - 1);
    say(&outcome, ATOLL_LLM_OK, text, length);
    struct atoll_reply first = reply_of(*state, &outcome);
    assert_true(strlen(first.dialogue.answer) < length);
    char *kept = strdup(first.dialogue.answer), *source = strdup(first.sources[0].text);
    assert_int_equal(kept[strlen(kept) - 1] & 0xff, 0xa4); /* a whole character */
    say(&again, ATOLL_LLM_OK, kept, strlen(kept));
    struct atoll_reply second = reply_of(*state, &again);
    assert_int_equal(second.source_count, first.source_count);
    assert_string_equal(second.sources[0].text, source);
    atoll_llm_outcome_fini(&outcome);
    atoll_llm_outcome_fini(&again);
    free(source);
    free(kept);
    free(text);
}

/* A journal cannot hold them, and a cost that is none counts as nothing. */
static void nuls_and_odd_costs_do_no_harm(void **state)
{
    struct atoll_llm_outcome outcome;
    say(&outcome, ATOLL_LLM_OK, "a\0b", 3);
    outcome.cost_usd = NAN;
    outcome.elapsed_s = -1;
    struct atoll_reply reply = reply_of(*state, &outcome);
    assert_string_equal(reply.dialogue.answer, "a b");
    assert_true(reply.cost_usd == 0 && reply.dialogue.elapsed_s == 0);
    atoll_llm_outcome_fini(&outcome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_ask_becomes_a_request, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_role_limits_its_calls, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_translation_speaks_of_two_languages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(turns_fit_the_context, set_up, tear_down),
        cmocka_unit_test_setup_teardown(calls_left_are_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(thoughts_take_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_analysis_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(words_do_not_change, set_up, tear_down),
        cmocka_unit_test_setup_teardown(outcomes_become_replies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nuls_and_odd_costs_do_no_harm, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_read_is_what_is_kept, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
