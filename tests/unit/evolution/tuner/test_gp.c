#include <math.h>
#include "tests/support/expect.h"

#include <string.h>

#include "base/random.h"
#include "evolution/tuner/gp.h"

static struct atoll_space grid(size_t count, size_t radix)
{
    struct atoll_space s;
    memset(&s, 0, sizeof(s));
    s.count = count;
    for (size_t i = 0; i < count; i++) {
        s.params[i].value_count = radix;
        for (size_t v = 0; v < radix; v++)
            s.params[i].values[v] = (int64_t)1 << v;
    }
    return s;
}

static struct atoll_point random_point(const struct atoll_space *s, struct atoll_random *random)
{
    struct atoll_point p;
    memset(&p, 0, sizeof(p));
    for (size_t i = 0; i < s->count; i++)
        p.digits[i] = (uint8_t)atoll_random_below(atoll_random_next(random), s->params[i].value_count);
    return p;
}

static double truth(const struct atoll_point *p)
{
    double x = p->digits[0] / 7.0, y = p->digits[1] / 7.0;
    return 3 + (x - 0.4) * (x - 0.4) + 2 * (y - 0.7) * (y - 0.7) + x * y;
}

/* Rows at random points, some with more noise, some foreign. */
static void append_rows(struct atoll_gp *gp, const struct atoll_space *s, size_t count,
                        struct atoll_point *ret)
{
    struct atoll_random random = {11, 0};
    for (size_t i = 0; i < count; i++) {
        struct atoll_gp_row row = {random_point(s, &random), i % 5 ? 0 : 0.01, i % 7 == 6};
        ret[i] = row.point;
        atoll_gp_append(gp, &row);
    }
}

static void a_covariance_is_one_at_home_and_falls_with_distance(void **state)
{
    struct atoll_space s = grid(3, 8);
    struct atoll_gp_scale *scale = atoll_gp_scale_create(&s);
    struct atoll_point a = {{3, 3, 3}}, near = {{4, 3, 3}}, far = {{7, 3, 3}}, other = {{7, 0, 7}};
    for (size_t i = 0; i < 3; i++)
        atoll_gp_scale_set(scale, i, 0.6);
    assert_true(atoll_gp_scale_covariance(scale, &a, &a) == 1);
    assert_true(atoll_gp_scale_covariance(scale, &a, &near) == atoll_gp_scale_covariance(scale, &near, &a));
    assert_true(atoll_gp_scale_covariance(scale, &a, &near) > atoll_gp_scale_covariance(scale, &a, &far));
    assert_true(atoll_gp_scale_covariance(scale, &a, &far) > atoll_gp_scale_covariance(scale, &a, &other));
    assert_true(atoll_gp_scale_covariance(scale, &a, &other) > 0);
    double before = atoll_gp_scale_covariance(scale, &a, &far);
    atoll_gp_scale_set(scale, 0, 20);
    assert_true(atoll_gp_scale_covariance(scale, &a, &far) > before);
    atoll_gp_scale_destroy(scale);
    atoll_gp_scale_destroy(NULL);
}

/* Solves A x = b by Gaussian elimination: an oracle that shares nothing with a Cholesky factor. */
static void eliminate(double a[24][25], size_t n, double *ret_x)
{
    for (size_t c = 0; c < n; c++) {
        size_t pivot = c;
        for (size_t r = c + 1; r < n; r++)
            pivot = fabs(a[r][c]) > fabs(a[pivot][c]) ? r : pivot;
        for (size_t k = 0; k <= n; k++) {
            double held = a[c][k];
            a[c][k] = a[pivot][k];
            a[pivot][k] = held;
        }
        for (size_t r = 0; r < n; r++)
            for (size_t k = n + 1; r != c && k-- > c;)
                a[r][k] -= a[r][c] / a[c][c] * a[c][k];
    }
    for (size_t c = 0; c < n; c++)
        ret_x[c] = a[c][n] / a[c][c];
}

