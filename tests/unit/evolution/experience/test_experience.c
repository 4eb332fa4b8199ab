/* test_experience.c - what is told to whom, and what a hint is worth after it was told. */
#include "tests/support/expect.h"

#include <stdio.h>

#include "base/random.h"
#include "evolution/experience/experience.h"

#define MEMORY ATOLL_ISLAND_MEMORY
#define FUSION ATOLL_ISLAND_FUSION
#define ALL    ATOLL_ISLAND_ROLE_COUNT

static void add(struct atoll_experience *e, const char *name, const char *trigger, const char *language,
                const char *device, const char *category, uint8_t role)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_experience_hint h = {.name = name,
                                      .language = language,
                                      .device = device,
                                      .category = category,
                                      .role = role,
                                      .context = "",
                                      .advice = name,
                                      .source = ""};
    assert_int_equal(atoll_trigger_parse(trigger, &h.trigger, NULL), 0);
    if (atoll_experience_add_hint(e, &h, NULL, &err) != 0)
        fail_msg("%s", err.text);
}

static struct atoll_experience *library(void)
{
    struct atoll_experience *e = atoll_experience_create(NULL);
    assert_non_null(e);
    add(e, "any", "limiter dram", "", "", "", ALL);
    add(e, "cuda", "limiter dram", "cuda", "", "", ALL);
    add(e, "hopper", "limiter dram", "cuda", "hopper", "", ALL);
    add(e, "gpu", "stall lg", "", "cuda", "", ALL);
    add(e, "matmul", "limiter dram", "", "", "matmul", ALL);
    add(e, "products", "limiter dram", "", "", "matmul convolution", ALL);
    add(e, "memory", "limiter dram", "", "", "", MEMORY);
    add(e, "fusion", "limiter dram", "", "", "", FUSION);
    add(e, "only-fusion", "limiter l2", "", "", "", FUSION);
    add(e, "race", "error race", "", "", "", MEMORY);
    add(e, "draft", "limiter unknown", "c", "", "", ALL);
    add(e, "any", "limiter dram", "", "", "", ALL); /* known already */
    return e;
}

static int is_told(const struct atoll_brief *briefs, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(briefs[i].title, name) == 0)
            return 1;
    return 0;
}

static void test_who_is_told_what(void **state)
{
    static const struct atoll_diagnosis dram = {.limiter = ATOLL_LIMITER_DRAM, .stall = ATOLL_STALL_LG},
                                        l2 = {.limiter = ATOLL_LIMITER_L2},
                                        race = {.error = ATOLL_ERROR_RACE};
    static const struct {
        struct atoll_experience_query query;
        size_t limit;
        const char *told, *first; /* all of them, in any order */
    } rows[] = {
        {{&dram, "c", "cpu", "", ALL, 0}, 6, "any memory fusion", NULL},
        {{&dram, "cuda", "ampere", "", ALL, 0}, 6, "any cuda gpu memory fusion", NULL},
        {{&dram, "cuda", "hopper", "", ALL, 0}, 6, "any cuda hopper gpu memory fusion", "hopper"},
        {{&dram, "c", "cpu", "matmul", ALL, 0}, 6, "any matmul products memory fusion", NULL},
        {{&dram, "c", "cpu", "convolution", ALL, 0}, 6, "any products memory fusion", "products"},
        {{&dram, "c", "cpu", "conv", ALL, 0}, 6, "any memory fusion", NULL}, /* no part of a word */
        {{&dram, "c", "cpu", "", MEMORY, 0}, 6, "any memory", "memory"},
        {{&dram, "c", "cpu", "", FUSION, 0}, 6, "any fusion", "fusion"},
        {{&dram, "c", "", "", FUSION, 0}, 1, "fusion", NULL},
        {{&l2, "c", "cpu", "", MEMORY, 0}, 6, "only-fusion", NULL}, /* better another's than nothing */
        {{&race, "c", "cpu", "", FUSION, 0}, 6, "race", NULL},      /* what is wrong concerns all */
        {{NULL, "c", "cpu", "", FUSION, 0}, 6, "draft", NULL},
        {{NULL, "cuda", "hopper", "", FUSION, 0}, 6, "", NULL},
        {{&dram, "c", "cpu", "", ALL, 0}, 0, "", NULL},
    };
    struct atoll_experience *e = library();
    assert_int_equal(atoll_experience_count(e), 11);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_brief briefs[ATOLL_EXPERIENCE_TOLD];
        char told[256], *at = NULL;
        size_t count = atoll_experience_retrieve(e, &rows[i].query, rows[i].limit, briefs), wanted = 0;
        snprintf(told, sizeof(told), "%s", rows[i].told);
        for (char *name = strtok_r(told, " ", &at); name; name = strtok_r(NULL, " ", &at), wanted++)
            if (!is_told(briefs, count, name))
                fail_msg("row %zu: '%s' was not told", i, name);
        if (count != wanted || (rows[i].first && strcmp(briefs[0].title, rows[i].first) != 0))
            fail_msg("row %zu: %zu were told, the first of them '%s'", i, count,
                     count ? briefs[0].title : "");
    }
    atoll_experience_destroy(e);
    atoll_experience_destroy(NULL);
}

