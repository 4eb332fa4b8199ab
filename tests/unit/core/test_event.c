#include "tests/support/expect.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "core/event.h"

static void fill_evaluation(struct atoll_evaluation *e)
{
    e->evaluation = 77;
    e->candidate.bytes[3] = 9;
    e->verdict = ATOLL_V_WRONG;
    e->level = 5;
    strcpy(e->detail, "tile 3 is wrong");
    e->occupied_ns = 1e6;
}

#define HEAD_BYTES         17
#define OLD_SETTINGS_BYTES 121 /* of engines 1 and 2, language c */

static void fill(struct atoll_event *e)
{
    switch (e->type) {
    case ATOLL_EVENT_START: atoll_search_defaults(&e->search); break;
    case ATOLL_EVENT_TASK:
        e->task = 3;
        e->task_bytes = "any bytes";
        e->task_length = 9;
        break;
    case ATOLL_EVENT_CAPACITY: e->slots = 12; break;
    case ATOLL_EVENT_REPLY:
        e->reply = (struct atoll_reply){.ask = 9,
                                        .status = ATOLL_REPLY_OK,
                                        .origin = "script",
                                        .tokens = 1000,
                                        .cost_usd = 0.25,
                                        .source_count = 1,
                                        .sources = {{"c", "int x;"}},
                                        .plan_count = 3,
                                        .issues = 5,
                                        .order_count = 2,
                                        .order = {3, 1}};
        break;
    case ATOLL_EVENT_HINT:
        e->task = 1;
        e->hint = (struct atoll_hint){.choice = {.count = 2, .values = {3, -4}}, .time_ns = 1.5e6};
        break;
    case ATOLL_EVENT_EXTEND:
        e->extension = (struct atoll_extension){
            .evaluations = 7, .device_ns = 1e9, .wall_ns = 2e9, .tokens = 5000, .money_usd = 0.5};
        break;
    case ATOLL_EVENT_EVALUATED: fill_evaluation(&e->evaluation); break;
    case ATOLL_EVENT_DUELLED:
        e->duel.evaluation = 78;
        e->duel.purpose = ATOLL_DUEL_FINAL;
        e->duel.better = 1;
        e->duel.ratio = 1.5;
        e->duel.p_value = 0.001;
        break;
    case ATOLL_EVENT_RIVAL:
        e->rival.evaluation = 79;
        e->rival.number = 2;
        e->rival.verdict = ATOLL_V_COMPILE_ERROR;
        strcpy(e->rival.detail, "it raises");
        strcpy(e->rival.versions, "torch 1.13");
        break;
    case ATOLL_EVENT_DEVICE_TIME:
        e->device_times.device = 77;
        e->device_times.count = 2;
        e->device_times.times = calloc(2, sizeof(*e->device_times.times));
        e->device_times.times[0].time.ns[ATOLL_TIME_ANSWERS] = 1e9;
        e->device_times.times[1].task = ATOLL_TIME_OF_NO_TASK;
        e->device_times.times[1].time.ns[ATOLL_TIME_IDLE] = 2e9;
        break;
    case ATOLL_EVENT_BRIEFING:
        e->briefing = (struct atoll_briefing){
            .ask = 9,
            .count = 2,
            .briefs = {{.kind = ATOLL_BRIEF_MEMORY,
                        .title = "tiles",
                        .text = "it was faster",
                        .score = 0.5,
                        .cut_bytes = 13},
                       {.kind = ATOLL_BRIEF_HINT, .id = {.bytes = {7}}, .score = -1}}};
        break;
    case ATOLL_EVENT_TOOL:
        e->tool_turn = (struct atoll_tool_turn){
            .ask = 9,
            .turn = 2,
            .request = {.bytes = {1}},
            .said = "let me see",
            .thought = "hm",
            .tokens_in = 100,
            .tokens_out = 20,
            .cost_usd = 0.5,
            .call_count = 2,
            .calls = {{"a", "compile", "{\"source\": \"x\"}", "line 1: no", ATOLL_TOOL_ERROR, 1.5},
                      {.name = "check", .status = ATOLL_TOOL_REFUSED}}};
        break;
    case ATOLL_EVENT_SOURCE:
        e->task = 1;
        e->island = 2;
        e->language = "c";
        e->origin = "import";
        e->source = "int x;";
        break;
    default: break;
    }
}