/* Mean and variance by the textbook's formulas. */
static void predictions_are_the_textbooks(void **state)
{
    struct atoll_space s = grid(2, 8);
    struct atoll_gp *gp = atoll_gp_create(&s, NULL);
    struct atoll_gp_kernel kernel = atoll_gp_kernel_default();
    struct atoll_gp_scale *scale = atoll_gp_scale_create(&s);
    static double a[24][25];
    struct atoll_random random = {2, 0};
    struct atoll_gp_target targets[24];
    struct atoll_point points[24], query = {{2, 6}};
    struct atoll_gp_weights weights;
    double mean, variance, x[24], k[24], given = 3.5, expected = given, reduction = 0;
    for (size_t i = 0; i < 2; i++)
        atoll_gp_scale_set(scale, i, 0.6);
    assert_int_equal(atoll_gp_reset(gp, &kernel, NULL, 0, NULL), 0);
    for (size_t i = 0; i < 24; i++) {
        struct atoll_gp_row row = {random_point(&s, &random), 0.02, 0};
        points[i] = row.point;
        targets[i] = (struct atoll_gp_target){truth(&points[i]), ATOLL_GP_EXACT};
        atoll_gp_append(gp, &row);
    }
    atoll_gp_solve(gp, targets, &given, &weights);
    atoll_gp_predict(gp, &query, &weights, 1, &mean, &variance);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < 24; i++) {
            for (size_t j = 0; j < 24; j++) {
                a[i][j] = atoll_gp_scale_covariance(scale, &points[i], &points[j]) +
                          (i == j ? 0.02 + atoll_gp_noise(gp) : 0);
            }
            k[i] = atoll_gp_scale_covariance(scale, &query, &points[i]);
            a[i][24] = pass ? k[i] : targets[i].value - given;
        }
        eliminate(a, 24, x);
        for (size_t i = 0; i < 24; i++)
            *(pass ? &reduction : &expected) += k[i] * x[i];
    }
    assert_true(fabs(mean - expected) < 1e-9);
    assert_true(fabs(variance - (1 - reduction)) < 1e-9);
    atoll_gp_scale_destroy(scale);
    atoll_gp_destroy(gp);
}

static void the_pool_says_what_a_single_prediction_says(void **state)
{
    struct atoll_space s = grid(4, 8);
    struct atoll_gp *gp = atoll_gp_create(&s, NULL);
    struct atoll_gp_kernel kernel = atoll_gp_kernel_default();
    struct atoll_random random = {3, 0};
    struct atoll_point pool[40], points[60];
    struct atoll_gp_target targets[60];
    struct atoll_gp_weights weights;
    float means[40];
    for (size_t i = 0; i < 40; i++)
        pool[i] = random_point(&s, &random);
    assert_int_equal(atoll_gp_reset(gp, &kernel, pool, 40, NULL), 0);
    append_rows(gp, &s, 60, points);
    assert_int_equal(atoll_gp_row_count(gp), 60);
    for (size_t i = 0; i < 60; i++)
        targets[i] = (struct atoll_gp_target){truth(&points[i]), i % 4 ? ATOLL_GP_EXACT : ATOLL_GP_UNKNOWN};
    atoll_gp_solve(gp, targets, NULL, &weights);
    atoll_gp_pool_means(gp, &weights, means);
    for (size_t i = 0; i < 40; i++) {
        double mean, variance;
        atoll_gp_predict(gp, &pool[i], &weights, 1, &mean, &variance);
        assert_true(fabs(mean - (double)means[i]) < 1e-3);
        assert_true(fabs(variance - (double)atoll_gp_pool_variances(gp)[i]) < 1e-4);
    }
    atoll_gp_destroy(gp);
}

