/* test_hint.c - when a hint's trigger holds, what is refused, and what statistics say. */
#include "tests/support/expect.h"

#include <math.h>

#include "core/experience/hint.h"

static void test_triggers_read_back(void **state)
{
    static const uint32_t counts[ATOLL_TRIGGER_KIND_COUNT] = {
        ATOLL_LIMITER_COUNT, ATOLL_ERROR_COUNT, ATOLL_STALL_COUNT, ATOLL_UNUSED_COUNT, ATOLL_OCCUPANCY_COUNT};
    for (unsigned k = 0; k < ATOLL_TRIGGER_KIND_COUNT; k++)
        for (uint32_t v = 0; v < counts[k]; v++) {
            struct atoll_trigger t = {(enum atoll_trigger_kind)k, v}, back;
            struct atoll_err err = ATOLL_ERR_INIT;
            char text[ATOLL_HINT_TRIGGER_BYTES];
            assert_int_equal(atoll_trigger_parse(atoll_trigger_text(&t, text), &back, &err), 0);
            assert_true(back.kind == t.kind && back.value == v);
        }
}

static void test_trigger_words(void **state)
{
    static const struct {
        const char *text;
        enum atoll_trigger_kind kind;
        uint32_t value;
    } rows[] = {{"dram", ATOLL_TRIGGER_LIMITER, ATOLL_LIMITER_DRAM},
                {"launch", ATOLL_TRIGGER_LIMITER, ATOLL_LIMITER_LAUNCH}, /* limiters come first */
                {"error launch", ATOLL_TRIGGER_ERROR, ATOLL_ERROR_LAUNCH},
                {"race", ATOLL_TRIGGER_ERROR, ATOLL_ERROR_RACE},
                {"occupancy shared memory", ATOLL_TRIGGER_OCCUPANCY, ATOLL_OCCUPANCY_SHARED},
                {"wgmma", ATOLL_TRIGGER_UNUSED, ATOLL_UNUSED_WARPGROUP}};
    struct atoll_trigger t;
    struct atoll_err err = ATOLL_ERR_INIT;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        assert_int_equal(atoll_trigger_parse(rows[i].text, &t, &err), 0);
        assert_true(t.kind == rows[i].kind && t.value == rows[i].value);
    }
    assert_int_equal(atoll_trigger_parse("limiter dramm", &t, &err), -1);
    expect_err(&err, ATOLL_E_INPUT, "did you mean 'limiter dram'?");
}