static void every_type_travels(void **state)
{
    struct atoll_arena *arena = atoll_arena_create(1u << 20, NULL);
    for (int type = ATOLL_EVENT_START; type < ATOLL_EVENT_TYPE_COUNT; type++) {
        struct atoll_event e, back;
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_buffer a, b;
        atoll_buffer_init(&a, 1u << 20);
        atoll_buffer_init(&b, 1u << 20);
        atoll_event_init(&e, (enum atoll_event_type)type);
        e.campaign_ns = 123456789;
        e.unix_ns = 987654321;
        fill(&e);
        atoll_event_encode(&e, &a);
        if (atoll_event_decode(a.data, a.length, arena, &back, &err))
            fail_msg("type %d: %s", type, err.text);
        assert_int_equal(back.type, type);
        assert_true(back.campaign_ns == 123456789 && back.unix_ns == 987654321);
        atoll_event_encode(&back, &b);
        assert_int_equal(a.length, b.length);
        assert_memory_equal(a.data, b.data, a.length);
        atoll_event_fini(&back);
        /* Before frame version 2 an evaluation ended without the byte that says it has no profile. */
        size_t newer = type == ATOLL_EVENT_EVALUATED;
        for (size_t length = 0; length < a.length - newer; length++) {
            /* older engines' settings end here */
            int ends = type == ATOLL_EVENT_START && length == HEAD_BYTES + OLD_SETTINGS_BYTES;
            /* what prompts had no room for was not told once */
            ends |= type == ATOLL_EVENT_BRIEFING && length == a.length - 2 * sizeof(uint32_t);
            assert_int_equal(atoll_event_decode(a.data, length, arena, &back, NULL), ends ? 0 : -1);
        }
        atoll_buffer_put_u8(&a, 0); /* something follows */
        assert_int_equal(atoll_event_decode(a.data, a.length, arena, &back, NULL), -1);
        atoll_buffer_fini(&a);
        atoll_buffer_fini(&b);
        atoll_event_fini(&e);
    }
    atoll_arena_destroy(arena);
}

/* Models follow where there are any; a capacity without them is as older engines wrote it. */
static void capacities_have_models(void **state)
{
    struct atoll_event e, back;
    struct atoll_buffer b;
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_buffer_init(&b, 4096);
    atoll_event_init(&e, ATOLL_EVENT_CAPACITY);
    e.slots = 5;
    e.model_count = 2;
    e.models[0] = (struct atoll_capacity){"H200", 4, 0, {0}};
    e.models[1] = (struct atoll_capacity){"A100", 1, 0, {0}};
    atoll_event_encode(&e, &b);
    assert_int_equal(atoll_event_decode(b.data, b.length, NULL, &back, &err), 0);
    assert_true(back.slots == 5 && back.model_count == 2 && back.models[1].slots == 1);
    assert_string_equal(back.models[0].model, "H200");
    for (size_t length = 0; length < b.length; length++)
        assert_int_equal(atoll_event_decode(b.data, length, NULL, &back, NULL),
                         length == HEAD_BYTES + 4 ? 0 : -1);
    atoll_buffer_fini(&b);
}

/* Who measures rivals is told behind the models, and only where somebody does. */
static void capacities_have_torch(void **state)
{
    struct atoll_event e, back;
    struct atoll_buffer b;
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_buffer_init(&b, 4096);
    atoll_event_init(&e, ATOLL_EVENT_CAPACITY);
    e.slots = 5;
    e.model_count = 2;
    e.models[0] = (struct atoll_capacity){"H200", 4, 0, {0}};
    e.models[1] = (struct atoll_capacity){"A100", 1, 0, {0}};
    atoll_event_encode(&e, &b);
    size_t without = b.length;
    atoll_buffer_clear(&b);
    e.models[0].torch_slots = 3;
    atoll_event_encode(&e, &b);
    assert_int_equal(b.length, without + 8);
    assert_int_equal(atoll_event_decode(b.data, b.length, NULL, &back, &err), 0);
    assert_true(back.models[0].torch_slots == 3 && back.models[1].torch_slots == 0);
    for (size_t length = without + 1; length < b.length; length++)
        assert_int_equal(atoll_event_decode(b.data, length, NULL, &back, NULL), -1);
    static const uint32_t refused[][2] = {{5, 0}, {0, 2}, {0, 0}}; /* more than there are; told of nobody */
    for (size_t i = 0; i < 3; i++) {
        for (size_t m = 0; m < 2; m++)
            memcpy(b.data + without + 4 * m, &refused[i][m], 4);
        assert_int_equal(atoll_event_decode(b.data, b.length, NULL, &back, NULL), -1);
    }
    atoll_buffer_fini(&b);
}

