#include "tests/support/expect.h"

#include <stdio.h>

#include "evolution/experience/rewrites.h"

static void add(struct atoll_rewrites *r, uint32_t task, uint32_t model, const char *title)
{
    struct atoll_reply reply = {.item_count = 2,
                                .items = {{.kind = ATOLL_ITEM_PLAN, .title = "a plan"},
                                          {.kind = ATOLL_ITEM_REWRITE,
                                           .title = title,
                                           .text = "Faster.",
                                           .before = "slow();",
                                           .after = "fast();"}}};
    assert_int_equal(atoll_rewrites_add(r, task, model, &reply, NULL), 0);
}

/* The newest first, at most its size, each task and model by itself. */
static void test_queue(void **state)
{
    struct atoll_rewrites *r = atoll_rewrites_create(3, NULL);
    struct atoll_brief briefs[ATOLL_BRIEF_LIMIT];
    assert_int_equal(atoll_rewrites_list(r, 0, 0, 8, briefs), 0);
    for (int i = 0; i < 5; i++) {
        char title[8];
        snprintf(title, sizeof(title), "t%d", i);
        add(r, 0, 0, title);
    }
    add(r, 0, 1, "model");
    add(r, 1, 0, "task");
    assert_int_equal(atoll_rewrites_list(r, 0, 0, 8, briefs), 3);
    assert_string_equal(briefs[0].title, "t4");
    assert_string_equal(briefs[2].title, "t2");
    assert_string_equal(briefs[0].text, "Faster.\nBefore:\nslow();\nAfter:\nfast();");
    assert_true(briefs[0].kind == ATOLL_BRIEF_MEMORY && !atoll_id_is_zero(&briefs[0].id));
    assert_int_equal(atoll_rewrites_list(r, 0, 0, 2, briefs), 2);
    assert_int_equal(atoll_rewrites_list(r, 0, 1, 8, briefs), 1);
    assert_string_equal(briefs[0].title, "model");
    assert_int_equal(atoll_rewrites_list(r, 1, 0, 8, briefs), 1);
    assert_int_equal(atoll_rewrites_list(r, 2, 0, 8, briefs), 0);
    atoll_rewrites_destroy(r);
    atoll_rewrites_destroy(NULL);
}

/* Replies are hostile: no texts, and more text than is told. */
static void test_hostile(void **state)
{
    static char long_text[1 << 16];
    struct atoll_rewrites *r = atoll_rewrites_create(1000000, NULL);
    struct atoll_brief briefs[ATOLL_BRIEF_LIMIT];
    struct atoll_reply reply = {
        .item_count = 2,
        .items = {{.kind = ATOLL_ITEM_REWRITE},
                  {.kind = ATOLL_ITEM_REWRITE, .title = long_text, .text = long_text, .after = long_text}}};
    memset(long_text, 'x', sizeof(long_text) - 1);
    for (unsigned i = 0; i < ATOLL_BRIEF_LIMIT; i++)
        assert_int_equal(atoll_rewrites_add(r, 0, 0, &reply, NULL), 0);
    assert_int_equal(atoll_rewrites_list(r, 0, 0, 1000, briefs), ATOLL_BRIEF_LIMIT);
    assert_true(strlen(briefs[0].title) == ATOLL_BRIEF_TITLE_LIMIT &&
                strlen(briefs[0].text) < 3 * ATOLL_BRIEF_TEXT_LIMIT);
    assert_string_equal(briefs[1].text, "");
    atoll_rewrites_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_queue), cmocka_unit_test(test_hostile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