/* Of more equals than fit, each has its turn. */
static void test_equals_go_round(void **state)
{
    static const struct atoll_diagnosis tail = {.limiter = ATOLL_LIMITER_TAIL};
    struct atoll_experience *e = atoll_experience_create(NULL);
    unsigned told = 0;
    for (int i = 0; i < 9; i++) {
        char name[8];
        snprintf(name, sizeof(name), "h%d", i);
        add(e, name, "limiter tail", "", "", "", ALL);
    }
    for (uint64_t ask = 1; ask < 60; ask++) {
        struct atoll_brief briefs[ATOLL_EXPERIENCE_TOLD], again[ATOLL_EXPERIENCE_TOLD];
        const struct atoll_experience_query query = {&tail, "c", "cpu", "", ALL, ask};
        size_t count = atoll_experience_retrieve(e, &query, 3, briefs);
        assert_int_equal(count, 3);
        for (size_t i = 0; i < count; i++)
            told |= 1u << (briefs[i].title[1] - '0');
        const char *first = briefs[0].title;
        assert_int_equal(atoll_experience_retrieve(e, &query, 3, again),
                         3); /* the same call, the same answer */
        assert_string_equal(again[0].title, first);
    }
    assert_int_equal(told, (1u << 9) - 1);
    atoll_experience_destroy(e);
}

/* ---- credit ---- */

static const struct atoll_diagnosis at_dram = {.limiter = ATOLL_LIMITER_DRAM},
                                    at_race = {.error = ATOLL_ERROR_RACE};

static void use(struct atoll_experience *e, uint64_t ask, const struct atoll_diagnosis *d, const char *name)
{
    struct atoll_briefing briefing = {.ask = ask};
    struct atoll_experience_standing s;
    for (size_t i = 0; name && i < atoll_experience_count(e); i++) {
        atoll_experience_standing(e, i, &s);
        if (strcmp(s.hint->name, name) == 0)
            briefing.briefs[briefing.count++] =
                (struct atoll_brief){.kind = ATOLL_BRIEF_HINT, .id = s.id, .text = "told"};
    }
    briefing.briefs[briefing.count] = briefing.briefs[0]; /* of another kind: no hint */
    briefing.briefs[briefing.count++].kind = ATOLL_BRIEF_MEMORY;
    briefing.briefs[briefing.count++] =
        (struct atoll_brief){.kind = ATOLL_BRIEF_HINT, .id = {{7}}}; /* unknown */
    assert_int_equal(atoll_experience_used(e, d, &briefing, NULL), 0);
}