/* The same rows have the same bits, whether a reset came before or other pools did. */
static void the_same_rows_give_the_same_bits(void **state)
{
    struct atoll_space s = grid(3, 8);
    struct atoll_gp *a = atoll_gp_create(&s, NULL), *b = atoll_gp_create(&s, NULL);
    struct atoll_gp_kernel kernel = atoll_gp_kernel_default();
    struct atoll_random random = {3, 0};
    struct atoll_point pool[9], points[50], query = {{1, 2, 3}};
    struct atoll_gp_target targets[50];
    struct atoll_gp_weights wa, wb;
    double ma, mb, va, vb;
    for (size_t i = 0; i < 9; i++)
        pool[i] = random_point(&s, &random);
    assert_int_equal(atoll_gp_reset(a, &kernel, pool, 9, NULL), 0);
    append_rows(a, &s, 30, points);
    assert_int_equal(atoll_gp_reset(a, &kernel, pool, 3, NULL), 0);
    assert_int_equal(atoll_gp_reset(b, &kernel, pool, 9, NULL), 0);
    append_rows(a, &s, 50, points);
    append_rows(b, &s, 50, points);
    for (size_t i = 0; i < 50; i++)
        targets[i] = (struct atoll_gp_target){truth(&points[i]), ATOLL_GP_EXACT};
    atoll_gp_solve(a, targets, NULL, &wa);
    atoll_gp_solve(b, targets, NULL, &wb);
    atoll_gp_predict(a, &query, &wa, 1, &ma, &va);
    atoll_gp_predict(b, &query, &wb, 1, &mb, &vb);
    assert_true(ma == mb && va == vb && wa.variance == wb.variance);
    atoll_gp_destroy(a);
    atoll_gp_destroy(b);
    atoll_gp_destroy(NULL);
}

static double predict_at(struct atoll_gp *gp, const struct atoll_gp_target *targets, struct atoll_point query,
                         double *ret_variance)
{
    struct atoll_gp_weights w;
    double mean;
    atoll_gp_solve(gp, targets, NULL, &w);
    atoll_gp_predict(gp, &query, &w, 1, &mean, ret_variance);
    return mean;
}

/* An unknown row takes variance away and leaves the mean; a bound lifts what is below it, and only that. */
static void unknown_and_bounded_targets(void **state)
{
    struct atoll_space s = grid(1, 16);
    struct atoll_gp *gp = atoll_gp_create(&s, NULL);
    struct atoll_gp_kernel kernel = atoll_gp_kernel_default();
    struct atoll_gp_row rows[3] = {{{{0}}, 0, 0}, {{{15}}, 0, 0}, {{{7}}, 0, 0}};
    struct atoll_gp_target targets[3] = {{1, ATOLL_GP_EXACT}, {2, ATOLL_GP_EXACT}, {0, ATOLL_GP_UNKNOWN}};
    struct atoll_point query = {{8}};
    double before, after, open, bounded;
    assert_int_equal(atoll_gp_reset(gp, &kernel, NULL, 0, NULL), 0);
    for (size_t i = 0; i < 2; i++)
        atoll_gp_append(gp, &rows[i]);
    double without = predict_at(gp, targets, query, &before);
    atoll_gp_append(gp, &rows[2]);
    double with = predict_at(gp, targets, query, &after);
    assert_true(fabs(with - without) < 1e-12 && after < before / 2);
    open = with;
    targets[2] = (struct atoll_gp_target){9, ATOLL_GP_AT_LEAST};
    bounded = predict_at(gp, targets, query, &after);
    assert_true(bounded > open + 3);
    targets[2].value = -9;
    assert_true(fabs(predict_at(gp, targets, query, &after) - open) < 1e-12);
    atoll_gp_destroy(gp);
}

