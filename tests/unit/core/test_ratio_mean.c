#include "tests/support/expect.h"

#include <math.h>

#include "core/ratio_mean.h"

/* Of n ratios with the same relative interval it is sqrt(n) times narrower. */
static void the_interval_shrinks_with_the_root(void **state)
{
    struct atoll_ratio_mean mean = {0};
    double lo, hi;
    (void)state;
    for (int i = 0; i < 4; i++)
        atoll_ratio_mean_add(&mean, i % 2 ? 2 : 8, i % 2 ? 2 / 1.21 : 8 / 1.21, i % 2 ? 2 * 1.44 : 8 * 1.44);
    expect_close(atoll_ratio_mean_value(&mean, &lo, &hi), 4, 1e-12);
    expect_close(lo, 4 / 1.1, 1e-12);
    expect_close(hi, 4 * 1.2, 1e-12);
}

static void one_without_takes_it_away(void **state)
{
    struct atoll_ratio_mean mean = {0};
    double lo = 7, hi = 7;
    (void)state;
    assert_true(atoll_ratio_mean_value(&mean, &lo, &hi) == 0 && lo == 0 && hi == 0);
    atoll_ratio_mean_add(&mean, 3, 0, 0);
    atoll_ratio_mean_add(&mean, 3, 2.9, 3.1);
    expect_close(atoll_ratio_mean_value(&mean, &lo, &hi), 3, 1e-12);
    assert_true(lo == 0 && hi == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_interval_shrinks_with_the_root),
        cmocka_unit_test(one_without_takes_it_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
