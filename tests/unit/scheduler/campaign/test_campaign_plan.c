#include "tests/support/expect.h"

#include <math.h>

#include "scheduler/campaign/campaign_plan.h"

static void test_sampling_by_budget(void **state)
{
    static const struct {
        const char *backend;
        double wall_s;
        size_t tasks;
        unsigned ranks;
        double seconds;
    } rows[] = {
        {"cpu", 120, 13, 1, 48.0 / 650},   /* the default run */
        {"cuda", 120, 13, 1, 0.1},         /* a sample takes longer there */
        {"cpu", 60, 13, 1, 0.06},          /* no less */
        {"cpu", 600, 13, 1, 240.0 / 650},  /* between */
        {"cuda", 3600, 13, 1, 0.4},        /* time enough */
        {"cpu", 120, 1, 1, 0.4},           /* one task */
        {"cuda", 120, 13, 4, 144.0 / 650}, /* three evaluators */
        {"cpu", 0, 13, 1, 0.4},            /* no limit */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double got =
            atoll_plan_sample_seconds(rows[i].backend, rows[i].wall_s * 1e9, rows[i].tasks, rows[i].ranks);
        if (fabs(got - rows[i].seconds) > 1e-9)
            fail_msg("row %zu: %g s", i, got);
    }
}

/* Who switches knowledge off for a comparison is told what is still there. */
static void test_knowledge_left(void **state)
{
    static const struct {
        uint32_t knowledge, hints, tools;
        enum atoll_strategy_kind strategy;
        const char *begins; /* NULL: nothing is said */
    } rows[] = {
        {2, 1, 8, ATOLL_STRATEGY_ISLANDS, NULL},           {1, 1, 8, ATOLL_STRATEGY_ISLANDS, NULL},
        {0, 1, 8, ATOLL_STRATEGY_ISLANDS, "hints, and c"}, {0, 1, 0, ATOLL_STRATEGY_BEAM, "hints (--set"},
        {0, 0, 8, ATOLL_STRATEGY_ISLANDS, "calls of t"},   {0, 0, 0, ATOLL_STRATEGY_ISLANDS, NULL},
        {0, 1, 8, ATOLL_STRATEGY_REPEATED, "calls of t"},  {0, 1, 0, ATOLL_STRATEGY_REPEATED, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct atoll_search search = {.knowledge = rows[i].knowledge,
                                            .hints = rows[i].hints,
                                            .tools = rows[i].tools,
                                            .strategy = rows[i].strategy};
        const char *left = atoll_plan_knowledge_left(&search), *begins = rows[i].begins;
        if (!left != !begins || (left && strncmp(left, begins, strlen(begins)) != 0))
            fail_msg("row %zu: %s", i, left ? left : "nothing");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sampling_by_budget),
                                       cmocka_unit_test(test_knowledge_left)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
