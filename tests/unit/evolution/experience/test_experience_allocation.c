/* test_experience_allocation.c - every allocation of the library, of the rewrites and of files of hints fails once. */
#include "tests/support/allocation.h"

#include <stdio.h>

#include "core/experience/hint_file.h"
#include "evolution/experience/experience.h"
#include "evolution/experience/rewrites.h"

#ifdef ALLOCATION_SKIP_REASON
int main(void)
{
    printf("skipped: %s\n", ALLOCATION_SKIP_REASON);
    return 77;
}
#else

static const struct atoll_diagnosis dram = {.limiter = ATOLL_LIMITER_DRAM};

static int use_library(struct atoll_err *err)
{
    struct atoll_experience *e = atoll_experience_create(err);
    const struct atoll_reply_item item = {.kind = ATOLL_ITEM_HINT, .title = "dram", .text = "Do it."};
    struct atoll_experience_hint hint = {.name = "a",
                                         .language = "",
                                         .device = "",
                                         .category = "",
                                         .role = ATOLL_ISLAND_ROLE_COUNT,
                                         .context = "",
                                         .advice = "x",
                                         .source = ""};
    struct atoll_briefing briefing = {.ask = 1, .count = 1};
    briefing.briefs[0].kind = ATOLL_BRIEF_HINT;
    int rc = e ? atoll_experience_add_hint(e, &hint, &briefing.briefs[0].id, err) : -1;
    rc = rc == 0 && atoll_experience_add_item(e, &item, "c", "cpu", err) < 0 ? -1 : rc;
    rc = rc == 0 ? atoll_experience_used(e, &dram, &briefing, err) : rc;
    if (rc == 0)
        atoll_experience_credit(e, 1, 100, ATOLL_V_CORRECT, 50);
    atoll_experience_destroy(e);
    return rc;
}

static int use_rewrites(struct atoll_err *err)
{
    const struct atoll_reply reply = {
        .item_count = 1,
        .items = {{.kind = ATOLL_ITEM_REWRITE, .title = "t", .text = "x", .before = "a", .after = "b"}}};
    struct atoll_rewrites *r = atoll_rewrites_create(1, err);
    int rc = r ? 0 : -1;
    for (uint32_t task = 0; rc == 0 && task < 6; task++)
        rc = atoll_rewrites_add(r, task / 2, 0, &reply, err);
    atoll_rewrites_destroy(r);
    return rc;
}

static int use_file(struct atoll_err *err)
{
    static const char text[] =
        "version: 1\ncampaigns: [\"00000000000000000000000000000000000000000000000000000000000000ff\"]\n"
        "hints:\n  - {name: a, trigger: dram, advice: Do it.}\n";
    struct atoll_hint_file file, sum = {0};
    struct atoll_buffer out;
    size_t new, known;
    atoll_buffer_init(&out, 1 << 16);
    int rc = atoll_hint_file_parse("h", text, sizeof(text) - 1, &file, err);
    if (rc == 0) {
        rc = atoll_hint_file_merge(&sum, &file, &new, &known, err);
        atoll_hint_file_write_yaml(&file, &out);
        rc = rc == 0 ? atoll_buffer_check(&out, err) : rc;
        atoll_hint_file_fini(&sum);
        atoll_hint_file_fini(&file);
    }
    atoll_buffer_fini(&out);
    return rc;
}

static void test_library(void **state)
{
    assert_true(allocation_each_fails("library", use_library) > 3);
}

static void test_rewrites(void **state)
{
    assert_true(allocation_each_fails("rewrites", use_rewrites) > 3);
}

static void test_file(void **state)
{
    assert_true(allocation_each_fails("file", use_file) > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_library), cmocka_unit_test(test_rewrites),
                                       cmocka_unit_test(test_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
