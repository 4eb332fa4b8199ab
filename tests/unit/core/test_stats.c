/* The simulations draw from the counter-based generator: the same numbers on every machine, so their counts
 * are exact and the bounds around them only say what a right implementation may give. */
#include "tests/support/expect.h"

#include <math.h>

#include "base/random.h"
#include "core/stats.h"

#define SEEDS 4000

static double normal(struct atoll_random *random)
{
    double u = atoll_random_unit(atoll_random_next(random)), v = atoll_random_unit(atoll_random_next(random));
    return sqrt(-2.0 * log1p(-u)) * cos(2.0 * M_PI * v);
}

static void test_summary_of_few(void **state)
{
    struct atoll_summary s;
    double scratch[5];
    static const double values[] = {30, 10, 50, 20, 40};
    atoll_summary_of(NULL, 0, NULL, &s);
    assert_int_equal(s.count, 0);
    assert_true(s.median <= 0.0 && s.max <= 0.0 && s.relative_half_width <= 0.0);
    atoll_summary_of(values, 1, scratch, &s);
    assert_true(s.min >= 30 && s.median >= 30 && s.max <= 30 && isinf(s.relative_half_width));
    atoll_summary_of(values, 5, scratch, &s);
    expect_close(s.median, 30, 0);
    expect_close(s.p10, 14, 1e-12);
    expect_close(s.p90, 46, 1e-12);
    expect_close(s.lo95, 10, 0);
    expect_close(s.hi95, 50, 0);
    assert_true(isinf(s.relative_half_width));
    atoll_summary_of(values, 4, scratch, &s);
    expect_close(s.median, 25, 0);
}

/* Ranks by exact integer arithmetic: the largest r with sum of C(n, k <= r) <= 2.5 % of 2^n. */
static void test_interval_ranks(void **state)
{
    static const struct {
        size_t count, rank;
    } cases[] = {{6, 0}, {10, 1}, {25, 7}, {50, 17}, {100, 39}, {500, 227}, {2000, 955}, {4096, 1984}};
    static double values[4096], scratch[4096];
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        size_t n = cases[i].count;
        for (size_t j = 0; j < n; j++)
            values[j] = (double)((j * 2731) % n + 1); /* 1..n in another order: 2731 is prime */
        struct atoll_summary s;
        atoll_summary_of(values, n, scratch, &s);
        expect_close(s.lo95, (double)(cases[i].rank + 1), 0);
        expect_close(s.hi95, (double)(n - cases[i].rank), 0);
        expect_close(s.median, (double)(n + 1) / 2.0, 1e-15);
        expect_close(s.relative_half_width, (s.hi95 - s.lo95) / (double)(n + 1), 1e-12);
    }
}

static void test_interval_covers_the_median(void **state)
{
    static const size_t counts[] = {7, 20, 61};
    for (size_t i = 0; i < 3; i++) {
        int covered = 0;
        for (atoll_u64 seed = 0; seed < SEEDS; seed++) {
            struct atoll_random random = {seed + 1000 * i, 0};
            double values[64], scratch[64];
            for (size_t j = 0; j < counts[i]; j++)
                values[j] = 100.0 + exp(normal(&random)); /* skewed, median 101 */
            struct atoll_summary s;
            atoll_summary_of(values, counts[i], scratch, &s);
            covered += s.lo95 <= 101.0 && 101.0 <= s.hi95;
        }
        assert_true(covered >= (int)(0.94 * SEEDS));
    }
}

static void test_no_interval_without_positive_median(void **state)
{
    static const double values[8] = {-1, 0, 0, 0, 0, 0, 0, 1};
    double scratch[8];
    struct atoll_summary s;
    atoll_summary_of(values, 8, scratch, &s);
    assert_true(isinf(s.relative_half_width));
}

