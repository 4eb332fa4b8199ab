/* Asks and replies as bytes: what newer engines add, and what older ones left out. */
#include "tests/support/expect.h"

#include <math.h>

#include <stdlib.h>

#include "core/ask.h"
#include "core/issue.h"

#define OLD_KIND_OFFSET 8
#define TIMES_BYTES     24
#define PROMPT_BYTES    4

static struct atoll_ask full_ask(void)
{
    return (struct atoll_ask){.number = 5,
                              .kind = ATOLL_ASK_ORDER,
                              .op = ATOLL_OPERATOR_UNIVERSAL,
                              .task = 4,
                              .count = 2,
                              .inspiration_count = 1,
                              .failure_count = 1,
                              .advice_count = 1,
                              .advice = {{.dimension = 2, .level = 1, .sign = -1, .weight = 0.5}},
                              .baseline_ns = 3e6,
                              .best_ns = 1.5e6,
                              .floor_ns = 1e6,
                              .prompt = 7};
}

static int decode(const struct atoll_buffer *b, size_t length, struct atoll_ask *ret_ask)
{
    struct atoll_reader r;
    atoll_reader_init(&r, b->data, length);
    atoll_ask_decode(&r, ret_ask);
    return atoll_reader_finish(&r, "ask", NULL);
}

static void asks_travel(void **state)
{
    struct atoll_ask ask = full_ask(), back;
    struct atoll_buffer b;
    atoll_buffer_init(&b, 4096);
    atoll_ask_encode(&ask, &b);
    assert_int_equal(decode(&b, b.length, &back), 0);
    assert_memory_equal(&ask, &back, sizeof(ask));
    for (size_t length = 0; length < b.length; length++)
        assert_int_equal(decode(&b, length, &back), -1);
    atoll_buffer_fini(&b);
}

/* Before engine 5 an ask had no times, and its kind stood alone. */
static void old_asks_have_no_times(void **state)
{
    struct atoll_ask ask = full_ask(), back;
    struct atoll_buffer b;
    atoll_buffer_init(&b, 4096);
    atoll_ask_encode(&ask, &b);
    b.data[OLD_KIND_OFFSET] = ATOLL_ASK_ORDER;
    assert_int_equal(decode(&b, b.length, &back), -1);
    assert_int_equal(decode(&b, b.length - TIMES_BYTES - PROMPT_BYTES, &back), 0);
    assert_int_equal(back.kind, ATOLL_ASK_ORDER);
    assert_true(back.best_ns == 0 && back.baseline_ns == 0 && back.floor_ns == 0);
    atoll_buffer_fini(&b);
}

/* Before engine 9 an ask named no prompt; one that is worded as the text came still does not. */
static void old_asks_name_no_prompt(void **state)
{
    struct atoll_ask ask = full_ask(), back;
    struct atoll_buffer b, plain;
    atoll_buffer_init(&b, 4096);
    atoll_buffer_init(&plain, 4096);
    atoll_ask_encode(&ask, &b);
    ask.prompt = 0;
    atoll_ask_encode(&ask, &plain);
    assert_int_equal(plain.length, b.length - PROMPT_BYTES);
    assert_int_equal(plain.data[OLD_KIND_OFFSET], 0x80 + ATOLL_ASK_ORDER);
    assert_int_equal(decode(&plain, plain.length, &back), 0);
    assert_memory_equal(&ask, &back, sizeof(ask));
    memset(b.data + plain.length, 0, PROMPT_BYTES); /* would be another form of the same */
    assert_int_equal(decode(&b, b.length, &back), -1);
    atoll_buffer_fini(&b);
    atoll_buffer_fini(&plain);
}

static void hostile_asks_are_refused(void **state)
{
    static const unsigned char kinds[] = {ATOLL_ASK_KIND_COUNT, 0x7f, 0x80 + ATOLL_ASK_KIND_COUNT, 0xff};
    static const double times[] = {-1, 1e19, NAN, INFINITY};
    struct atoll_ask ask = full_ask(), back;
    struct atoll_buffer b;
    atoll_buffer_init(&b, 4096);
    atoll_ask_encode(&ask, &b);
    for (size_t i = 0; i < sizeof(kinds); i++) {
        b.data[OLD_KIND_OFFSET] = kinds[i];
        assert_int_equal(decode(&b, b.length, &back), -1);
        assert_int_equal(decode(&b, b.length - TIMES_BYTES - PROMPT_BYTES, &back), -1);
    }
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
        ask = full_ask();
        ask.best_ns = times[i];
        atoll_buffer_clear(&b);
        atoll_ask_encode(&ask, &b);
        assert_int_equal(decode(&b, b.length, &back), -1);
    }
    atoll_buffer_fini(&b);
}

