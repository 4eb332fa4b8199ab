#include "tests/support/expect.h"

#include "llm-gateway/config/config.h"

#define DRAWS 4000

/* A strong model for the first ten generations, two cheap ones after, one that must not be drawn. */
static const struct atoll_ensemble scheduled = {
    .name = "scheduled",
    .member_count = 4,
    .members = {{7, 1.0, 0, 10},
                {1, 3.0, 10, UINT32_MAX},
                {2, 1.0, 10, UINT32_MAX},
                {3, 0.0, 10, UINT32_MAX}},
};

static struct atoll_id id_of(unsigned i)
{
    return atoll_id_of(&i, sizeof(i));
}

static void test_first_is_drawn_by_weight(void **state)
{
    unsigned counts[16] = {0};
    for (unsigned i = 0; i < DRAWS; i++) {
        struct atoll_id id = id_of(i);
        counts[atoll_ensemble_choose(&scheduled, 10, &id)]++;
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
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        for (unsigned k = 0; k < 50; k++) {
            struct atoll_id id = id_of(k);
            assert_int_equal(atoll_ensemble_choose(&scheduled, cases[i].generation, &id) == 7,
                             cases[i].is_strong);
        }
    }
    /* UINT32_MAX is in no [from, until): then all members are drawn from */
    unsigned counts[16] = {0};
    for (unsigned k = 0; k < 200; k++) {
        struct atoll_id id = id_of(k);
        counts[atoll_ensemble_choose(&scheduled, UINT32_MAX, &id)]++;
    }
    assert_true(counts[1] && counts[2] && counts[7] && !counts[3]);
}

static void test_without_members_or_weights(void **state)
{
    static const struct atoll_ensemble empty = {.name = "empty"};
    static const struct atoll_ensemble weightless = {
        .name = "w", .member_count = 2, .members = {{6, 0.0, 0, 5}, {8, 0.0, 5, 9}}};
    struct atoll_id id = id_of(1);
    assert_int_equal(atoll_ensemble_choose(&empty, 0, &id), -1);
    assert_int_equal(atoll_ensemble_choose(&weightless, 0, &id), 6);
    assert_int_equal(atoll_ensemble_choose(&weightless, 7, &id), 8);
    assert_int_equal(atoll_ensemble_choose(&weightless, 70, &id), 6);
}

/* The same request gets the same member, whoever asks. */
static void test_the_draw_follows_from_the_request(void **state)
{
    struct atoll_ensemble full = {.name = "full", .member_count = ATOLL_ENSEMBLE_MEMBER_LIMIT};
    unsigned seen = 0;
    for (unsigned i = 0; i < ATOLL_ENSEMBLE_MEMBER_LIMIT; i++)
        full.members[i] = (struct atoll_ensemble_member){i, i, 0, UINT32_MAX};
    for (unsigned i = 0; i < DRAWS; i++) {
        struct atoll_id id = id_of(i);
        int model = atoll_ensemble_choose(&full, 0, &id);
        assert_in_range(model, 1, ATOLL_ENSEMBLE_MEMBER_LIMIT - 1);
        assert_int_equal(model, atoll_ensemble_choose(&full, 0, &id));
        seen |= 1u << model;
    }
    assert_int_equal(seen, (1u << ATOLL_ENSEMBLE_MEMBER_LIMIT) - 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_is_drawn_by_weight),
        cmocka_unit_test(test_generations_schedule),
        cmocka_unit_test(test_without_members_or_weights),
        cmocka_unit_test(test_the_draw_follows_from_the_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
