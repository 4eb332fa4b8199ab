/* test_fitness.c - the numbers of MEASUREMENT.md 8. */
#include "tests/support/expect.h"

#include <math.h>

#include "core/fitness.h"

static const struct {
    enum atoll_fitness_form form;
    enum atoll_verdict verdict;
    double time_ns, baseline_ns, floor_ns, expected;
} rows[] = {
    {ATOLL_FITNESS_LOG, ATOLL_V_BAD_PLAN, 1, 2, 1, 0},
    {ATOLL_FITNESS_LOG, ATOLL_V_FORBIDDEN, 1, 2, 1, 0},
    {ATOLL_FITNESS_LOG, ATOLL_V_COMPILE_ERROR, 1, 2, 1, 0},
    {ATOLL_FITNESS_LOG, ATOLL_V_INFRASTRUCTURE, 1, 2, 1, 0},
    {ATOLL_FITNESS_LOG, ATOLL_V_WRONG, 1, 2, 1, 0.1},
    {ATOLL_FITNESS_LOG, ATOLL_V_CRASH, 1, 2, 1, 0.1},
    {ATOLL_FITNESS_CLIPPED, ATOLL_V_IMPOSSIBLE, 1, 2, 1, 0.1},
    {ATOLL_FITNESS_LOG, ATOLL_V_CORRECT, 100, 100, 1, 0.5},
    {ATOLL_FITNESS_LOG, ATOLL_V_CORRECT, 10, 100, 1, 0.75},
    {ATOLL_FITNESS_LOG, ATOLL_V_CORRECT, 1, 100, 1, 1},
    {ATOLL_FITNESS_LOG, ATOLL_V_CORRECT, 0.5, 100, 1, 1},
    {ATOLL_FITNESS_LOG, ATOLL_V_CORRECT, 200, 100, 1, 0.5},
    {ATOLL_FITNESS_LOG, ATOLL_V_CORRECT, 10, 100, 0, 0.75},
    {ATOLL_FITNESS_LOG, ATOLL_V_CORRECT, 100, 100, 100, 1},
    {ATOLL_FITNESS_LOG, ATOLL_V_CORRECT, 110, 100, 120, 0.5},
    {ATOLL_FITNESS_LOG, ATOLL_V_CORRECT, 10, 100, 610, 0.75}, /* a floor that both beat is none */
    {ATOLL_FITNESS_LOG, ATOLL_V_CORRECT, 10, 100, 50, 0.75},
    {ATOLL_FITNESS_LOG, ATOLL_V_CORRECT, 10, 0, 0, 0.5},
    {ATOLL_FITNESS_LOG, ATOLL_V_CORRECT, 0, 10, 0, 0.5},
    {ATOLL_FITNESS_LOG, ATOLL_V_CORRECT, NAN, 10, 0, 0.5},
    {ATOLL_FITNESS_CLIPPED, ATOLL_V_CORRECT, 100, 100, 1, 0.75},
    {ATOLL_FITNESS_CLIPPED, ATOLL_V_CORRECT, 50, 100, 1, 1},
    {ATOLL_FITNESS_CLIPPED, ATOLL_V_CORRECT, 10, 100, 1, 1},
    {ATOLL_FITNESS_CLIPPED, ATOLL_V_CORRECT, 400, 100, 1, 0.5625},
};

static void test_rows(void **state)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        double f = atoll_fitness(rows[i].form, rows[i].verdict, rows[i].time_ns, rows[i].baseline_ns,
                                 rows[i].floor_ns);
        if (!(fabs(f - rows[i].expected) < 1e-12))
            fail_msg("row %zu: %.17g, expected %.17g", i, f, rows[i].expected);
    }
}

static void test_trusted_floors(void **state)
{
    (void)state;
    assert_true(atoll_floor_trusted_ns(100, 0) == 100); /* nothing was faster yet */
    assert_true(atoll_floor_trusted_ns(100, 250) == 100);
    assert_true(atoll_floor_trusted_ns(100, 100) == 100);
    assert_true(atoll_floor_trusted_ns(100, 95.5) == 100); /* 104.7 % */
    assert_true(atoll_floor_trusted_ns(100, 95) == 0);
    assert_true(atoll_floor_trusted_ns(100, 16) == 0);
    assert_true(atoll_floor_trusted_ns(0, 16) == 0);
    assert_true(atoll_floor_trusted_ns(NAN, 16) == 0);
}

static void test_slope(void **state)
{
    double last = 0;
    for (double t = 100; t > 1; t *= 0.9) {
        double f = atoll_fitness(ATOLL_FITNESS_LOG, ATOLL_V_CORRECT, t, 100, 1);
        assert_true(f > last && f <= 1);
        last = f;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_trusted_floors),
                                       cmocka_unit_test(test_slope)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
