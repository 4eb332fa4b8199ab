/* Texts of versions follow from the pack and from answers as they were journaled. */
#include "tests/support/texts.h"

#include "core/event.h"
#include "core/knowledge/region.h"
#include "mpi-eval/operator/prompt_version.h"

#define EDIT(region, before_text, after_text)                                                                \
    {                                                                                                        \
        .kind = ATOLL_ITEM_EDIT, .title = region, .text = "", .why = "w", .before = before_text,             \
        .after = after_text                                                                                  \
    }

static void answer(struct atoll_ask_history *h, uint64_t number, uint32_t parent,
                   const struct atoll_reply_item *items, uint32_t count)
{
    static struct atoll_event event;
    const struct atoll_ask ask = {.number = number, .kind = ATOLL_ASK_META, .count = 3, .prompt = parent};
    assert_int_equal(atoll_ask_history_add(h, &ask, NULL), 0);
    atoll_event_init(&event, ATOLL_EVENT_REPLY);
    event.reply = (struct atoll_reply){.ask = number, .item_count = count};
    memcpy(event.reply.items, items, count * sizeof(*items));
    assert_int_equal(atoll_ask_history_add_event(h, &event, NULL), 0);
}

static const char *text_of(const struct atoll_ask_history *h, uint32_t version, struct atoll_arena *arena)
{
    const char *text;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_prompt_version_text(source_texts(), h, "cuda", version, arena, &text, &err) != 0)
        fail_msg("%s", err.text);
    return text;
}

static void texts_follow_from_answers(void **state)
{
    const struct atoll_reply_item first[] = {EDIT("pitfalls", "", "- AAA"), EDIT("analysis", "", "BBB")},
                                  second[] = {EDIT("pitfalls", "- AAA", "- CCC")},
                                  other[] = {EDIT("pitfalls", "", "- DDD")};
    struct atoll_arena *arena = atoll_arena_create(1u << 22, NULL);
    struct atoll_ask_history *h = atoll_ask_history_create(NULL);
    struct atoll_err err = ATOLL_ERR_INIT;
    const char *text;
    answer(h, 7, 0, first, 2);
    answer(h, 9, 7, second, 1);
    answer(h, 12, 0, other, 1);
    assert_string_equal(text_of(h, 0, arena), source_text("cuda.md"));
    assert_non_null(strstr(text_of(h, 7, arena), "- AAA\n<!-- end -->"));
    text = text_of(h, 9, arena);
    assert_true(strstr(text, "- CCC\n") && strstr(text, "\nBBB\n") && !strstr(text, "AAA"));
    text = text_of(h, 12, arena);
    assert_true(strstr(text, "- DDD\n") && !strstr(text, "BBB"));
    assert_int_equal(atoll_regions_check(text, NULL), 0);
    /* what is not known is no version, and a language without such a text has none */
    assert_int_equal(atoll_prompt_version_text(source_texts(), h, "cuda", 8, arena, &text, &err), -1);
    expect_err(&err, ATOLL_E_INTERNAL, "no answer that made version 8 of a prompt is known");
    assert_int_equal(atoll_prompt_version_text(source_texts(), h, "hopper", 0, arena, &text, NULL), 0);
    assert_null(text);
    const struct atoll_ask loop = {.number = 20, .kind = ATOLL_ASK_META, .count = 3, .prompt = 21};
    assert_int_equal(atoll_ask_history_add(h, &loop, NULL), 0);
    assert_int_equal(atoll_prompt_version_text(source_texts(), h, "cuda", 20, arena, &text, NULL), -1);
    atoll_ask_history_destroy(h);
    atoll_arena_destroy(arena);
}

/* What is journaled is what fits the version that was edited, at most three of them, in order. */
static void what_does_not_fit_is_left_out(void **state)
{
    const struct atoll_reply_item first[] = {EDIT("pitfalls", "", "- AAA")};
    struct atoll_arena *arena = atoll_arena_create(1u << 22, NULL);
    struct atoll_ask_history *h = atoll_ask_history_create(NULL);
    const struct atoll_ask ask = {.number = 8, .kind = ATOLL_ASK_META, .count = 3, .prompt = 7};
    static struct atoll_reply reply;
    answer(h, 7, 0, first, 1);
    reply = (struct atoll_reply){.ask = 8,
                                 .item_count = 5,
                                 .items = {EDIT("pitfalls", "- nowhere", "- x"),
                                           EDIT("pitfalls", "- AAA", "- BBB"),
                                           EDIT("analysis", "", "<!-- end -->"), EDIT("analysis", "", "one"),
                                           EDIT("philosophy", "", "two")}};
    assert_int_equal(atoll_prompt_version_judge(source_texts(), h, "cuda", &ask, arena, &reply, NULL), 0);
    assert_int_equal(reply.item_count, 3);
    assert_string_equal(reply.items[0].after, "- BBB");
    assert_string_equal(reply.items[1].after, "one");
    assert_string_equal(reply.items[2].after, "two");
    assert_int_equal(reply.status, ATOLL_REPLY_OK);
    reply.items[0].before = "- CCC";
    reply.item_count = 1;
    assert_int_equal(atoll_prompt_version_judge(source_texts(), h, "cuda", &ask, arena, &reply, NULL), 0);
    assert_int_equal(reply.item_count, 0);
    assert_int_equal(reply.status, ATOLL_REPLY_EMPTY);
    atoll_ask_history_destroy(h);
    atoll_arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_follow_from_answers),
        cmocka_unit_test(what_does_not_fit_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
