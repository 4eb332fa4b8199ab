/* Element-wise comparison, fingerprints and the guess at the cause, on outputs made in memory. */
#include "tests/support/expect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "mpi-eval/referee/check.h"
#include "mpi-eval/backend/cpu/measure/expected.h"

static struct atoll_task *task;
static const struct atoll_variant *variant; /* M 19, N 37 */
enum { ROWS = 19, COLUMNS = 37, COUNT = ROWS * COLUMNS, TENSOR = 2 };

static double expected[COUNT];
static float output[COUNT];
static struct atoll_fill fill;

static int set_up(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    (void)state;
    task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/referee", &err);
    if (!task) {
        print_error("%s\n", err.text);
        return -1;
    }
    variant = &task->variants[0];
    for (size_t i = 0; i < COUNT; i++)
        expected[i] = 4 * atoll_random_unit(atoll_random_at(5, i)) - 2;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    atoll_task_destroy(task);
    return 0;
}

static void fill_with(enum atoll_fill_kind kind)
{
    for (uint64_t key = 0;; key++) {
        atoll_fill_init(&fill, ATOLL_F32, COUNT, expected, key);
        if (fill.kind == kind)
            break;
    }
    atoll_fill_write(&fill, NULL, output);
}

static void copy_right(size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        output[i] = (float)expected[i];
}

static struct atoll_finding compare(void)
{
    struct atoll_finding f;
    struct atoll_check c = {task, variant, TENSOR, output, expected, NULL, &fill, NULL};
    assert_int_equal(atoll_check_compare(&c, &f, NULL), 0);
    return f;
}

static int print_matches(const double *scale)
{
    struct atoll_fingerprint p;
    assert_int_equal(atoll_fingerprint_make(&p, NULL, &task->tolerance, expected, scale, COUNT, 77, NULL), 0);
    int match = atoll_fingerprint_match(&p, NULL, ATOLL_F32, output);
    atoll_fingerprint_fini(&p);
    return match;
}

