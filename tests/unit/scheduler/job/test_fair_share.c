#include "tests/support/expect.h"

#include "scheduler/job/job_submitter.h"

/* As the job submitter does it: the first of those that nobody is before. */
static int due(const struct atoll_fair_share_claim *claims, int count)
{
    struct atoll_fair_share_claim none = {.missing = 0};
    int best = -1;

    for (int i = 0; i < count; i++)
        if (atoll_fair_share_is_before(&claims[i], best < 0 ? &none : &claims[best]))
            best = i;
    return best;
}

static void test_who_is_due(void **state)
{
    static const struct {
        struct atoll_fair_share_claim claims[3];
        int due;
    } cases[] = {
        {{{0, 1, 0, 0, 1}, {0, 1, 0, 0, 1}, {9, 1, 0, 0, 1}}, -1}, /* nobody wants anything */
        {{{0, 1, 0, 1, 0}, {0, 1, 0, 9, 0}, {9, 1, 0, 1, 0}}, -1}, /* no room */
        {{{0, 1, 0, 1, 1}, {0, 1, 0, 1, 1}, {0, 1, 0, 1, 1}}, 0},  /* equals: the older one */
        {{{0, 1, 0, 1, 1}, {5, 1, 7, 1, 1}, {4, 9, 0, 1, 1}}, 1},  /* priority before share */
        {{{0, 1, 0, 1, 1}, {5, 1, 0, 0, 1}, {4, 1, 0, 1, 0}}, 0},  /* what has no turn holds nobody up */
        {{{0, 1, 2, 1, 1}, {0, 1, 1, 1, 1}, {0, 1, 1, 1, 1}}, 1},  /* least for its share */
        {{{0, 4, 3, 1, 1}, {0, 1, 1, 1, 1}, {0, 2, 2, 1, 1}}, 0},  /* 0.75 before 1 */
        {{{0, 1e6, 9, 1, 1}, {0, 1e-6, 1, 1, 1}, {0, 1, 0, 1, 1}}, 2}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(due(cases[i].claims, 3), cases[i].due);
}

static void test_jobs_are_divided_by_shares(void **state)
{
    struct atoll_fair_share_claim claims[3] = {{0, 1, 0, 100, 1}, {0, 3, 0, 100, 1}, {0, 6, 0, 5, 1}};
    for (int i = 0; i < 45; i++) {
        int k = due(claims, 3);
        claims[k].live++;
        claims[k].missing--;
    }
    assert_int_equal(claims[2].live, 5); /* it wants no more, and the others go on in their ratio */
    assert_int_equal(claims[0].live, 10);
    assert_int_equal(claims[1].live, 30);
}

static void test_how_many_elements(void **state)
{
    static const struct {
        struct atoll_fair_share_array array;
        unsigned count;
    } cases[] = {{{8, 0, 0, 0, 1}, 8},    {{8, 0, 0, 0, 0}, 1},  {{8, 10, 7, 0, 1}, 3}, {{8, 10, 9, 0, 1}, 1},
                 {{8, 10, 10, 0, 1}, 1},  {{8, 3, 70, 0, 1}, 1}, {{8, 0, 0, 4, 1}, 4},  {{8, 6, 0, 4, 1}, 4},
                 {{1, 0, 0, 1001, 1}, 1}, {{0, 0, 0, 0, 1}, 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(atoll_fair_share_elements(&cases[i].array), cases[i].count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_who_is_due),
                                       cmocka_unit_test(test_jobs_are_divided_by_shares),
                                       cmocka_unit_test(test_how_many_elements)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