static void test_normal_quantile(void **state)
{
    static const struct {
        double p, x;
    } cases[] = {{0.5, 0.0},
                 {0.975, 1.959963984540054},
                 {0.025, -1.959963984540054},
                 {0.999, 3.090232306167813},
                 {1e-10, -6.361340902404056},
                 {0.02425, -1.972961},
                 {0.9, 1.2815515655446004}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        expect_close(atoll_normal_quantile(cases[i].p), cases[i].x, i == 5 ? 1e-5 : 1e-12);
    for (int i = 1; i < 1000; i++) {
        double p = i / 1000.0;
        expect_close(0.5 * erfc(-atoll_normal_quantile(p) / M_SQRT2), p, 1e-14);
    }
    assert_true(isinf(atoll_normal_quantile(0.0)) && isinf(atoll_normal_quantile(1.0)));
    assert_true(isnan(atoll_normal_quantile(NAN)));
}

/* Closed forms for 1 to 4 degrees of freedom. */
static double student_closed(double t, int degrees)
{
    double s = t / sqrt(3.0), u = 1.0 + t * t / 4.0;
    switch (degrees) {
    case 1: return 0.5 + atan(t) / M_PI;
    case 2: return 0.5 + t / (2.0 * sqrt(2.0 + t * t));
    case 3: return 0.5 + (s / (1.0 + s * s) + atan(s)) / M_PI;
    default: return 0.5 + 0.375 * t / sqrt(u) * (1.0 - t * t / (12.0 * u));
    }
}

static void test_student_cdf(void **state)
{
    for (int degrees = 1; degrees <= 4; degrees++)
        for (double t = -12.0; t <= 12.0; t += 0.37)
            expect_close(atoll_student_cdf(t, degrees), student_closed(t, degrees), 1e-13);
    for (double t = -5.0; t <= 5.0; t += 0.5) {
        expect_close(atoll_student_cdf(t, 1e7), 0.5 * erfc(-t / M_SQRT2), 1e-6);
        expect_close(atoll_student_cdf(t, 13.5) + atoll_student_cdf(-t, 13.5), 1.0, 1e-14);
    }
    expect_close(atoll_student_cdf(2.2281388519649385, 10), 0.975, 1e-12);
    assert_true(atoll_student_cdf(-40.0, 15) > 0.0 && atoll_student_cdf(-40.0, 15) < 1e-15);
    assert_true(atoll_student_cdf(HUGE_VAL, 5) >= 1.0 && atoll_student_cdf(-HUGE_VAL, 5) <= 0.0);
    assert_true(isnan(atoll_student_cdf(NAN, 5)) && isnan(atoll_student_cdf(1.0, 0.0)));
}

/* Runs the planned looks after every pairs_per_look pairs; 1 when it ended with BETTER. */
static int compare(atoll_u64 seed, double mean, double noise, int heavy, double alpha, unsigned looks,
                   size_t pairs_per_look)
{
    struct atoll_random random = {atoll_mix64(seed), 0};
    struct atoll_paired_test test = {.margin = log(1.01), .alpha = alpha, .looks = looks};
    enum atoll_comparison result = ATOLL_COMPARE_MORE;
    double pairs[128], p, ratio;
    size_t count = 0;
    while (result == ATOLL_COMPARE_MORE) {
        for (size_t i = 0; i < pairs_per_look; i++) {
            int is_outlier = heavy && atoll_random_below(atoll_random_next(&random), 10) == 0;
            pairs[count++] = mean + noise * normal(&random) * (is_outlier ? 10.0 : 1.0);
        }
        result = atoll_paired_look(&test, pairs, count, &p, &ratio);
        assert_true(p >= 0.0 && p <= 1.0 && ratio > 0.0);
        assert_true(test.look <= looks);
    }
    return result == ATOLL_COMPARE_BETTER;
}

static int count_better(double mean, double noise, int heavy, double alpha, unsigned looks,
                        size_t pairs_per_look)
{
    int better = 0;
    for (atoll_u64 seed = 0; seed < SEEDS; seed++)
        better += compare(seed, mean, noise, heavy, alpha, looks, pairs_per_look);
    return better;
}

/* Exactly at the margin: the share of BETTER is at most alpha, within three standard deviations of the
 * simulation. */
static void test_false_promotions(void **state)
{
    static const struct {
        double alpha;
        unsigned looks;
        size_t pairs;
        int heavy;
        double least; /* share that shows the test is not just never promoting */
    } cases[] = {{0.05, 1, 16, 0, 0.03},  {0.05, 1, 40, 0, 0.03},  {0.05, 4, 8, 0, 0.02},
                 {0.05, 4, 16, 1, 0.005}, {0.01, 3, 16, 0, 0.002}, {0.2, 1, 4, 0, 0.1},
                 {0.05, 8, 4, 0, 0.015}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        double alpha = cases[i].alpha;
        double share = count_better(log(1.01), 0.01, cases[i].heavy, alpha, cases[i].looks, cases[i].pairs) /
                       (double)SEEDS;
        if (share > alpha + 3.0 * sqrt(alpha * (1.0 - alpha) / SEEDS) || share < cases[i].least)
            fail_msg("case %zu: %g of comparisons at the margin are promoted, alpha %g", i, share, alpha);
    }
}

/* An elite against itself, as in null controls: all but never. */
static void test_null_controls_are_not_promoted(void **state)
{
    assert_int_equal(count_better(0.0, 0.01, 0, 0.001, 4, 8), 0);
    assert_in_range(count_better(0.0, 0.05, 1, 0.001, 4, 8), 0, 6);
}

static void test_power(void **state)
{
    assert_true(count_better(log(1.05), 0.01, 0, 0.001, 1, 16) >= (int)(0.999 * SEEDS));
    assert_true(count_better(log(1.05), 0.01, 1, 0.001, 4, 16) >= (int)(0.97 * SEEDS));
    assert_true(count_better(log(1.02), 0.01, 0, 0.01, 4, 16) >= (int)(0.95 * SEEDS));
}

static void test_looks_and_futility(void **state)
{
    static const double slower[] = {-0.05, -0.051, -0.049, -0.05, -0.0505, -0.0495};
    static const double unclear[] = {0.0, 0.02, 0.0, 0.02, 0.0, 0.02};
    static const double equal[] = {0.05, 0.05, 0.05, 0.05};
    static const double wild[] = {0.05, NAN, 0.05, 0.05};
    double p, ratio;
    struct atoll_paired_test test = {.margin = log(1.01), .alpha = 0.05, .looks = 3};
    assert_int_equal(atoll_paired_look(&test, slower, 3, &p, &ratio), ATOLL_COMPARE_MORE);
    assert_int_equal(test.look, 0);
    assert_int_equal(atoll_paired_look(&test, slower, 6, &p, &ratio), ATOLL_COMPARE_NOT_BETTER);
    assert_int_equal(test.look, 1);
    expect_close(ratio, exp(-0.05), 1e-12);
    assert_true(p > 0.999);
    assert_int_equal(atoll_paired_look(&test, unclear, 6, &p, &ratio), ATOLL_COMPARE_MORE);
    assert_int_equal(atoll_paired_look(&test, unclear, 6, &p, &ratio), ATOLL_COMPARE_NOT_BETTER);
    struct atoll_paired_test again = {.margin = log(1.01), .alpha = 0.05, .looks = 3};
    assert_int_equal(atoll_paired_look(&again, equal, 4, &p, &ratio), ATOLL_COMPARE_BETTER);
    assert_int_equal(atoll_paired_look(&again, wild, 4, &p, &ratio), ATOLL_COMPARE_NOT_BETTER);
}

/* One comparison with the referee's looks; planned: 16, or 0 when the test is not told how many pairs there will be.  Adds to what
 * was played and won. */
static void play(atoll_u64 seed, double gain, double noise, size_t planned, size_t *played, size_t *won)
{
    static const size_t looks[] = {6, 10, 16};
    struct atoll_random random = {atoll_mix64(seed), 0};
    struct atoll_paired_test test = {.margin = log(1.01), .alpha = 0.005, .looks = 3, .pairs = planned};
    enum atoll_comparison result = ATOLL_COMPARE_MORE;
    double pairs[16], p, ratio;
    size_t count = 0;
    for (size_t look = 0; result == ATOLL_COMPARE_MORE; look++) {
        while (count < looks[look])
            pairs[count++] = log1p(gain) + noise * normal(&random);
        result = atoll_paired_look(&test, pairs, count, &p, &ratio);
    }
    *played += count;
    *won += result == ATOLL_COMPARE_BETTER;
}

/* What cannot win any more ends at the first look, and next to nothing that would have won does. */
static void test_no_prospect_ends_early(void **state)
{
    static const struct {
        double gain, noise;
        size_t most_pairs; /* a comparison, on average */
    } rows[] = {{0.0, 0.03, 7},   {0.01, 0.12, 8}, {-0.02, 0.12, 7},
                {0.05, 0.03, 13}, {0.1, 0.12, 13}, {0.2, 0.12, 12}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
        size_t played = 0, won = 0, played_to_the_end = 0, won_at_the_end = 0;
        for (atoll_u64 seed = 0; seed < SEEDS; seed++) {
            play(seed, rows[row].gain, rows[row].noise, 16, &played, &won);
            play(seed, rows[row].gain, rows[row].noise, 0, &played_to_the_end, &won_at_the_end);
        }
        if (played > rows[row].most_pairs * SEEDS || won + SEEDS / 100 < won_at_the_end)
            fail_msg("row %zu: %zu pairs of %zu, %zu of %zu won", row, played, played_to_the_end, won,
                     won_at_the_end);
    }
}

/* One absurd pair in twenty does not decide. */
static void test_winsorising(void **state)
{
    double pairs[20], p, ratio;
    for (int i = 0; i < 20; i++)
        pairs[i] = i % 2 ? 0.001 : -0.001;
    pairs[7] = 50.0;
    struct atoll_paired_test test = {.margin = log(1.01), .alpha = 0.05, .looks = 1};
    assert_int_equal(atoll_paired_look(&test, pairs, 20, &p, &ratio), ATOLL_COMPARE_NOT_BETTER);
    assert_true(fabs(ratio - 1.0) < 0.001);
}

/* Student's interval by hand: nothing is winsorised below ten pairs; t(0.975, 4) = 2.776445, standard deviation 0.1. */
static void test_paired_interval(void **state)
{
    static const double pairs[] = {0.4, 0.5, 0.5, 0.5, 0.6}, equal[] = {0.5, 0.5, 0.5, 0.5};
    double lo, hi, deviation = sqrt(0.02 / 4) / sqrt(5);
    expect_close(atoll_paired_interval(pairs, 5, &lo, &hi), exp(0.5), 1e-12);
    assert_true(fabs(log(lo) - (0.5 - 2.776445105 * deviation)) < 1e-8);
    assert_true(fabs(log(hi) - (0.5 + 2.776445105 * deviation)) < 1e-8);
    atoll_paired_interval(equal, 4, &lo, &hi);
    assert_true(fabs(lo - exp(0.5)) < 1e-12 && fabs(hi - exp(0.5)) < 1e-12);
    atoll_paired_interval(pairs, 3, &lo, &hi);
    assert_true(lo <= 0 && hi <= 0);
    atoll_paired_interval((const double[]){0.1, 0.2, HUGE_VAL, 0.3}, 4, &lo, &hi);
    assert_true(lo <= 0 && hi <= 0);
}

/* A record of 33 times (31 to 35) and a measurement of 110 (100 to 121) do not agree; 36 (34 to 38) does. */
static void test_interval_gap(void **state)
{
    assert_true(fabs(atoll_interval_gap(100, 121, 31, 35) - 100.0 / 35) < 1e-12);
    assert_true(fabs(atoll_interval_gap(31, 35, 100, 121) - 100.0 / 35) < 1e-12);
    assert_true(fabs(atoll_interval_gap(34, 38, 31, 35) - 1) < 1e-12);
    assert_true(fabs(atoll_interval_gap(35, 38, 31, 35) - 1) < 1e-12); /* they touch */
    assert_true(fabs(atoll_interval_gap(30, 40, 33, 33) - 1) < 1e-12); /* a record without an interval */
}

/* Newcombe 1998, table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29. */
static void test_share_interval(void **state)
{
    static const struct {
        size_t hits, count;
        double lo, hi;
    } cases[] = {{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611},
                 {20, 20, 0.8389, 1},       {1, 29, 0.0061, 0.1718},   {0, 0, 0, 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        double lo, hi;
        atoll_share_interval(cases[i].hits, cases[i].count, &lo, &hi);
        assert_true(fabs(lo - cases[i].lo) < 5e-5 && fabs(hi - cases[i].hi) < 5e-5);
        assert_true(lo >= 0 && hi <= 1);
    }
    for (size_t n = 1; n <= 100; n++) { /* a share is within its interval */
        double lo, hi;
        atoll_share_interval(n, n, &lo, &hi);
        assert_true(hi == 1);
        atoll_share_interval(0, n, &lo, &hi);
        assert_true(lo == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_summary_of_few),
        cmocka_unit_test(test_interval_ranks),
        cmocka_unit_test(test_interval_covers_the_median),
        cmocka_unit_test(test_no_interval_without_positive_median),
        cmocka_unit_test(test_normal_quantile),
        cmocka_unit_test(test_student_cdf),
        cmocka_unit_test(test_false_promotions),
        cmocka_unit_test(test_null_controls_are_not_promoted),
        cmocka_unit_test(test_power),
        cmocka_unit_test(test_looks_and_futility),
        cmocka_unit_test(test_no_prospect_ends_early),
        cmocka_unit_test(test_winsorising),
        cmocka_unit_test(test_paired_interval),
        cmocka_unit_test(test_interval_gap),
        cmocka_unit_test(test_share_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