static void test_holds(void **state)
{
    const struct atoll_diagnosis dram = {.limiter = ATOLL_LIMITER_DRAM,
                                         .stall = ATOLL_STALL_LG,
                                         .unused = 1u << ATOLL_UNUSED_WIDE_ACCESS},
                                 race = {.error = ATOLL_ERROR_RACE},
                                 registers = {.limiter = ATOLL_LIMITER_OCCUPANCY,
                                              .occupancy_by = ATOLL_OCCUPANCY_REGISTERS},
                                 tensor = {.limiter = ATOLL_LIMITER_TENSOR};
    const struct {
        const char *trigger;
        const struct atoll_diagnosis *diagnosis;
        int holds;
    } rows[] = {{"limiter dram", &dram, 1},
                {"limiter l2", &dram, 0},
                {"limiter memory", &dram, 1},
                {"limiter instruction", &dram, 0},
                {"limiter instruction", &tensor, 1},
                {"stall lg", &dram, 1},
                {"stall mio", &dram, 0},
                {"unused wide_access", &dram, 1},
                {"unused wgmma", &dram, 0},
                {"error race", &race, 1},
                {"error tail", &race, 0},
                {"limiter unknown", &race, 0}, /* it is wrong: nothing limits it */
                {"error none", &dram, 0},
                {"occupancy registers", &registers, 1},
                {"occupancy registers", &dram, 0},
                {"limiter unknown", NULL, 1},
                {"limiter dram", NULL, 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_trigger t;
        assert_int_equal(atoll_trigger_parse(rows[i].trigger, &t, NULL), 0);
        if (atoll_trigger_holds(&t, rows[i].diagnosis) != rows[i].holds)
            fail_msg("row %zu, '%s'", i, rows[i].trigger);
    }
}

static const struct atoll_experience_hint good = {.name = "a-hint",
                                                  .language = "cuda",
                                                  .device = "hopper",
                                                  .category = "",
                                                  .role = ATOLL_ISLAND_ROLE_COUNT,
                                                  .context = "",
                                                  .advice = "Do it.",
                                                  .source = ""};

static void test_check(void **state)
{
    static char long_text[ATOLL_HINT_ADVICE_BYTES + 2];
    struct atoll_experience_hint bad[7];
    static const char *const parts[] = {
        "small letters",   "such language 'cude'; did you mean 'cuda'?", "such device",
        "advises nothing", "advice has 801 bytes; at most 800",          "cannot be printed",
        "at most 64"};
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(atoll_experience_hint_check(&good, &err), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        bad[i] = good;
    memset(long_text, 'x', sizeof(long_text) - 1);
    bad[0].name = "A hint";
    bad[1].language = "cude";
    bad[2].device = "zebra";
    bad[3].advice = "";
    bad[4].advice = long_text;
    bad[5].context = "\033[2J";
    bad[6].name = "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghij";
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        atoll_err_clear(&err);
        assert_int_equal(atoll_experience_hint_check(&bad[i], &err), -1);
        expect_err(&err, ATOLL_E_INPUT, parts[i]);
    }
}

/* The name, the source and what came of it are not what a hint is; all else is. */
static void test_id(void **state)
{
    struct atoll_id id = atoll_experience_hint_id(&good);
    struct atoll_experience_hint same = good, other[6];
    same.name = "renamed";
    same.source = "a book";
    same.prior.wins = 3;
    struct atoll_id same_id = atoll_experience_hint_id(&same);
    assert_true(atoll_id_equal(&id, &same_id));
    for (size_t i = 0; i < 6; i++)
        other[i] = good;
    other[0].trigger.value = ATOLL_LIMITER_DRAM;
    other[1].language = "c";
    other[2].device = "";
    other[3].role = ATOLL_ISLAND_MEMORY;
    other[4].context = "sometimes";
    other[5].advice = "Do it!";
    for (size_t i = 0; i < 6; i++) {
        struct atoll_id other_id = atoll_experience_hint_id(&other[i]);
        assert_false(atoll_id_equal(&id, &other_id));
    }
}

static void test_families(void **state)
{
    static const struct {
        uint32_t capability;
        const char *family;
    } rows[] = {{0, "cpu"},         {75, "cuda"},           {80, "ampere"},        {86, "ampere"},
                {89, "ada"},        {90, "hopper"},         {100, "blackwell"},    {103, "blackwell"},
                {110, "blackwell"}, {120, "blackwell-rtx"}, {121, "blackwell-rtx"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_device_info device = {.limits = {.compute_capability = rows[i].capability}};
        assert_string_equal(atoll_device_family(&device), rows[i].family);
    }
    assert_true(atoll_device_family_holds("", "cpu") && atoll_device_family_holds("cuda", "hopper"));
    assert_false(atoll_device_family_holds("cuda", "cpu") || atoll_device_family_holds("hopper", "ampere"));
}

static void test_worth(void **state)
{
    const struct atoll_hint_statistics none = {0}, lost = {20, 20, 0, 8, 0, 0},
                                       even = {20, 20, 6, 6, 10, 10 * log(1.1)}, young = {7, 7, 0, 5, 0, 0},
                                       won = {20, 20, 12, 6, 12, 0};
    assert_true(atoll_hint_is_win(0, ATOLL_V_CORRECT, 0) && atoll_hint_is_win(103, ATOLL_V_CORRECT, 100));
    assert_false(atoll_hint_is_win(0, ATOLL_V_WRONG, 1) || atoll_hint_is_win(101, ATOLL_V_CORRECT, 100) ||
                 atoll_hint_is_win(103, ATOLL_V_CORRECT, 0));
    expect_close(atoll_hint_confidence(&none), 0.25, 1e-12); /* the prior */
    expect_close(atoll_hint_confidence(&lost), 3.2 / 28, 1e-12);
    expect_close(atoll_hint_lift(&none), 1, 1e-12);
    expect_close(atoll_hint_lift(&even), 1, 1e-12);
    expect_close(atoll_hint_lift(&won), 14.0 / 8, 1e-12);
    expect_close(atoll_hint_gain(&even), 1.1, 1e-12);
    expect_close(atoll_hint_gain(&none), 1, 1e-12);
    assert_true(atoll_hint_is_losing(&lost));
    assert_false(atoll_hint_is_losing(&none) || atoll_hint_is_losing(&even) || atoll_hint_is_losing(&young) ||
                 atoll_hint_is_losing(&won));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_triggers_read_back),
                                       cmocka_unit_test(test_trigger_words),
                                       cmocka_unit_test(test_holds),
                                       cmocka_unit_test(test_check),
                                       cmocka_unit_test(test_id),
                                       cmocka_unit_test(test_families),
                                       cmocka_unit_test(test_worth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
