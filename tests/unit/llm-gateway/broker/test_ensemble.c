#include "tests/support/expect.h"

#include "llm-gateway/broker/ensemble.h"

#define DRAWS 4000

/* A strong model for the first ten generations, two cheap ones after, one that must not be first, two fallbacks of
 * which one is a member already. */
static const struct atoll_ensemble scheduled = {
    .name = "scheduled",
    .member_count = 4,
    .fallback_count = 2,
    .members = {{7, 1.0, 0, 10},
                {1, 3.0, 10, UINT32_MAX},
                {2, 1.0, 10, UINT32_MAX},
                {3, 0.0, 10, UINT32_MAX}},
    .fallbacks = {2, 9},
};

static struct atoll_id id_of(unsigned i)
{
    return atoll_id_of(&i, sizeof i);
}

static void test_first_is_drawn_by_weight(void **state)
{
    unsigned counts[16] = {0};
    for (unsigned i = 0; i < DRAWS; i++) {
        struct atoll_id id = id_of(i);
        counts[atoll_ensemble_choose(&scheduled, 10, &id, 0)]++;
    }
    assert_int_equal(counts[1] + counts[2], DRAWS);
    /* 3 : 1, within four standard deviations of a binomial */
    assert_in_range(counts[1], DRAWS * 3 / 4 - 110, DRAWS * 3 / 4 + 110);
}

static void test_generations_schedule(void **state)
{
    static const struct {
        uint32_t generation;
        int is_strong;
    } cases[] = {{0, 1}, {9, 1}, {10, 0}, {4000000, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (unsigned k = 0; k < 50; k++) {
            struct atoll_id id = id_of(k);
            assert_int_equal(atoll_ensemble_choose(&scheduled, cases[i].generation, &id, 0) == 7,
                             cases[i].is_strong);
        }
    }
    /* UINT32_MAX is in no [from, until): then all members are drawn from */
    unsigned counts[16] = {0};
    for (unsigned k = 0; k < 200; k++) {
        struct atoll_id id = id_of(k);
        counts[atoll_ensemble_choose(&scheduled, UINT32_MAX, &id, 0)]++;
    }
    assert_true(counts[1] && counts[2] && counts[7] && !counts[3]);
}

static void test_all_come_once_then_fallbacks(void **state)
{
    for (uint32_t generation = 0; generation < 20; generation += 10) {
        for (unsigned i = 0; i < 100; i++) {
            struct atoll_id id = id_of(i);
            unsigned seen = 0;
            for (unsigned n = 0; n < 5; n++) {
                int model = atoll_ensemble_choose(&scheduled, generation, &id, n);
                assert_in_range(model, 0, 15);
                assert_false(seen & 1u << model);
                seen |= 1u << model;
                assert_true((n == 4) == (model == 9)); /* the fallback is the last */
                assert_int_equal(model, atoll_ensemble_choose(&scheduled, generation, &id, n));
            }
            assert_int_equal(atoll_ensemble_choose(&scheduled, generation, &id, 5), -1);
            assert_int_equal(atoll_ensemble_choose(&scheduled, generation, &id, UINT32_MAX), -1);
        }
    }
    /* without weight: behind those of its generation that have one, before those of other generations */
    struct atoll_id id = id_of(3);
    assert_int_equal(atoll_ensemble_choose(&scheduled, 10, &id, 2), 3);
    assert_int_equal(atoll_ensemble_choose(&scheduled, 10, &id, 3), 7);
}

static void test_without_members_or_weights(void **state)
{
    static const struct atoll_ensemble empty = {.name = "empty"};
    static const struct atoll_ensemble fallbacks = {.name = "f", .fallback_count = 3, .fallbacks = {4, 4, 5}};
    static const struct atoll_ensemble weightless = {
        .name = "w", .member_count = 2, .members = {{6, 0.0, 0, 5}, {8, 0.0, 0, 5}}};
    struct atoll_id id = id_of(1);
    assert_int_equal(atoll_ensemble_choose(&empty, 0, &id, 0), -1);
    assert_int_equal(atoll_ensemble_choose(&fallbacks, 0, &id, 0), 4);
    assert_int_equal(atoll_ensemble_choose(&fallbacks, 0, &id, 1), 5);
    assert_int_equal(atoll_ensemble_choose(&fallbacks, 0, &id, 2), -1);
    assert_int_equal(atoll_ensemble_choose(&weightless, 0, &id, 0), 6);
    assert_int_equal(atoll_ensemble_choose(&weightless, 7, &id, 1), 8);
    assert_int_equal(atoll_ensemble_choose(&weightless, 7, &id, 2), -1);
}

static void test_a_full_house(void **state)
{
    struct atoll_ensemble full = {.name = "full",
                                  .member_count = ATOLL_ENSEMBLE_MEMBER_LIMIT,
                                  .fallback_count = ATOLL_ENSEMBLE_MEMBER_LIMIT};
    for (unsigned i = 0; i < ATOLL_ENSEMBLE_MEMBER_LIMIT; i++) {
        full.members[i] = (struct atoll_ensemble_member){i, i, 0, UINT32_MAX};
        full.fallbacks[i] = 100 + i;
    }
    struct atoll_id id = id_of(1);
    for (unsigned n = 0; n < 2 * ATOLL_ENSEMBLE_MEMBER_LIMIT; n++)
        assert_int_equal(atoll_ensemble_choose(&full, 0, &id, n) >= 100, n >= ATOLL_ENSEMBLE_MEMBER_LIMIT);
    assert_int_equal(atoll_ensemble_choose(&full, 0, &id, 2 * ATOLL_ENSEMBLE_MEMBER_LIMIT), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_is_drawn_by_weight),
        cmocka_unit_test(test_generations_schedule),
        cmocka_unit_test(test_all_come_once_then_fallbacks),
        cmocka_unit_test(test_without_members_or_weights),
        cmocka_unit_test(test_a_full_house),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