static void make_right(void)
{
    copy_right(0, COUNT);
}
static void make_transposed(void)
{
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < COLUMNS; j++)
            output[j * ROWS + i] = (float)expected[i * COLUMNS + j];
}
static void make_shifted(void)
{
    for (size_t i = 0; i < COUNT; i++)
        output[i] = (float)expected[(i + 1) % COUNT];
}
static void make_prefix(void)
{
    copy_right(0, 300);
}
static void make_zeros_after(void)
{
    copy_right(0, 300);
    memset(output + 300, 0, sizeof(float) * (COUNT - 300));
}
static void make_column_tail(void)
{
    copy_right(0, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        if (i % COLUMNS >= 32)
            output[i] = (float)(expected[i] + 0.5 + 0.1 * (double)(i % 3));
}
static void make_factor(void)
{
    for (size_t i = 0; i < COUNT; i++)
        output[i] = (float)(-0.5 * expected[i]);
}
static void make_offset(void)
{
    for (size_t i = 0; i < COUNT; i++)
        output[i] = (float)(expected[i] + 0.25);
}
static void make_one(void)
{
    for (size_t i = 0; i < COUNT; i++)
        output[i] = 1;
}
static void make_nan(void)
{
    copy_right(0, COUNT);
    output[5 * COLUMNS + 6] = NAN;
}
static void make_inf(void)
{
    copy_right(0, COUNT);
    output[0] = INFINITY;
}
static void make_imprecise(void)
{
    for (size_t i = 0; i < COUNT; i++)
        output[i] = (float)(expected[i] * (1 + 2e-4 * (atoll_random_unit(atoll_random_at(9, i)) - 0.5)));
}
/* As half precision with few bits does; rough is no such thing. */
static void make_coarse(void)
{
    for (size_t i = 0; i < COUNT; i++)
        output[i] = (float)(expected[i] * (1 + 0.04 * (atoll_random_unit(atoll_random_at(9, i)) - 0.5)));
}
static void make_rough(void)
{
    for (size_t i = 0; i < COUNT; i++)
        output[i] = (float)(expected[i] * (1 + 0.4 * (atoll_random_unit(atoll_random_at(9, i)) - 0.5)));
}
static void make_race(void)
{
    copy_right(0, COUNT);
    output[111] = 100;
    output[500] = -50;
}

static void test_causes(void **state)
{
    static const struct {
        void (*make)(void);
        enum atoll_fill_kind fill;
        int wrong;
        const char *says;
    } cases[] = {
        {make_right, ATOLL_FILL_POISON, 0, ""},
        {make_right, ATOLL_FILL_STALE, 0, ""},
        {make_transposed, ATOLL_FILL_ZERO, 1, "probably transposed"},
        {make_shifted, ATOLL_FILL_ZERO, 1, "off by 1 elements"},
        {make_prefix, ATOLL_FILL_POISON, 1, "everything from flat index 300 on is missing"},
        {make_prefix, ATOLL_FILL_ZERO, 1, "403 were never written"},
        {make_prefix, ATOLL_FILL_RANDOM, 1, "403 were never written"},
        {make_zeros_after, ATOLL_FILL_POISON, 1, "a missing tail: everything from flat index 300"},
        {make_column_tail, ATOLL_FILL_POISON, 1, "only indices from 32 of 37 on are wrong"},
        {make_factor, ATOLL_FILL_POISON, 1, "constant factor of -0.5"},
        {make_offset, ATOLL_FILL_POISON, 1, "constant offset of 0.25"},
        {make_one, ATOLL_FILL_POISON, 1, "the same value 1"},
        {make_nan, ATOLL_FILL_ZERO, 1, "worst y[5, 6]"},
        {make_nan, ATOLL_FILL_ZERO, 1, "1 are NaN or Inf"},
        {make_inf, ATOLL_FILL_ZERO, 1, "1 are NaN or Inf"},
        {make_imprecise, ATOLL_FILL_POISON, 1, "precision"},
        {make_coarse, ATOLL_FILL_POISON, 1,
         "precision: most elements are off, and the worst by 2 % of its value"},
        {make_rough, ATOLL_FILL_POISON, 1, "times the tolerance"},
        {make_race, ATOLL_FILL_POISON, 1, "few and scattered"},
        {make_race, ATOLL_FILL_POISON, 1, "2 of 703 elements wrong"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        fill_with(cases[i].fill);
        cases[i].make();
        struct atoll_finding f = compare();
        if (f.wrong != cases[i].wrong || !strstr(f.detail, cases[i].says))
            fail_msg("case %zu: wrong %d, \"%s\" lacks \"%s\"", i, f.wrong, f.detail, cases[i].says);
        if (print_matches(NULL) == cases[i].wrong)
            fail_msg("case %zu: the fingerprint disagrees", i);
        assert_true(cases[i].make != make_rough || !strstr(f.detail, "precision"));
    }
}

static void test_tolerance(void **state)
{
    static const struct {
        struct atoll_tolerance tolerance;
        double r, scale, y;
        int wrong;
    } cases[] = {
        {{.rtol = 1e-3}, 2, 0, 2.0019, 0},
        {{.rtol = 1e-3}, 2, 0, 2.0021, 1},
        {{.rtol = 1e-3}, 0, 0, 1e-9, 1},
        {{.rtol = 1e-3}, 0, 5, 0.0049, 0},
        {{.rtol = 1e-3}, 0, 5, 0.0051, 1},
        {{.atol = 0.1}, 0, 0, -0.09, 0},
        {{.atol = 0.1}, 0, 0, -0.11, 1},
        {{.rtol = 0}, 3, 0, 3, 0},
        {{.rtol = 0}, 3, 0, 3.0000002, 1},
        {{.atol = 1e30}, 0, 0, NAN, 1},
        {{.atol = 1e30}, 0, 0, INFINITY, 1},
        {{.rtol = 1}, INFINITY, 0, INFINITY, 0},
        {{.rtol = 1}, INFINITY, 0, -INFINITY, 1},
        {{.rtol = 1}, INFINITY, 0, 1, 1},
        {{.rtol = 1}, NAN, 0, NAN, 0},
        {{.rtol = 1}, NAN, 0, 1, 1},
        {{.norm = 1e-3}, 2, 0, 2.5, 1},
        {{.norm = 1}, 2, 0, 2.5, 0},
        {{.cosine = 0.99999}, 2, 0, -2, 1},
        {{.norm = 1e-6}, 2, 0, NAN, 1},
    };
    static double values[COUNT], scale[COUNT];
    struct atoll_tolerance saved = task->tolerance;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_finding f;
        for (size_t k = 0; k < COUNT; k++) {
            values[k] = 1;
            scale[k] = 0;
            output[k] = 1;
        }
        values[100] = cases[i].r;
        scale[100] = cases[i].scale;
        output[100] = (float)cases[i].y;
        task->tolerance = cases[i].tolerance;
        if (cases[i].tolerance.cosine > 0)
            for (size_t k = 0; k < COUNT; k++)
                output[k] = k % 2 ? 1 : -1;
        struct atoll_check c = {task, variant, TENSOR, output, values, scale, NULL, NULL};
        assert_int_equal(atoll_check_compare(&c, &f, NULL), 0);
        if (f.wrong != cases[i].wrong)
            fail_msg("case %zu: wrong %d, %s", i, f.wrong, f.detail);
    }
    task->tolerance = saved;
}

static void test_wrong_share(void **state)
{
    (void)state;
    task->tolerance.wrong_share = 0.01;
    fill_with(ATOLL_FILL_POISON);
    make_race();
    assert_int_equal(compare().wrong, 0); /* 2 of 703 */
    fill_with(ATOLL_FILL_ZERO);
    copy_right(0, COUNT - 1);
    struct atoll_finding f = compare(); /* one element, but never written */
    assert_int_equal(f.wrong, 1);
    assert_int_equal(f.unwritten_count, 1);
    task->tolerance.wrong_share = 0;
}

/* Elements that were never written fail whatever the tolerance is; what is right by chance passes. */
static void test_unwritten_without_element_bound(void **state)
{
    static const struct {
        struct atoll_tolerance tolerance;
        enum atoll_fill_kind fill;
        size_t left_out; /* every so many-th element */
        size_t least;    /* of them are found */
    } cases[] = {
        {{.cosine = 0.99}, ATOLL_FILL_RANDOM, 0, 0},  {{.cosine = 0.99}, ATOLL_FILL_ZERO, 0, 0},
        {{.cosine = 0.99}, ATOLL_FILL_STALE, 0, 0},   {{.norm = 0.01}, ATOLL_FILL_RANDOM, 0, 0},
        {{.cosine = 0.9}, ATOLL_FILL_RANDOM, 200, 1}, {{.cosine = 0.99}, ATOLL_FILL_RANDOM, 200, 2},
        {{.cosine = 0.99}, ATOLL_FILL_ZERO, 200, 2},  {{.norm = 0.1}, ATOLL_FILL_RANDOM, 200, 2},
        {{.norm = 0.1}, ATOLL_FILL_ZERO, 200, 2},
    };
    struct atoll_tolerance saved = task->tolerance;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        float before[COUNT];
        task->tolerance = cases[i].tolerance;
        fill_with(cases[i].fill);
        memcpy(before, output, sizeof(before));
        copy_right(0, COUNT);
        for (size_t k = 0; cases[i].left_out && k < COUNT; k += cases[i].left_out)
            output[k] = before[k];
        struct atoll_finding f = compare();
        if (f.wrong != (cases[i].least > 0) || f.unwritten_count < cases[i].least)
            fail_msg("case %zu: wrong %d, %zu unwritten: %s", i, f.wrong, f.unwritten_count, f.detail);
        if (f.wrong && !strstr(f.detail, "were never written"))
            fail_msg("case %zu: \"%s\"", i, f.detail);
    }
    task->tolerance = saved;
}