static struct atoll_reply full_reply(void)
{
    struct atoll_reply reply = {.ask = 9,
                                .status = ATOLL_REPLY_OK,
                                .origin = "some-model",
                                .tokens = 30,
                                .cost_usd = 0.25,
                                .source_count = 1,
                                .sources = {{"c", "int x;"}},
                                .dialogue = {.system = "be exact",
                                             .prompt = "write\nit",
                                             .answer = "```c\nint x;\n```",
                                             .thought = "hm",
                                             .detail = "cut",
                                             .input_tokens = 20,
                                             .cached_tokens = 8,
                                             .output_tokens = 10,
                                             .reasoning_tokens = 4,
                                             .elapsed_s = 1.5,
                                             .is_from_store = 1,
                                             .model = "strong",
                                             .section_count = 2,
                                             .sections = {{"task", 100, 0}, {"parent", 4000, 70}}}};
    reply.dialogue.request.bytes[3] = 7;
    return reply;
}

static int decode_reply(const struct atoll_buffer *b, size_t length, struct atoll_arena *arena,
                        struct atoll_reply *ret_reply)
{
    struct atoll_reader r;
    atoll_reader_init(&r, b->data, length);
    atoll_reply_decode(&r, arena, ret_reply);
    return atoll_reader_finish(&r, "reply", NULL);
}

static void dialogues_travel(void **state)
{
    struct atoll_arena *arena = atoll_arena_create(1u << 20, NULL);
    struct atoll_reply reply = full_reply(), silent = full_reply(), older = full_reply(), back;
    struct atoll_buffer b, plain, old;
    memset(&silent.dialogue, 0, sizeof(silent.dialogue));
    atoll_buffer_init(&b, 4096);
    atoll_buffer_init(&plain, 4096);
    atoll_buffer_init(&old, 4096);
    older.dialogue.model = NULL;
    older.dialogue.section_count = 0;
    atoll_reply_encode(&older, &old);
    atoll_reply_encode(&reply, &b);
    atoll_reply_encode(&silent, &plain);
    assert_int_equal(decode_reply(&b, b.length, arena, &back), 0);
    assert_string_equal(back.dialogue.system, "be exact");
    assert_string_equal(back.dialogue.prompt, "write\nit");
    assert_string_equal(back.dialogue.answer, "```c\nint x;\n```");
    assert_string_equal(back.dialogue.thought, "hm");
    assert_string_equal(back.dialogue.detail, "cut");
    assert_true(back.dialogue.input_tokens == 20 && back.dialogue.cached_tokens == 8 &&
                back.dialogue.output_tokens == 10 && back.dialogue.reasoning_tokens == 4 &&
                back.dialogue.elapsed_s == 1.5 && back.dialogue.is_from_store == 1);
    assert_true(atoll_id_equal(&back.dialogue.request, &reply.dialogue.request));
    assert_string_equal(back.dialogue.model, "strong");
    assert_int_equal(back.dialogue.section_count, 2);
    assert_string_equal(back.dialogue.sections[1].name, "parent");
    assert_true(back.dialogue.sections[1].bytes == 4000 && back.dialogue.sections[1].cut_bytes == 70);
    /* as older engines wrote it */
    assert_memory_equal(b.data, plain.data, plain.length);
    assert_memory_equal(b.data, old.data, old.length);
    assert_int_equal(decode_reply(&old, old.length, arena, &back), 0);
    assert_string_equal(back.dialogue.model, "");
    for (size_t length = 0; length < b.length; length++)
        assert_int_equal(decode_reply(&b, length, arena, &back),
                         length == plain.length || length == old.length ? 0 : -1);
    assert_int_equal(decode_reply(&plain, plain.length, arena, &back), 0);
    assert_string_equal(back.dialogue.prompt, "");
    assert_true(atoll_id_is_zero(&back.dialogue.request));
    atoll_buffer_fini(&plain);
    atoll_buffer_fini(&old);
    atoll_buffer_fini(&b);
    atoll_arena_destroy(arena);
}

