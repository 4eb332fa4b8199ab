/* Versions of a prompt text: who is drawn, what answers are credited with, who goes. */
#include "tests/support/expect.h"

#include <math.h>

#include "core/prompt_archive.h"

static struct atoll_search search_of(double uniform, double fitness, double curiosity, double island)
{
    struct atoll_search search;
    atoll_search_defaults(&search);
    search.selection_share[ATOLL_SELECT_UNIFORM] = uniform;
    search.selection_share[ATOLL_SELECT_FITNESS] = fitness;
    search.selection_share[ATOLL_SELECT_CURIOSITY] = curiosity;
    search.selection_share[ATOLL_SELECT_ISLAND] = island;
    return search;
}

static void credits_are_bounded(void **state)
{
    static const struct {
        int is_correct;
        double gain, credit;
    } rows[] = {{0, 1, 0},
                {1, 0, ATOLL_PROMPT_CORRECT},
                {1, -3, ATOLL_PROMPT_CORRECT},
                {1, 0.5, ATOLL_PROMPT_CORRECT + 0.5},
                {1, 100, ATOLL_PROMPT_CORRECT + ATOLL_PROMPT_GAIN_MAX},
                {1, NAN, ATOLL_PROMPT_CORRECT},
                {1, INFINITY, ATOLL_PROMPT_CORRECT}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_true(atoll_prompt_credit(rows[i].is_correct, rows[i].gain) == rows[i].credit);
}

/* One version takes no random number; of several each rule chooses as it says. */
static void rules_draw_as_among_kernels(void **state)
{
    struct atoll_prompt_archive a = {0};
    struct atoll_prompt_level level = {0};
    struct atoll_random random = {3, 0}, untouched = {3, 0};
    struct atoll_search search = search_of(1, 0, 0, 0);
    unsigned drawn[3] = {0};
    assert_int_equal(atoll_prompt_archive_draw(&a, &search, &random), 0);
    assert_memory_equal(&random, &untouched, sizeof(random));
    atoll_prompt_archive_add(&a, 5, 0, 16);
    atoll_prompt_archive_add(&a, 9, 5, 16);
    atoll_prompt_archive_use(&a, 0);
    atoll_prompt_archive_use(&a, 5);
    atoll_prompt_archive_credit(&a, &level, 0, 0, 0);
    for (int i = 0; i < 3; i++)
        atoll_prompt_archive_credit(&a, &level, 5, 1, 0.7);
    for (int i = 0; i < 300; i++)
        drawn[atoll_prompt_archive_draw(&a, &search, &random) / 4]++;
    assert_true(drawn[0] > 60 && drawn[1] > 60 && drawn[2] > 60);
    search = search_of(0, 0, 1, 0);
    assert_int_equal(atoll_prompt_archive_draw(&a, &search, &random), 9);
    search = search_of(0, 0, 0, 1);
    assert_int_equal(atoll_prompt_archive_draw(&a, &search, &random), 5);
    search = search_of(0, 1, 0, 0);
    memset(drawn, 0, sizeof(drawn));
    for (int i = 0; i < 300; i++)
        drawn[atoll_prompt_archive_draw(&a, &search, &random) / 4]++;
    assert_true(drawn[1] > 10 * drawn[0] && drawn[1] > drawn[2]);
}

/* A version that is used while everything gains is not better for it; one that gains more at the same time is. */
static void the_luck_of_the_task_does_not_decide(void **state)
{
    struct atoll_prompt_archive a = {0};
    struct atoll_prompt_level rich = {0}, poor = {0};
    struct atoll_random random = {11, 0};
    atoll_prompt_archive_add(&a, 1, 0, 16);
    for (int i = 0; i < 40; i++) /* alone, and everything pays */
        atoll_prompt_archive_credit(&a, &rich, 0, 1,
                                    0.6 + 0.1 * atoll_random_unit(atoll_random_next(&random)));
    for (int i = 0; i < 60; i++) { /* on a task where hardly anything does */
        double noise = 0.05 * atoll_random_unit(atoll_random_next(&random));
        atoll_prompt_archive_credit(&a, &poor, (uint32_t)i % 2, 1, noise + (i % 2 ? 0.08 : 0));
    }
    const struct atoll_prompt_version *old = atoll_prompt_archive_find(&a, 0),
                                      *better = atoll_prompt_archive_find(&a, 1);
    assert_non_null(better);
    assert_true(!old || better->fitness > old->fitness);
    assert_true(better->best < 0.2);
}

static void a_version_that_loses_goes(void **state)
{
    struct atoll_prompt_archive a = {0};
    struct atoll_prompt_level level = {0};
    atoll_prompt_archive_add(&a, 1, 0, 16);
    for (unsigned i = 0; i < 40; i++) {
        atoll_prompt_archive_credit(&a, &level, 0, 1, 0.2);
        atoll_prompt_archive_credit(&a, &level, 1, i % 4 == 0, 0);
        if (i + 2 < ATOLL_PROMPT_LEAST)
            assert_non_null(atoll_prompt_archive_find(&a, 1));
    }
    assert_null(atoll_prompt_archive_find(&a, 1));
    assert_int_equal(a.count, 1);
    double before = atoll_prompt_archive_find(&a, 0)->fitness;
    atoll_prompt_archive_credit(&a, &level, 1, 1, 1); /* late: the task's alone */
    assert_true(atoll_prompt_archive_find(&a, 0)->fitness == before);
}

/* At most so many; the new one and the fittest stay, and a child begins with its parent's fitness. */
static void the_archive_is_bounded(void **state)
{
    struct atoll_prompt_archive a = {0};
    struct atoll_prompt_level level = {0};
    atoll_prompt_archive_add(&a, 1, 0, 4);
    for (int i = 0; i < 5; i++)
        atoll_prompt_archive_credit(&a, &level, 1, 1, i % 2 ? 1 : 0.9);
    double fittest = atoll_prompt_archive_find(&a, 1)->fitness;
    for (uint32_t v = 2; v < 60; v++) {
        atoll_prompt_archive_add(&a, v, v % 2 ? 1 : 0, 4);
        assert_true(a.count <= 4);
        assert_non_null(atoll_prompt_archive_find(&a, 1));
        assert_non_null(atoll_prompt_archive_find(&a, v));
        if (v % 2)
            assert_true(atoll_prompt_archive_find(&a, v)->fitness == fittest);
    }
    for (uint32_t v = 100; v < 200; v++)
        atoll_prompt_archive_add(&a, v, 1, UINT32_MAX);
    assert_int_equal(a.count, ATOLL_PROMPT_ARCHIVE_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(credits_are_bounded),
        cmocka_unit_test(rules_draw_as_among_kernels),
        cmocka_unit_test(the_luck_of_the_task_does_not_decide),
        cmocka_unit_test(a_version_that_loses_goes),
        cmocka_unit_test(the_archive_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