/* Any single element that is off by more than what a block may be off is seen; rounding never is. */
static void test_fingerprint(void **state)
{
    struct atoll_fingerprint p;
    (void)state;
    copy_right(0, COUNT);
    for (uint64_t key = 0; key < 50; key++) {
        assert_int_equal(atoll_fingerprint_make(&p, NULL, &task->tolerance, expected, NULL, COUNT, key, NULL),
                         0);
        assert_int_equal(atoll_fingerprint_match(&p, NULL, ATOLL_F32, output), 1);
        for (size_t i = (size_t)key % 7; i < COUNT; i += 7) {
            float right = output[i];
            output[i] = right + 0.05f;
            assert_int_equal(atoll_fingerprint_match(&p, NULL, ATOLL_F32, output), 0);
            output[i] = right;
        }
        atoll_fingerprint_fini(&p);
    }
    double infinite = INFINITY;
    float got = INFINITY;
    assert_int_equal(atoll_fingerprint_make(&p, NULL, &task->tolerance, &infinite, NULL, 1, 3, NULL), 0);
    assert_int_equal(atoll_fingerprint_match(&p, NULL, ATOLL_F32, &got), 0); /* cannot tell */
    atoll_fingerprint_fini(&p);
}

static void test_norm_rule(void **state)
{
    static const struct {
        double norm, expected2, bound2, ratio, limit;
    } rows[] = {
        {0, 4, 100, 1, HUGE_VAL},
        {0.5, 100, 24.9, 1, 25},
        {0.5, 100, 100, 0.5, 25},
        {0.5, 0, 1, 0, 0},
        {0.5, 0, 0, 1, 0},
        {0.5, NAN, 1, 0, NAN},
        {0.5, HUGE_VAL, NAN, 0, HUGE_VAL},
        {0.5, 1, HUGE_VAL, 0, 0.25},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_tolerance t = {.rtol = 1, .norm = rows[i].norm};
        struct atoll_norm_rule rule = atoll_norm_rule_of(&t, rows[i].expected2, rows[i].bound2);
        if (!(fabs(rule.bound_ratio - rows[i].ratio) < 1e-8) || rule.bound_ratio > rows[i].ratio ||
            !(rule.error2_limit == rows[i].limit || (isnan(rule.error2_limit) && isnan(rows[i].limit))))
            fail_msg("row %zu: %.17g, %.17g", i, rule.bound_ratio, rule.error2_limit);
    }
}