#define STATUS_OFFSET 8

static void fill_items(struct atoll_reply *reply)
{
    reply->item_count = 3;
    reply->items[0] = (struct atoll_reply_item){.kind = ATOLL_ITEM_PLAN,
                                                .gain_low = 1.1,
                                                .gain_high = 1.4,
                                                .title = "tile it",
                                                .text = "step",
                                                .why = "reuse"};
    reply->items[1] = (struct atoll_reply_item){.kind = ATOLL_ITEM_ISSUE,
                                                .issue = ATOLL_ISSUE_BANK_CONFLICTS,
                                                .stage = ATOLL_ISSUE_STAGE_MEMORY,
                                                .severity = 5,
                                                .after = "pad it"};
    reply->items[2] = (struct atoll_reply_item){.kind = ATOLL_ITEM_ISSUE,
                                                .issue = ATOLL_ISSUE_COUNT,
                                                .stage = ATOLL_ISSUE_STAGE_DISCOVERY,
                                                .title = "a type of its own",
                                                .before = "a"};
}

/* Items stand before what was said; a reply without them is as older engines wrote it. */
static void items_travel(void **state)
{
    struct atoll_arena *arena = atoll_arena_create(1u << 22, NULL);
    struct atoll_reply *reply = malloc(sizeof(*reply)), *back = malloc(sizeof(*back));
    struct atoll_buffer b;
    *reply = full_reply();
    fill_items(reply);
    reply->dialogue.model = NULL;
    reply->dialogue.section_count = 0;
    atoll_reply_count_items(reply);
    assert_int_equal(reply->plan_count, 1);
    assert_true(reply->issues == UINT64_C(1) << ATOLL_ISSUE_BANK_CONFLICTS);
    atoll_buffer_init(&b, 1u << 20);
    atoll_reply_encode(reply, &b);
    assert_int_equal(decode_reply(&b, b.length, arena, back), 0);
    assert_int_equal(back->item_count, 3);
    assert_true(back->status == ATOLL_REPLY_OK && back->plan_count == 1);
    assert_true(back->items[0].gain_low == 1.1 && back->items[0].gain_high == 1.4);
    assert_string_equal(back->items[0].title, "tile it");
    assert_string_equal(back->items[0].text, "step");
    assert_string_equal(back->items[0].why, "reuse");
    assert_string_equal(back->items[0].before, "");
    assert_true(back->items[1].severity == 5 && back->items[1].stage == ATOLL_ISSUE_STAGE_MEMORY);
    assert_string_equal(back->items[1].after, "pad it");
    assert_true(back->items[2].issue == ATOLL_ISSUE_COUNT && back->items[2].kind == ATOLL_ITEM_ISSUE);
    assert_string_equal(back->items[2].before, "a");
    assert_string_equal(back->dialogue.prompt, "write\nit");
    assert_ptr_equal(atoll_items_plan(back->items, back->item_count, 0), &back->items[0]);
    assert_null(atoll_items_plan(back->items, back->item_count, 1));
    struct atoll_reply *cut = malloc(sizeof(*cut));
    *cut = *reply;
    memset(&cut->dialogue, 0, sizeof(cut->dialogue));
    struct atoll_buffer plain;
    atoll_buffer_init(&plain, 1u << 20);
    atoll_reply_encode(cut, &plain);
    for (size_t length = 0; length < b.length; length++)
        assert_int_equal(decode_reply(&b, length, arena, back), length == plain.length ? 0 : -1);
    cut->item_count = 0;
    atoll_reply_count_items(cut); /* of nothing it says nothing */
    assert_int_equal(cut->plan_count, 1);
    atoll_buffer_clear(&plain);
    atoll_reply_encode(cut, &plain);
    assert_int_equal(plain.data[STATUS_OFFSET], ATOLL_REPLY_OK);
    atoll_buffer_fini(&plain);
    atoll_buffer_fini(&b);
    free(cut);
    free(back);
    free(reply);
    atoll_arena_destroy(arena);
}

