#include "tests/support/expect.h"

#include <stdlib.h>

#include "evolution/population/select.h"

#define DRAWS 20000

/* An island with elites in cells 0 (memory 0), 21 (1, 1, 1) and 63 (3, 3, 3); individual number = position in
 * cells. */
static const unsigned cells[] = {0, 21, 63};
static const double fitness[] = {0.5, 0.75, 1.0};

static struct atoll_island *make(struct atoll_individuals *individuals)
{
    struct atoll_island *island = malloc(sizeof(*island));
    atoll_island_init(island);
    memset(individuals, 0, sizeof(*individuals));
    for (uint32_t i = 0; i < 3; i++) {
        struct atoll_individual r;
        memset(&r, 0, sizeof(r));
        r.id.bytes[0] = (uint8_t)i;
        r.fitness = fitness[i];
        r.cell = (uint8_t)cells[i];
        assert_int_equal(atoll_individuals_add(individuals, &r, NULL), 0);
        atoll_island_set(island, cells[i], i);
    }
    return island;
}

static void shares_of(enum atoll_selection rule, uint32_t role, double ret_share[3])
{
    struct atoll_individuals individuals;
    struct atoll_island *island = make(&individuals);
    struct atoll_search search;
    struct atoll_random random = {4, 0};
    atoll_search_defaults(&search);
    memset(search.selection_share, 0, sizeof(search.selection_share));
    search.selection_share[rule] = 0.3;
    struct atoll_transitions none = {.count = 0};
    struct atoll_look look = {&individuals, &none, 0};
    memset(ret_share, 0, 3 * sizeof(*ret_share));
    for (unsigned i = 0; i < DRAWS; i++) {
        uint32_t individual = atoll_select_parent(&search, &look, island, role, &random);
        assert_in_range(individual, 0, 2);
        ret_share[individual] += 1.0 / DRAWS;
    }
    atoll_individuals_fini(&individuals);
    free(island);
}

static void rules_weigh_as_they_say(void **state)
{
    static const struct {
        enum atoll_selection rule;
        uint32_t role;
        double share[3];
    } rows[] = {
        {ATOLL_SELECT_UNIFORM, 0, {1 / 3.0, 1 / 3.0, 1 / 3.0}},
        {ATOLL_SELECT_FITNESS, 0, {0.01 / 1.28, 0.26 / 1.28, 1.01 / 1.28}},
        {ATOLL_SELECT_ISLAND, ATOLL_ISLAND_MEMORY, {1 / 7.0, 2 / 7.0, 4 / 7.0}},
        {ATOLL_SELECT_ISLAND, ATOLL_ISLAND_NUMERICS, {1 / 3.0, 1 / 3.0, 1 / 3.0}},
        {ATOLL_SELECT_ISLAND,
         ATOLL_ISLAND_ROLE_COUNT + ATOLL_ISLAND_PARALLELISM,
         {1 / 7.0, 2 / 7.0, 4 / 7.0}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        double share[3];
        shares_of(rows[i].rule, rows[i].role, share);
        for (size_t k = 0; k < 3; k++)
            expect_close(share[k], rows[i].share[k], 0.015);
    }
}

/* Improvements from cell 21 upwards make it the one to go on from. */
static void curiosity_follows_improvements(void **state)
{
    struct atoll_individuals individuals;
    struct atoll_island *island = make(&individuals);
    struct atoll_search search;
    struct atoll_transitions *steps = calloc(1, sizeof(*steps));
    struct atoll_look look = {&individuals, steps, 10};
    struct atoll_random random = {4, 0};
    unsigned picked[3] = {0, 0, 0};
    for (unsigned i = 0; i < 10; i++) {
        atoll_transitions_add(steps,
                              &(struct atoll_transition){21, 63, ATOLL_OUTCOME_IMPROVEMENT, 0.3, 10, 0});
    }
    atoll_search_defaults(&search);
    memset(search.selection_share, 0, sizeof(search.selection_share));
    search.selection_share[ATOLL_SELECT_CURIOSITY] = 1;
    for (unsigned i = 0; i < 1000; i++)
        picked[atoll_select_parent(&search, &look, island, 0, &random)]++;
    assert_true(picked[1] > 700);
    assert_true(picked[0] > 0 && picked[2] > 0);
    atoll_individuals_fini(&individuals);
    free(island);
    free(steps);
}

static void empty_islands_have_no_parent(void **state)
{
    struct atoll_individuals individuals;
    struct atoll_island *island = make(&individuals);
    struct atoll_search search;
    struct atoll_random random = {4, 0};
    struct atoll_transitions none = {.count = 0};
    struct atoll_look look = {&individuals, &none, 0};
    atoll_search_defaults(&search);
    for (size_t i = 0; i < 3; i++)
        atoll_island_clear(island, cells[i]);
    assert_int_equal(atoll_select_parent(&search, &look, island, 0, &random), ATOLL_NONE);
    assert_int_equal(random.counter, 0); /* nothing was drawn */
    atoll_individuals_fini(&individuals);
    free(island);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_weigh_as_they_say),
        cmocka_unit_test(curiosity_follows_improvements),
        cmocka_unit_test(empty_islands_have_no_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
