#include "tests/unit/bench/recorded.h"

#include <math.h>

#include "bench/curve.h"

/* 3 x 3 without a corner and with one failure: times 11..17 ms */
static void of_random_search(void **state)
{
    struct atoll_t4 *t4 = recorded_grid(3);
    struct atoll_baseline baseline;
    /* from the worst, at most 6: round(M * 8 / (M + 1)) */
    static const double expected_ms[] = {13, 12, 11, 11, 11};
    assert_int_equal(atoll_baseline_init(&baseline, t4, NULL), 0);
    assert_int_equal(baseline.count, 7);
    for (size_t m = 1; m <= 5; m++)
        expect_close(atoll_baseline_at(&baseline, m), expected_ms[m - 1] * 1e6, 1e-12);
    atoll_baseline_fini(&baseline);
    atoll_t4_destroy(t4);
}

static void quantiles_are_by_rank(void **state)
{
    struct atoll_baseline baseline = {5, (double[]){1, 2, 3, 100, 200}};
    struct atoll_curves curves;
    assert_int_equal(atoll_curves_init(&curves, 4, 3, NULL), 0);
    atoll_curves_set(&curves, 0, 1, 100); /* then better */
    atoll_curves_set(&curves, 0, 2, 1);
    atoll_curves_set(&curves, 1, 1, 200);
    atoll_curves_set(&curves, 2, 1, 1);
    /* run 3 never finds anything: the worst; past the budget is no place */
    atoll_curves_set(&curves, 3, 4, 1);
    expect_close(atoll_curves_quantile(&curves, &baseline, 1, 0.5), 200,
                 1e-12); /* ranks 0 3 4 4: 3.5, even is 4 */
    expect_close(atoll_curves_quantile(&curves, &baseline, 2, 0.5), 3, 1e-12); /* ranks 0 0 4 4 */
    expect_close(atoll_curves_quantile(&curves, &baseline, 3, 0), 1, 1e-12);
    expect_close(atoll_curves_quantile(&curves, &baseline, 3, 1), 200, 1e-12);
    atoll_curves_fini(&curves);
}

static void scores(void **state)
{
    /* random: ranks from the worst of 1, 2, 3 evaluations: round(6/2), round(12/3), round(18/4) = 3, 4, 4 */
    struct atoll_baseline baseline = {5, (double[]){10, 20, 30, 40, 50}};
    struct atoll_curves curves;
    double error = -1;
    assert_int_equal(atoll_curves_init(&curves, 1, 3, NULL), 0);
    assert_true(isinf(curves.best[0]));
    atoll_curves_set(&curves, 0, 1, 20);
    expect_close(atoll_curves_score(&curves, &baseline, 1), 0, 1e-12); /* random has 20 */
    atoll_curves_set(&curves, 0, 1, 10);
    expect_close(atoll_curves_score(&curves, &baseline, 1), 1, 1e-12);
    atoll_curves_set(&curves, 0, 1, 40);
    expect_close(atoll_curves_score(&curves, &baseline, 1), -2, 1e-12);
    expect_close(atoll_curves_score(&curves, &baseline, 3), -2, 1e-12); /* random is done at 2 */
    assert_int_equal(atoll_curves_score_error(&curves, &baseline, 3, 10, &error, NULL), 0);
    expect_close(error, 0, 1e-12); /* of one run */
    atoll_curves_fini(&curves);
}

static void a_score_of_unlike_runs_has_an_error(void **state)
{
    struct atoll_baseline baseline = {5, (double[]){10, 20, 30, 40, 50}};
    struct atoll_curves curves;
    double error = 0;
    assert_int_equal(atoll_curves_init(&curves, 3, 1, NULL), 0);
    atoll_curves_set(&curves, 0, 1, 10);
    atoll_curves_set(&curves, 1, 1, 30);
    atoll_curves_set(&curves, 2, 1, 50);
    expect_close(atoll_curves_score(&curves, &baseline, 1), -1, 1e-12);
    assert_int_equal(atoll_curves_score_error(&curves, &baseline, 1, 400, &error, NULL), 0);
    assert_true(error > 1 &&
                error < 2); /* medians of three draws: scores 1, -1, -3 with 7/27, 13/27, 7/27: 1.44 */
    atoll_curves_fini(&curves);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_random_search),
        cmocka_unit_test(quantiles_are_by_rank),
        cmocka_unit_test(scores),
        cmocka_unit_test(a_score_of_unlike_runs_has_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