static void hostile_items_are_refused(void **state)
{
    static const struct {
        const char *what;
        struct atoll_reply_item item;
    } rows[] = {
        {"kind", {.kind = ATOLL_ITEM_KIND_COUNT}},
        {"issue", {.issue = ATOLL_ISSUE_COUNT + 1}},
        {"stage", {.stage = ATOLL_ISSUE_STAGE_COUNT}},
        {"severity", {.severity = ATOLL_ITEM_SEVERITY_LIMIT + 1}},
        {"negative gain", {.gain_low = -1}},
        {"no gain", {.gain_high = NAN}},
        {"endless gain", {.gain_high = INFINITY}},
    };
    struct atoll_arena *arena = atoll_arena_create(1u << 22, NULL);
    struct atoll_reply *reply = calloc(1, sizeof(*reply)), *back = malloc(sizeof(*back));
    char *longest = malloc(ATOLL_ITEM_TEXT_LIMIT + 2);
    struct atoll_buffer b;
    atoll_buffer_init(&b, 1u << 20);
    reply->item_count = 1;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        reply->items[0] = rows[i].item;
        atoll_buffer_clear(&b);
        atoll_reply_encode(reply, &b);
        if (decode_reply(&b, b.length, arena, back) == 0)
            fail_msg("%s", rows[i].what);
    }
    static const unsigned char statuses[] = {ATOLL_REPLY_STATUS_COUNT, 0x80 | ATOLL_REPLY_STATUS_COUNT, 0xff};
    for (size_t i = 0; i < sizeof(statuses); i++) {
        b.data[STATUS_OFFSET] = statuses[i];
        assert_int_equal(decode_reply(&b, b.length, arena, back), -1);
    }
    /* the writer cuts between characters, the reader takes no byte more */
    memset(longest, 'x', ATOLL_ITEM_TEXT_LIMIT + 1);
    memcpy(longest + ATOLL_ITEM_TEXT_LIMIT - 1, "\xc3\xa4", 3);
    reply->items[0] = (struct atoll_reply_item){.after = longest};
    atoll_buffer_clear(&b);
    atoll_reply_encode(reply, &b);
    assert_int_equal(decode_reply(&b, b.length, arena, back), 0);
    assert_int_equal(strlen(back->items[0].after), ATOLL_ITEM_TEXT_LIMIT - 1);
    size_t at = b.length - (ATOLL_ITEM_TEXT_LIMIT - 1) - 4;
    const uint32_t more = ATOLL_ITEM_TEXT_LIMIT + 1;
    memcpy(b.data + at, &more, sizeof(more));
    atoll_buffer_put_bytes(&b, "xx", 2);
    assert_int_equal(decode_reply(&b, b.length, arena, back), -1);
    atoll_buffer_fini(&b);
    free(longest);
    free(back);
    free(reply);
    atoll_arena_destroy(arena);
}

static void every_name_is_told(void **state)
{
    for (int i = 0; i < ATOLL_REPLY_STATUS_COUNT; i++)
        assert_string_not_equal(atoll_reply_status_name((enum atoll_reply_status)i), "unknown");
    for (int i = 0; i < ATOLL_ASK_KIND_COUNT; i++)
        assert_string_not_equal(atoll_ask_kind_name((enum atoll_ask_kind)i), "unknown");
    for (int i = 0; i < ATOLL_ITEM_KIND_COUNT; i++)
        assert_string_not_equal(atoll_item_kind_name((enum atoll_item_kind)i), "unknown");
    assert_string_equal(atoll_item_kind_name(ATOLL_ITEM_KIND_COUNT), "unknown");
    assert_string_equal(atoll_reply_status_name(ATOLL_REPLY_STATUS_COUNT), "unknown");
    assert_string_equal(atoll_ask_kind_name(ATOLL_ASK_KIND_COUNT), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asks_travel),
        cmocka_unit_test(old_asks_have_no_times),
        cmocka_unit_test(old_asks_name_no_prompt),
        cmocka_unit_test(hostile_asks_are_refused),
        cmocka_unit_test(dialogues_travel),
        cmocka_unit_test(items_travel),
        cmocka_unit_test(hostile_items_are_refused),
        cmocka_unit_test(every_name_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