/* What devices are like follows those, and only where it is known. */
static void capacities_have_shapes(void **state)
{
    struct atoll_event e, back;
    struct atoll_buffer b;
    atoll_buffer_init(&b, 4096);
    atoll_event_init(&e, ATOLL_EVENT_CAPACITY);
    e.slots = 2;
    e.model_count = 2;
    e.models[0] = (struct atoll_capacity){"H200", 1, 0, {0}};
    e.models[1] = (struct atoll_capacity){"A100", 1, 0, {0}};
    atoll_event_encode(&e, &b);
    size_t without = b.length;
    atoll_buffer_clear(&b);
    e.models[1].shape = (struct atoll_device_shape){80, 108, 32, 1024, 2048, 32, 65536, 166912, 167936, 0};
    atoll_event_encode(&e, &b);
    assert_int_equal(b.length, without + 2 * 4 + 2 * 40);
    assert_int_equal(atoll_event_decode(b.data, b.length, NULL, &back, NULL), 0);
    assert_memory_equal(&back.models[1].shape, &e.models[1].shape, sizeof(e.models[1].shape));
    assert_false(atoll_device_shape_is_known(&back.models[0].shape));
    for (size_t length = without + 1; length < b.length; length++)
        assert_int_equal(atoll_event_decode(b.data, length, NULL, &back, NULL), -1);
    atoll_buffer_fini(&b);
}

static void bodies_arrive(void **state)
{
    struct atoll_arena *arena = atoll_arena_create(1u << 20, NULL);
    struct atoll_event e, back;
    struct atoll_buffer b;
    atoll_buffer_init(&b, 1u << 20);
    atoll_event_init(&e, ATOLL_EVENT_SOURCE);
    fill(&e);
    atoll_event_encode(&e, &b);
    assert_int_equal(atoll_event_decode(b.data, b.length, arena, &back, NULL), 0);
    assert_string_equal(back.source, "int x;");
    assert_string_equal(back.language, "c");
    assert_string_equal(back.origin, "import");
    assert_int_equal(back.task, 1);
    assert_int_equal(back.island, 2);
    atoll_buffer_clear(&b);
    atoll_event_init(&e, ATOLL_EVENT_TASK);
    fill(&e);
    atoll_event_encode(&e, &b);
    assert_int_equal(atoll_event_decode(b.data, b.length, arena, &back, NULL), 0);
    assert_int_equal(back.task_length, 9);
    assert_memory_equal(back.task_bytes, "any bytes", 9);
    atoll_buffer_fini(&b);
    atoll_arena_destroy(arena);
}