/* Only the first parameter matters: its length stays short, the others' grow. */
static void fitting_finds_what_matters(void **state)
{
    struct atoll_space s = grid(3, 8);
    struct atoll_gp *gp = atoll_gp_create(&s, NULL);
    struct atoll_gp_kernel kernel = atoll_gp_kernel_default();
    struct atoll_random random = {8, 0};
    struct atoll_gp_row rows[60];
    double targets[60];
    for (size_t i = 0; i < 60; i++) {
        rows[i] = (struct atoll_gp_row){random_point(&s, &random), 0, 0};
        targets[i] = 5 + sin(rows[i].point.digits[0]);
    }
    for (int pass = 0; pass < 4; pass++)
        assert_true(atoll_gp_fit(gp, rows, targets, 60, &kernel) > 0);
    assert_true(atoll_gp_kernel_valid(&kernel));
    assert_true(kernel.scale[0] < kernel.scale[1] && kernel.scale[0] < kernel.scale[2]);
    assert_int_equal(kernel.noise, 0);
    atoll_gp_destroy(gp);
}

/* Foreign rows that say the same are trusted, foreign rows of nonsense are not. */
static void transfer_is_earned(void **state)
{
    struct atoll_space s = grid(2, 8);
    struct atoll_gp *gp = atoll_gp_create(&s, NULL);
    for (int nonsense = 0; nonsense < 2; nonsense++) {
        struct atoll_gp_kernel kernel = atoll_gp_kernel_default();
        struct atoll_random random = {8, 0};
        struct atoll_gp_row rows[80];
        double targets[80];
        for (size_t i = 0; i < 80; i++) {
            rows[i] = (struct atoll_gp_row){random_point(&s, &random), 0, i < 40};
            targets[i] = truth(&rows[i].point) - (i < 40 ? 3.5 : 0);
            if (i < 40 && nonsense)
                targets[i] = atoll_random_unit(atoll_random_next(&random)) - 0.5;
        }
        for (int pass = 0; pass < 4; pass++)
            atoll_gp_fit(gp, rows, targets, 80, &kernel);
        if (nonsense)
            assert_true(kernel.transfer <= 1);
        else
            assert_true(kernel.transfer >= 3);
    }
    atoll_gp_destroy(gp);
}

static void kernels_of_a_file_are_checked(void **state)
{
    struct atoll_gp_kernel kernel = atoll_gp_kernel_default();
    uint8_t *const numbers[] = {&kernel.scale[0], &kernel.scale[15], &kernel.noise, &kernel.texture,
                                &kernel.transfer};
    assert_true(atoll_gp_kernel_valid(&kernel));
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        uint8_t held = *numbers[i];
        *numbers[i] = 99;
        assert_false(atoll_gp_kernel_valid(&kernel));
        *numbers[i] = held;
    }
}

/* One parameter of 8 to 256 in steps of 8, one of two values. */
static struct atoll_space blocks(void)
{
    struct atoll_space s = grid(2, 2);
    s.params[0].value_count = 32;
    for (size_t v = 0; v < 32; v++)
        s.params[0].values[v] = 8 * (int64_t)(v + 1);
    return s;
}

static void a_texture_roughens(void **state)
{
    struct atoll_space s = blocks();
    struct atoll_gp_scale *scale = atoll_gp_scale_create(&s);
    struct atoll_point n96 = {{11, 0}}, n104 = {{12, 0}}, n128 = {{15, 0}}, other = {{15, 1}};
    double smooth[2] = {0}, two_values = 0;
    for (size_t t = 0; t < 3; t++) {
        atoll_gp_scale_texture(scale, &(struct atoll_gp_texture){t == 1 ? 0.5 : 0, t == 2 ? 0.5 : 0});
        for (size_t i = 0; i < 2; i++)
            atoll_gp_scale_set(scale, i, 5);
        double a = atoll_gp_scale_covariance(scale, &n96, &n128),
               b = atoll_gp_scale_covariance(scale, &n104, &n128),
               c = atoll_gp_scale_covariance(scale, &n128, &other);
        assert_true(atoll_gp_scale_covariance(scale, &n96, &n96) == 1);
        if (t == 0) {
            assert_true(b > a);
            smooth[0] = a, smooth[1] = b, two_values = c;
        } else if (t == 1) {
            assert_true(a > b && a < smooth[0] && c == two_values);
        } else {
            assert_true(b > a && b < smooth[1] && c < two_values);
        }
    }
    atoll_gp_scale_destroy(scale);
}

