/* Asks and replies as bytes: what newer engines add, and what older ones left out. */
#include "tests/support/expect.h"

#include <math.h>

#include "core/ask.h"

#define OLD_KIND_OFFSET 8
#define TIMES_BYTES     24

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
                              .floor_ns = 1e6};
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
    assert_int_equal(decode(&b, b.length - TIMES_BYTES, &back), 0);
    assert_int_equal(back.kind, ATOLL_ASK_ORDER);
    assert_true(back.best_ns == 0 && back.baseline_ns == 0 && back.floor_ns == 0);
    atoll_buffer_fini(&b);
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
        assert_int_equal(decode(&b, b.length - TIMES_BYTES, &back), -1);
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
                                             .is_from_store = 1}};
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
    struct atoll_reply reply = full_reply(), silent = full_reply(), back;
    struct atoll_buffer b, plain;
    memset(&silent.dialogue, 0, sizeof(silent.dialogue));
    atoll_buffer_init(&b, 4096);
    atoll_buffer_init(&plain, 4096);
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
    /* as older engines wrote it */
    assert_memory_equal(b.data, plain.data, plain.length);
    for (size_t length = 0; length < b.length; length++)
        assert_int_equal(decode_reply(&b, length, arena, &back), length == plain.length ? 0 : -1);
    assert_int_equal(decode_reply(&plain, plain.length, arena, &back), 0);
    assert_string_equal(back.dialogue.prompt, "");
    assert_true(atoll_id_is_zero(&back.dialogue.request));
    atoll_buffer_fini(&plain);
    atoll_buffer_fini(&b);
    atoll_arena_destroy(arena);
}

static void every_name_is_told(void **state)
{
    for (int i = 0; i < ATOLL_REPLY_STATUS_COUNT; i++)
        assert_string_not_equal(atoll_reply_status_name((enum atoll_reply_status)i), "unknown");
    for (int i = 0; i < ATOLL_ASK_KIND_COUNT; i++)
        assert_string_not_equal(atoll_ask_kind_name((enum atoll_ask_kind)i), "unknown");
    assert_string_equal(atoll_reply_status_name(ATOLL_REPLY_STATUS_COUNT), "unknown");
    assert_string_equal(atoll_ask_kind_name(ATOLL_ASK_KIND_COUNT), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asks_travel),
        cmocka_unit_test(old_asks_have_no_times),
        cmocka_unit_test(hostile_asks_are_refused),
        cmocka_unit_test(dialogues_travel),
        cmocka_unit_test(every_name_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