static struct atoll_experience_standing standing(const struct atoll_experience *e, const char *name)
{
    struct atoll_experience_standing s;
    for (size_t i = 0; i < atoll_experience_count(e); i++) {
        atoll_experience_standing(e, i, &s);
        if (strcmp(s.hint->name, name) == 0)
            return s;
    }
    fail_msg("no hint '%s'", name);
    return s;
}

/* The best of an ask's kernels is its outcome, whatever comes first. */
static void test_outcome_of_an_ask(void **state)
{
    static const struct {
        const struct atoll_diagnosis *diagnosis;
        struct {
            double parent_ns;
            enum atoll_verdict verdict;
            double child_ns;
        } results[3];
        double outcomes, wins, gains, gain; /* gain: of the mean */
    } rows[] = {
        {&at_dram,
         {{100, ATOLL_V_CORRECT, 50}, {100, ATOLL_V_WRONG, 0}, {100, ATOLL_V_CORRECT, 80}},
         1,
         1,
         1,
         2},
        {&at_dram,
         {{100, ATOLL_V_WRONG, 0}, {100, ATOLL_V_CORRECT, 200}, {100, ATOLL_V_CORRECT, 50}},
         1,
         1,
         1,
         2},
        {&at_dram,
         {{100, ATOLL_V_CORRECT, 200}, {100, ATOLL_V_COMPILE_ERROR, 0}, {100, ATOLL_V_CORRECT, 400}},
         1,
         0,
         1,
         0.5},
        {&at_dram,
         {{100, ATOLL_V_INFRASTRUCTURE, 0}, {100, ATOLL_V_UNSTABLE, 1}, {100, ATOLL_V_INFRASTRUCTURE, 0}},
         0,
         0,
         0,
         1},
        {&at_race, {{0, ATOLL_V_WRONG, 0}, {0, ATOLL_V_CORRECT, 70}, {0, ATOLL_V_WRONG, 0}}, 1, 1, 0, 1},
        {&at_race, {{0, ATOLL_V_WRONG, 0}, {0, ATOLL_V_CRASH, 0}, {0, ATOLL_V_TIMEOUT, 0}}, 1, 0, 0, 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_experience *e = library();
        use(e, 5, rows[i].diagnosis, "any");
        use(e, 5, rows[i].diagnosis, "any"); /* a resumed run reads the event again: no second use */
        for (size_t r = 0; r < 3; r++) {
            atoll_experience_credit(e, 5, rows[i].results[r].parent_ns, rows[i].results[r].verdict,
                                    rows[i].results[r].child_ns);
            atoll_experience_credit(e, 6, 100, ATOLL_V_CORRECT, 1); /* never told */
        }
        struct atoll_hint_statistics own = standing(e, "any").own, other = standing(e, "cuda").own;
        expect_close(own.uses, 1, 0);
        expect_close(own.outcomes, rows[i].outcomes, 0);
        expect_close(own.wins, rows[i].wins, 0);
        expect_close(own.gains, rows[i].gains, 0);
        expect_close(atoll_hint_gain(&own), rows[i].gain, 1e-12);
        expect_close(other.uses + other.outcomes, 0, 0);
        atoll_experience_destroy(e);
    }
}

/* A third of the asks that are told nothing win; of three hints one doubles that, one leaves it, one spoils it. */
static void test_losers_are_dropped(void **state)
{
    static const struct {
        const char *name;
        double share;
    } arms[] = {{NULL, 0.33}, {"any", 0.66}, {"memory", 0.33}, {"fusion", 0.0}};
    struct atoll_experience *e = library();
    struct atoll_brief briefs[ATOLL_EXPERIENCE_TOLD];
    const struct atoll_experience_query query = {&at_dram, "c", "cpu", "", ALL, 1};
    for (uint64_t ask = 1; ask <= 200; ask++) {
        size_t arm = ask % 4;
        int wins = (double)(atoll_mix64(ask) >> 11) * 0x1p-53 < arms[arm].share;
        use(e, ask, &at_dram, arms[arm].name);
        atoll_experience_credit(e, ask, 100, ATOLL_V_CORRECT, wins ? 70 : 130);
    }
    struct atoll_experience_standing good = standing(e, "any"), neutral = standing(e, "memory"),
                                     bad = standing(e, "fusion");
    assert_true(bad.is_dropped && !good.is_dropped && !neutral.is_dropped);
    assert_true(good.lift > 1.3 && good.confidence > neutral.confidence &&
                neutral.confidence > bad.confidence);
    size_t count = atoll_experience_retrieve(e, &query, ATOLL_EXPERIENCE_TOLD, briefs);
    assert_false(is_told(briefs, count, "fusion"));
    assert_string_equal(briefs[0].title, "any");
    assert_non_null(strstr(briefs[0].text, "of 50 tries"));
    atoll_experience_destroy(e);
}

/* What another campaign saw counts, but not for ever. */
static void test_prior(void **state)
{
    struct atoll_experience *e = atoll_experience_create(NULL);
    struct atoll_experience_hint h = {.name = "old",
                                      .language = "",
                                      .device = "",
                                      .category = "",
                                      .role = ALL,
                                      .context = "",
                                      .advice = "x",
                                      .source = "",
                                      .trigger = {ATOLL_TRIGGER_LIMITER, ATOLL_LIMITER_DRAM},
                                      .prior = {1000, 1000, 0, 300, 0, 0}};
    assert_int_equal(atoll_experience_add_hint(e, &h, NULL, NULL), 0);
    assert_true(standing(e, "old").is_dropped);
    assert_true(standing(e, "old").own.uses == 0);
    for (uint64_t ask = 1; ask <= 12; ask++) {
        use(e, ask, &at_dram, "old");
        atoll_experience_credit(e, ask, 100, ATOLL_V_CORRECT, 50);
    }
    assert_false(standing(e, "old").is_dropped);
    atoll_experience_destroy(e);
}

static void test_distilled(void **state)
{
    static const struct {
        const char *title, *text, *why;
        int is_added;
    } rows[] = {{"limiter dram", "Use float4.", "rows of 4", 1},
                {"limiter dram", "Use float4.", "rows of 4", 0}, /* known */
                {"memory", "Use\nlines\033.", "", 1},
                {"the weather", "Wait.", "", 0},
                {"error race", "", "", 0},
                {NULL, NULL, NULL, 0}};
    struct atoll_experience *e = atoll_experience_create(NULL);
    size_t added = 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_reply_item item = {
            .kind = ATOLL_ITEM_HINT, .title = rows[i].title, .text = rows[i].text, .why = rows[i].why};
        assert_int_equal(atoll_experience_add_item(e, &item, "cuda", "hopper", NULL), rows[i].is_added);
        added += (size_t)rows[i].is_added;
        item.kind = ATOLL_ITEM_PLAN;
        assert_int_equal(atoll_experience_add_item(e, &item, "cuda", "hopper", NULL), 0);
    }
    assert_int_equal(atoll_experience_count(e), added);
    struct atoll_experience_standing s;
    atoll_experience_standing(e, 1, &s);
    assert_string_equal(s.hint->advice, "Use lines .");
    assert_true(s.hint->origin == ATOLL_HINT_DISTILLED && strncmp(s.hint->name, "distilled-", 10) == 0);
    assert_string_equal(s.hint->device, "hopper");
    atoll_experience_destroy(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_who_is_told_what),
                                       cmocka_unit_test(test_equals_go_round),
                                       cmocka_unit_test(test_outcome_of_an_ask),
                                       cmocka_unit_test(test_losers_are_dropped),
                                       cmocka_unit_test(test_prior),
                                       cmocka_unit_test(test_distilled)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