/* What the comparison calls wrong for its norm, each element being within its bound, no fingerprint lets pass: constant errors,
 * those of random sizes and directions, and zeros where the values are small. */
static void test_norm_by_fingerprint(void **state)
{
    static const struct {
        double atol, size, low, high; /* error: between low and high of its bound */
    } rows[] = {{1e-3, 1, 0.98, 0.98}, {1e-3, 1, -0.98, 0.98}, {1e-1, 1e-4, 0.5, 0.9}, {0, 1, 0.3, 0.9}};
    static double values[COUNT];
    struct atoll_tolerance saved = task->tolerance;
    unsigned wrong = 0, right = 0;
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        for (int step = 0; step < 52; step++) {
            double norm = 1e-5 * pow(1.25, step);
            struct atoll_fingerprint p;
            struct atoll_finding f;
            double error2 = 0;
            task->tolerance = (struct atoll_tolerance){.rtol = 1e-3, .atol = rows[i].atol, .norm = norm};
            for (size_t k = 0; k < COUNT; k++) {
                double share =
                    rows[i].low + (rows[i].high - rows[i].low) * atoll_random_unit(atoll_random_at(8, k));
                values[k] = rows[i].size * expected[k];
                output[k] = (float)(values[k] + share * (rows[i].atol + 1e-3 * fabs(values[k])));
                error2 += (output[k] - values[k]) * (output[k] - values[k]);
            }
            struct atoll_check check = {
                .task = task, .variant = variant, .tensor = TENSOR, .data = output, .values = values};
            assert_int_equal(atoll_check_compare(&check, &f, NULL), 0);
            assert_int_equal(f.wrong_count, 0);
            assert_int_equal(atoll_fingerprint_make(&p, NULL, &task->tolerance, values, NULL, COUNT, 5, NULL),
                             0);
            int match = atoll_fingerprint_match(&p, NULL, ATOLL_F32, output);
            if (f.wrong && match)
                fail_msg("row %zu, norm %g: %s, and its fingerprint matches", i, norm, f.detail);
            if (p.norm.bound_ratio == 1 && 4 * error2 < p.norm.error2_limit && !match)
                fail_msg("row %zu, norm %g: the bounds imply it, and the fingerprint does not match", i,
                         norm);
            wrong += f.wrong != 0;
            right += match != 0;
            atoll_fingerprint_fini(&p);
        }
    assert_true(wrong > 20 && right > 20);
    task->tolerance = saved;
}

