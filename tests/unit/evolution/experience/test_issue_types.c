#include "tests/support/expect.h"

#include <stdio.h>

#include "core/issue.h"
#include "evolution/experience/issue_types.h"

static void win(struct atoll_issue_types *types, const char *title, uint8_t stage, double gain)
{
    const struct atoll_reply_item items[] = {
        {.kind = ATOLL_ITEM_ISSUE, .issue = ATOLL_ISSUE_TILE_SIZE, .stage = stage, .title = "tile_size"},
        {.kind = ATOLL_ITEM_PROPOSAL, .issue = ATOLL_ISSUE_COUNT, .stage = stage, .title = "a proposal"},
        {.kind = ATOLL_ITEM_ISSUE,
         .issue = ATOLL_ISSUE_COUNT,
         .stage = stage,
         .title = title,
         .text = "Words."},
        {.kind = ATOLL_ITEM_ISSUE,
         .issue = ATOLL_ISSUE_COUNT,
         .stage = (uint8_t)(stage + 1),
         .title = "next"}};
    atoll_issue_types_won(types, items, sizeof(items) / sizeof(*items), stage, gain);
}

/* Types of one's own of this stage alone; the most wins first, the older first among equals. */
static void test_order(void **state)
{
    struct atoll_issue_types *types = atoll_issue_types_create(NULL);
    struct atoll_brief briefs[ATOLL_BRIEF_LIMIT];
    assert_int_equal(atoll_issue_types_list(types, 8, briefs), 0);
    win(types, "a", ATOLL_ISSUE_STAGE_MEMORY, 1.5);
    win(types, "b", ATOLL_ISSUE_STAGE_MEMORY, 2);
    win(types, "c", ATOLL_ISSUE_STAGE_DEVICE, 3);
    win(types, "c", ATOLL_ISSUE_STAGE_DEVICE, 1.1);
    win(types, "c", ATOLL_ISSUE_STAGE_MEMORY, 1.1); /* of another stage: another type */
    win(types, "", ATOLL_ISSUE_STAGE_MEMORY, 1.1);
    assert_int_equal(atoll_issue_types_list(types, 8, briefs), 4);
    assert_string_equal(briefs[0].text,
                        "Stage device; 2 faster kernels so far, the best 3 times as fast as before. Words.");
    assert_string_equal(briefs[1].title, "a");
    assert_string_equal(briefs[2].title, "b");
    assert_string_equal(briefs[3].title, "c");
    assert_true(briefs[0].kind == ATOLL_BRIEF_ISSUE_TYPE && briefs[0].score > 1.5);
    assert_int_equal(atoll_issue_types_list(types, 2, briefs), 2);
    atoll_issue_types_destroy(types);
    atoll_issue_types_destroy(NULL);
}

/* Answers are hostile: no texts, more than is kept, and more types than are kept. */
static void test_hostile(void **state)
{
    static char long_text[1 << 14];
    struct atoll_issue_types *types = atoll_issue_types_create(NULL);
    struct atoll_brief briefs[ATOLL_BRIEF_LIMIT];
    const struct atoll_reply_item items[] = {
        {.kind = ATOLL_ITEM_ISSUE, .issue = ATOLL_ISSUE_COUNT},
        {.kind = ATOLL_ITEM_ISSUE, .issue = ATOLL_ISSUE_COUNT, .title = long_text, .text = long_text}};
    memset(long_text, 'x', sizeof(long_text) - 1);
    atoll_issue_types_won(types, items, 2, 0, 2);
    for (int i = 0; i < 2 * ATOLL_ISSUE_TYPE_LIMIT; i++) {
        char title[16];
        snprintf(title, sizeof(title), "t%d", i);
        win(types, title, 0, 2);
    }
    assert_int_equal(atoll_issue_types_list(types, ATOLL_BRIEF_LIMIT, briefs), ATOLL_ISSUE_TYPE_LIMIT);
    assert_int_equal(strlen(briefs[0].title), ATOLL_BRIEF_TITLE_LIMIT);
    assert_true(strlen(briefs[0].text) < ATOLL_BRIEF_TEXT_LIMIT);
    atoll_issue_types_destroy(types);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order), cmocka_unit_test(test_hostile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
