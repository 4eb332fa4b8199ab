#include "tests/support/simulation.h"

#include "evolution/engine/budget.h"
#include "evolution/engine/state.h"
#include "evolution/tuner/tune_trials.h"

/* 0.35 ms of a processor for a proposal, a fifth of one for all of them. */
static void the_model_must_not_be_waited_for(void **state)
{
    static const struct {
        uint32_t slots;
        double mean_ns; /* of an evaluation; 0: nothing was measured, taken as 100 ms */
        int affords;
    } cases[] = {{1, 1e7, 1}, {4, 1.7e8, 1}, {64, 1e7, 0}, {64, 1.7e8, 1}, {256, 1.7e8, 0},
                 {1, 1e6, 0}, {0, 1e7, 1},   {16, 0, 1},   {64, 0, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_engine e = {.slots = cases[i].slots};
        e.answers = cases[i].mean_ns > 0 ? 10 : 0;
        e.device_ns = 10 * cases[i].mean_ns;
        if (atoll_budget_affords_model(&e) != cases[i].affords)
            fail_msg("case %zu", i);
    }
}

/* With many quick evaluators templates are tuned without the model, with few slow ones with it. */
static void proposals_follow(void **state)
{
    static const struct sim_seed seeds[] = {
        {"naive", NULL, NULL}, {"tiled", "\"A\": [1, 2, 3, 4], \"B\": [1, 2, 3, 4, 5, 6]", NULL}};
    struct atoll_buffer bytes;
    atoll_buffer_init(&bytes, 1u << 24);
    sim_task("copy", seeds, 2, 1, &bytes);
    for (unsigned quick = 0; quick < 2; quick++) {
        struct sim *s = malloc(sizeof(*s));
        struct atoll_search search;
        atoll_search_defaults(&search);
        search.queue_depth = 1;
        sim_start(s, 5, &search);
        s->occupied_ns = quick ? 1e6 : 1e9;
        sim_add_task(s, 0, &bytes);
        sim_capacity(s, quick ? 8 : 1);
        for (unsigned i = 0; i < 12; i++)
            sim_answer(s);
        const struct atoll_source *tiled = &s->engine->sources.items[1];
        assert_non_null(tiled->tune);
        assert_int_equal(tiled->tune->settings.strategies >> ATOLL_TUNE_MODEL & 1, !quick);
        assert_true(tiled->tune->settings.strategies >> ATOLL_TUNE_LOCAL & 1);
        sim_fini(s);
        free(s);
    }
    atoll_buffer_fini(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_must_not_be_waited_for),
        cmocka_unit_test(proposals_follow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