/* What a briefing or a turn of tools may not say is refused as a whole; what is too long is cut when it is written. */
static void briefings_and_turns_are_bounded(void **state)
{
    struct atoll_arena *arena = atoll_arena_create(1u << 22, NULL);
    struct atoll_event *e = calloc(1, sizeof(*e)), *back = malloc(sizeof(*back));
    char *longest = calloc(1, ATOLL_TOOL_RESULT_LIMIT + 9);
    struct atoll_buffer b;
    memset(longest, 'x', ATOLL_TOOL_RESULT_LIMIT + 8);
    atoll_buffer_init(&b, 1u << 20);
    for (int row = 0; row < 9; row++) {
        atoll_event_init(e, row < 4 ? ATOLL_EVENT_BRIEFING : ATOLL_EVENT_TOOL);
        fill(e);
        switch (row) {
        case 0: e->briefing.briefs[0].kind = ATOLL_BRIEF_KIND_COUNT; break;
        case 1: e->briefing.briefs[1].score = NAN; break;
        case 2: e->briefing.briefs[1].score = INFINITY; break;
        case 4: e->tool_turn.calls[0].status = ATOLL_TOOL_STATUS_COUNT; break;
        case 5: e->tool_turn.calls[1].elapsed_s = -1; break;
        case 6: e->tool_turn.cost_usd = NAN; break;
        case 7: e->tool_turn.cost_usd = -1; break;
        default: break;
        }
        atoll_buffer_clear(&b);
        atoll_event_encode(e, &b);
        if (row == 3) /* more of them than there may be */
            memcpy(b.data + HEAD_BYTES + 8, &(uint32_t){ATOLL_BRIEF_LIMIT + 1}, 4);
        if (row == 8)
            memcpy(b.data + HEAD_BYTES + 8 + 4 + 32 + 14 + 6 + 24, &(uint32_t){ATOLL_TOOL_CALL_LIMIT + 1}, 4);
        if (!atoll_event_decode(b.data, b.length, arena, back, NULL))
            fail_msg("row %d", row);
    }
    atoll_event_init(e, ATOLL_EVENT_BRIEFING);
    fill(e);
    e->briefing.briefs[0].text = e->briefing.briefs[1].title = longest;
    atoll_buffer_clear(&b);
    atoll_event_encode(e, &b);
    assert_int_equal(atoll_event_decode(b.data, b.length, arena, back, NULL), 0);
    assert_int_equal(strlen(back->briefing.briefs[0].text), ATOLL_BRIEF_TEXT_LIMIT);
    assert_int_equal(strlen(back->briefing.briefs[1].title), ATOLL_BRIEF_TITLE_LIMIT);
    atoll_event_init(e, ATOLL_EVENT_TOOL);
    fill(e);
    e->tool_turn.calls[1].result = e->tool_turn.calls[1].id = longest;
    atoll_buffer_clear(&b);
    atoll_event_encode(e, &b);
    assert_int_equal(atoll_event_decode(b.data, b.length, arena, back, NULL), 0);
    assert_int_equal(strlen(back->tool_turn.calls[1].result), ATOLL_TOOL_RESULT_LIMIT);
    assert_int_equal(strlen(back->tool_turn.calls[1].id), ATOLL_TOOL_NAME_LIMIT);
    assert_string_equal(back->tool_turn.calls[0].arguments, "{\"source\": \"x\"}");
    const struct atoll_brief told[] = {
        {.text = "four", .cut_bytes = 3}, {.text = "four", .cut_bytes = 4}, {.text = ""}, {.id = {{1}}}};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(atoll_brief_is_told(&told[i]), i == 0);
    for (int i = 0; i < ATOLL_BRIEF_KIND_COUNT; i++)
        assert_string_not_equal(atoll_brief_kind_name((enum atoll_brief_kind)i), "unknown");
    for (int i = 0; i < ATOLL_TOOL_STATUS_COUNT; i++)
        assert_string_not_equal(atoll_tool_status_name((enum atoll_tool_status)i), "unknown");
    assert_string_equal(atoll_brief_kind_name(ATOLL_BRIEF_KIND_COUNT), "unknown");
    assert_string_equal(atoll_tool_status_name(ATOLL_TOOL_STATUS_COUNT), "unknown");
    atoll_buffer_fini(&b);
    free(longest);
    free(back);
    free(e);
    atoll_arena_destroy(arena);
}

static void bad_heads_are_refused(void **state)
{
    struct atoll_arena *arena = atoll_arena_create(1u << 20, NULL);
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_event e;
    unsigned char bytes[17] = {0};
    assert_int_equal(atoll_event_decode(bytes, sizeof(bytes), arena, &e, &err), -1);
    expect_err(&err, ATOLL_E_PROTOCOL, "unknown type 0");
    bytes[0] = 200;
    assert_int_equal(atoll_event_decode(bytes, sizeof(bytes), arena, &e, &err), -1);
    expect_err(&err, ATOLL_E_PROTOCOL, "unknown type 200");
    bytes[0] = ATOLL_EVENT_TICK;
    bytes[8] = 0x80;
    assert_int_equal(atoll_event_decode(bytes, sizeof(bytes), arena, &e, &err), -1);
    expect_err(&err, ATOLL_E_PROTOCOL, "negative campaign time");
    assert_int_equal(atoll_event_decode(bytes, 5, arena, &e, &err), -1);
    expect_err(&err, ATOLL_E_PROTOCOL, "event");
    atoll_arena_destroy(arena);
}

static void fini_takes_anything(void **state)
{
    struct atoll_event e;
    atoll_event_fini(NULL);
    atoll_event_init(&e, ATOLL_EVENT_EVALUATED);
    atoll_event_fini(&e);
    atoll_event_fini(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_travels),    cmocka_unit_test(capacities_have_models),
        cmocka_unit_test(capacities_have_torch), cmocka_unit_test(capacities_have_shapes),
        cmocka_unit_test(bodies_arrive),         cmocka_unit_test(briefings_and_turns_are_bounded),
        cmocka_unit_test(bad_heads_are_refused), cmocka_unit_test(fini_takes_anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