/* So much of the bounds counts, of samples and of blocks each. */
static void test_share_of_bounds(void **state)
{
    (void)state;
    for (int by_samples = 0; by_samples < 2; by_samples++)
        for (int is_less = 0; is_less < 2; is_less++) {
            struct atoll_fingerprint p;
            copy_right(0, COUNT);
            assert_int_equal(
                atoll_fingerprint_make(&p, NULL, &task->tolerance, expected, NULL, COUNT, 3, NULL), 0);
            assert_true(p.norm.bound_ratio == 1 && isinf(p.norm.error2_limit));
            *(by_samples ? &p.block_count : &p.sample_count) = 0;
            size_t at = by_samples ? p.indices[7] : 5;
            output[at] = (float)(expected[at] + 0.5 * (by_samples ? p.tolerances[7] : p.bounds[0]));
            p.norm.bound_ratio = is_less ? 0.2 : 1;
            assert_int_equal(atoll_fingerprint_match(&p, NULL, ATOLL_F32, output), !is_less);
            atoll_fingerprint_fini(&p);
        }
}

/* One element of each block off by thirty times its bound, and none of those that are looked at by themselves. */
static void test_norm_of_few(void **state)
{
    enum { MANY = 64 * ATOLL_FINGERPRINT_BLOCK };
    static double values[MANY];
    static float got[MANY];
    struct atoll_tolerance t = {.rtol = 1e-3};
    (void)state;
    for (int has_norm = 0; has_norm < 2; has_norm++) {
        struct atoll_fingerprint p;
        for (size_t k = 0; k < MANY; k++)
            got[k] = (float)(values[k] = 1 + atoll_random_unit(atoll_random_at(4, k)));
        t.norm = has_norm ? 1.01e-3 : 0;
        assert_int_equal(atoll_fingerprint_make(&p, NULL, &t, values, NULL, MANY, 6, NULL), 0);
        assert_true(p.norm.bound_ratio == 1);
        for (size_t b = 0, next = 0; b < p.block_count; b++) {
            size_t at = b * ATOLL_FINGERPRINT_BLOCK;
            while (next < p.sample_count && p.indices[next] < at)
                next++;
            for (; next < p.sample_count && p.indices[next] <= at; next++)
                at += p.indices[next] == at;
            got[at] = (float)(values[at] * (1 + 30e-3));
        }
        assert_int_equal(atoll_fingerprint_match(&p, NULL, ATOLL_F32, got), !has_norm);
        atoll_fingerprint_fini(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_causes),
                                       cmocka_unit_test(test_tolerance),
                                       cmocka_unit_test(test_wrong_share),
                                       cmocka_unit_test(test_unwritten_without_element_bound),
                                       cmocka_unit_test(test_fingerprint),
                                       cmocka_unit_test(test_norm_rule),
                                       cmocka_unit_test(test_norm_by_fingerprint),
                                       cmocka_unit_test(test_norm_of_few),
                                       cmocka_unit_test(test_share_of_bounds)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