static double smooth_truth(size_t v)
{
    return sin((double)v / 8);
}

static double divided_truth(size_t v)
{
    size_t n = v + 1, halves = 0;
    for (; n % 2 == 0; n /= 2)
        halves++;
    return -(double)halves - (v % 3 == 2 ? 0.5 : 0);
}

static double own_truth(size_t v)
{
    return sin((double)v / 8) + 0.3 * atoll_random_unit(atoll_random_at(5, v));
}

/* Two points per value, so that what is a value's own can be told from what is a point's own. */
static void fitting_finds_the_texture(void **state)
{
    static const struct {
        double (*truth)(size_t value);
        uint8_t texture;
    } cases[] = {{smooth_truth, 0}, {divided_truth, 1}, {own_truth, 2}};
    struct atoll_space s = blocks();
    struct atoll_gp *gp = atoll_gp_create(&s, NULL);
    for (size_t k = 0; k < sizeof(cases) / sizeof(*cases); k++) {
        struct atoll_gp_kernel kernel = atoll_gp_kernel_default();
        struct atoll_gp_row rows[64];
        double targets[64];
        for (size_t i = 0; i < 64; i++) {
            rows[i] = (struct atoll_gp_row){{{(uint8_t)(i / 2), (uint8_t)(i % 2)}}, 0, 0};
            targets[i] = cases[k].truth(i / 2) + (i % 2 ? 0.3 : 0);
        }
        for (int pass = 0; pass < 4; pass++)
            atoll_gp_fit(gp, rows, targets, 64, &kernel);
        assert_int_equal(kernel.texture, cases[k].texture);
    }
    atoll_gp_destroy(gp);
}

/* Equal points, equal targets, one row, none: nothing divides by zero. */
static void degenerate_data(void **state)
{
    struct atoll_space s = grid(2, 1);
    struct atoll_gp *gp = atoll_gp_create(&s, NULL);
    struct atoll_gp_kernel kernel = atoll_gp_kernel_default();
    struct atoll_gp_row rows[5] = {{{{0}}, 0, 0}};
    double targets[5] = {4, 4, 4, 4, 4}, variance;
    struct atoll_gp_target known[5];
    struct atoll_point query = {{0}};
    assert_true(isfinite(atoll_gp_fit(gp, rows, targets, 5, &kernel)));
    assert_int_equal(atoll_gp_reset(gp, &kernel, NULL, 0, NULL), 0);
    assert_true(predict_at(gp, known, query, &variance) == 0 && variance == 1);
    for (size_t i = 0; i < 5; i++) {
        known[i] = (struct atoll_gp_target){4, ATOLL_GP_EXACT};
        atoll_gp_append(gp, &rows[i]);
        assert_true(fabs(predict_at(gp, known, query, &variance) - 4) < 1e-6);
        assert_true(variance > 0 && isfinite(variance));
    }
    atoll_gp_destroy(gp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_covariance_is_one_at_home_and_falls_with_distance),
        cmocka_unit_test(predictions_are_the_textbooks),
        cmocka_unit_test(the_pool_says_what_a_single_prediction_says),
        cmocka_unit_test(the_same_rows_give_the_same_bits),
        cmocka_unit_test(unknown_and_bounded_targets),
        cmocka_unit_test(fitting_finds_what_matters),
        cmocka_unit_test(transfer_is_earned),
        cmocka_unit_test(kernels_of_a_file_are_checked),
        cmocka_unit_test(a_texture_roughens),
        cmocka_unit_test(fitting_finds_the_texture),
        cmocka_unit_test(degenerate_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
