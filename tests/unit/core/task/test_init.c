/* test_init.c - values of draws: the same for every split, of the right shape, and pinned, since hosts and
 * devices must agree. */
#include "tests/support/expect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "core/task/init.h"

#define COUNT 20000

static const unsigned distributions[] = {ATOLL_DRAW_BASE, ATOLL_DRAW_SCALED, ATOLL_DRAW_TIES,
                                         ATOLL_DRAW_SPARSE, ATOLL_DRAW_SIGNED};
static struct atoll_task *scale; /* one dim N, tensor 0 is x: f32 [N] */
static double values[COUNT];

static int set_up(void **state)
{
    scale = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/tasks/scale", NULL);
    return scale ? 0 : -1;
}

static int tear_down(void **state)
{
    atoll_task_destroy(scale);
    return 0;
}

static void fill(enum atoll_dtype dtype, struct atoll_init init, int64_t n, uint64_t seed,
                 unsigned distribution, size_t begin, size_t end, void *base)
{
    struct atoll_task task = *scale;
    struct atoll_err err = ATOLL_ERR_INIT;
    task.tensors[0].dtype = dtype;
    task.tensors[0].init = init;
    task.variants[0].dims[0] = n;
    if (atoll_init_fill(&task, 0, &task.variants[0], seed, distribution, begin, end, base, &err))
        fail_msg("%s", err.text);
}

static const struct atoll_init inits[] = {
    {ATOLL_INIT_NORMAL, 0, 1, NULL},      {ATOLL_INIT_NORMAL, 3, 0.5, NULL},
    {ATOLL_INIT_UNIFORM, -1, 1, NULL},    {ATOLL_INIT_UNIFORM, 0.25, 3, NULL},
    {ATOLL_INIT_INTEGER, -5, 9, NULL},    {ATOLL_INIT_INDEX, 0, 0, NULL},
    {ATOLL_INIT_PERMUTATION, 0, 0, NULL}, {ATOLL_INIT_RAGGED, 0, 90000, NULL},
    {ATOLL_INIT_CONSTANT, 1.5, 0, NULL},
};
#define INIT_COUNT (sizeof(inits) / sizeof(*inits))

/* Every element alone, odd pieces and the whole give the same bytes, for every init, distribution and dtype.
 */
static void test_splits(void **state)
{
    enum { N = 1201 };
    static unsigned char whole[N * 8], pieces[N * 8];
    for (size_t i = 0; i < INIT_COUNT; i++)
        for (size_t d = 0; d < 5; d++)
            for (unsigned t = 0; t < ATOLL_DTYPE_COUNT; t++) {
                size_t bytes = atoll_dtype_bytes((enum atoll_dtype)t) * N;
                memset(pieces, 0xee, sizeof(pieces));
                fill((enum atoll_dtype)t, inits[i], N, 77, distributions[d], 0, N, whole);
                for (size_t at = 0, step = 1; at < N; at += step, step = step * 3 % 1009) {
                    size_t end = at + step < N ? at + step : N;
                    fill((enum atoll_dtype)t, inits[i], N, 77, distributions[d], at, end, pieces);
                }
                assert_memory_equal(whole, pieces, bytes);
            }
}

/* The element function that devices are given makes the bytes that the loops of the host make. */
static void test_single_elements(void **state)
{
    enum { N = 5003 };
    static unsigned char whole[N * 8];
    struct atoll_task task = *scale;
    for (size_t i = 0; i < INIT_COUNT * 5 * ATOLL_DTYPE_COUNT; i++) {
        struct atoll_init_part part = {0};
        enum atoll_dtype dtype = (enum atoll_dtype)(i % ATOLL_DTYPE_COUNT);
        unsigned distribution = distributions[i / ATOLL_DTYPE_COUNT % 5];
        size_t bytes = atoll_dtype_bytes(dtype);
        struct atoll_init init = inits[i / ATOLL_DTYPE_COUNT / 5];
        fill(dtype, init, N, 1000 + i, distribution, 0, N, whole);
        task.tensors[0].dtype = dtype;
        task.tensors[0].init = init;
        task.variants[0].dims[0] = N;
        assert_int_equal(
            atoll_init_settle(&task, 0, 0, &task.variants[0], 1000 + i, distribution, &part, NULL), 0);
        assert_true(part.begin == 0 && part.count == N);
        for (size_t k = 0; k < N; k++) {
            atoll_u64 bits = atoll_init_bits(&part.params, k);
            assert_memory_equal(&bits, whole + k * bytes, bytes);
        }
    }
}

struct shape {
    double mean, deviation, min, max, zeros;
};

static struct shape measure(const double *v, size_t n)
{
    struct shape s = {0, 0, HUGE_VAL, -HUGE_VAL, 0};
    for (size_t i = 0; i < n; i++) {
        s.mean += v[i] / (double)n;
        s.min = fmin(s.min, v[i]);
        s.max = fmax(s.max, v[i]);
        s.zeros += (v[i] == 0) / (double)n;
    }
    for (size_t i = 0; i < n; i++)
        s.deviation += (v[i] - s.mean) * (v[i] - s.mean) / (double)n;
    s.deviation = sqrt(s.deviation);
    return s;
}

static void test_normal(void **state)
{
    fill(ATOLL_F64, inits[1], COUNT, 1, ATOLL_DRAW_BASE, 0, COUNT, values);
    struct shape s = measure(values, COUNT);
    assert_true(fabs(s.mean - 3) < 0.02 && fabs(s.deviation - 0.5) < 0.01);
    assert_true(s.min > 3 - 2.5 && s.max < 3 + 2.5 && s.max > 3 + 1.4);
    fill(ATOLL_F64, inits[0], COUNT, 1, ATOLL_DRAW_TIES, 0, COUNT, values);
    for (size_t i = 0; i < COUNT; i++)
        assert_true(values[i] * 2 == rint(values[i] * 2));
    s = measure(values, COUNT);
    assert_true(fabs(s.mean) < 0.03 && fabs(s.deviation - 1) < 0.03);
    fill(ATOLL_F64, inits[0], COUNT, 1, ATOLL_DRAW_SPARSE, 0, COUNT, values);
    s = measure(values, COUNT);
    assert_true(fabs(s.zeros - 0.5) < 0.02 && fabs(s.mean) < 0.03);
}

enum { MANY = 65536 };
static double many[MANY];

static void load_many(enum atoll_dtype dtype, struct atoll_init init, uint64_t seed)
{
    static unsigned char bytes[MANY * 8];
    fill(dtype, init, MANY, seed, ATOLL_DRAW_BASE, 0, MANY, bytes);
    atoll_dtype_load_array(dtype, bytes, MANY, many);
}

/* Of values or of their squares, both less their mean, `lag` elements apart. */
static double correlation(int squares, size_t lag)
{
    double mean = 0, square = 0, product = 0;
    for (size_t i = 0; i < MANY; i++)
        mean += (squares ? many[i] * many[i] : many[i]) / MANY;
    for (size_t i = 0; i + lag < MANY; i++) {
        double x = (squares ? many[i] * many[i] : many[i]) - mean,
               y = (squares ? many[i + lag] * many[i + lag] : many[i + lag]) - mean;
        square += x * x;
        product += x * y;
    }
    return product / square;
}

/* Sum over cells of equal share; below: of the distribution. */
static double chi_squared(double (*below)(double), int cells)
{
    double counts[64] = {0}, sum = 0, share = (double)MANY / cells;
    for (size_t i = 0; i < MANY; i++)
        counts[(int)fmin(below(many[i]) * cells, cells - 1)]++;
    for (int c = 0; c < cells; c++)
        sum += (counts[c] - share) * (counts[c] - share) / share;
    return sum;
}

static double normal_below(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

static double uniform_below(double x)
{
    return x;
}

/* Neighbours that share a block of the stream, neither.  Bounds: 4 standard errors of 65536 values, of right ones; a sum of
 * bytes is not quite a normal. */
static void test_statistics(void **state)
{
    static const enum atoll_dtype dtypes[] = {ATOLL_F64, ATOLL_F32, ATOLL_F16};
    for (size_t t = 0; t < 3; t++)
        for (uint64_t seed = 1; seed <= 2; seed++) {
            load_many(dtypes[t], inits[0], seed);
            double moments[5] = {0}, largest = 0;
            for (size_t i = 0; i < MANY; i++) {
                for (int k = 1; k < 5; k++)
                    moments[k] += pow(many[i], k) / MANY;
                largest = fmax(largest, fabs(many[i]));
            }
            assert_true(fabs(moments[1]) < 0.016 && fabs(moments[2] - 1) < 0.023 && fabs(moments[3]) < 0.04);
            assert_true(moments[4] > 2.7 && moments[4] < 3.16 && largest > 3.6 && largest < 4.9);
            assert_true(chi_squared(normal_below, 32) < 110); /* 31 degrees of freedom and 24 for the shape */
            for (size_t lag = 1; lag <= 5; lag++)
                assert_true(fabs(correlation(0, lag)) < 0.016 && fabs(correlation(1, lag)) < 0.016);
            load_many(dtypes[t], (struct atoll_init){ATOLL_INIT_UNIFORM, 0, 1, NULL}, seed);
            assert_true(chi_squared(uniform_below, 64) < 113); /* 63 degrees of freedom, 99.99 % */
            for (size_t lag = 1; lag <= 5; lag++)
                assert_true(fabs(correlation(0, lag)) < 0.016);
        }
}

/* A uniform of single precision: both ends are reached and not passed, and 0 is no value. */
static void test_uniform_single(void **state)
{
    static const double bounds[][2] = {{0, 1},    {-1, 1},      {-0.1, 0.1},        {0.3, 0.7},
                                       {1e-3, 3}, {-7.7, -0.7}, {4.0 / 3, 5.0 / 3}, {-19.0 / 7, -17.0 / 7}};
    for (size_t i = 0; i < sizeof(bounds) / sizeof(*bounds); i++) {
        struct atoll_task task = *scale;
        struct atoll_init_part part = {0};
        task.tensors[0].init = (struct atoll_init){ATOLL_INIT_UNIFORM, bounds[i][0], bounds[i][1], NULL};
        assert_int_equal(atoll_init_settle(&task, 0, 0, &task.variants[0], 1, ATOLL_DRAW_BASE, &part, NULL),
                         0);
        float least = atoll_single_uniform(&part.params, 0), most = atoll_single_uniform(&part.params, ~0u);
        assert_true(least >= (float)bounds[i][0] && most <= (float)bounds[i][1]);
        assert_true(least - bounds[i][0] < 1e-6 && bounds[i][1] - most < 1e-6);
        assert_true(i > 0 || least > 0);
    }
}

static void test_scaled_is_a_power_of_two(void **state)
{
    static double base[COUNT];
    double seen_least = 1, seen_most = 1;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        fill(ATOLL_F64, inits[0], COUNT, seed, ATOLL_DRAW_BASE, 0, 100, base);
        fill(ATOLL_F64, inits[0], COUNT, seed, ATOLL_DRAW_SCALED, 0, 100, values);
        int exponent = 0;
        double factor = values[0] / base[0];
        assert_true(frexp(factor, &exponent) == 0.5);
        for (size_t i = 0; i < 100; i++)
            assert_true(values[i] == base[i] * factor);
        seen_least = fmin(seen_least, factor);
        seen_most = fmax(seen_most, factor);
    }
    assert_true(seen_least < 1 && seen_most > 1);
}

static void test_uniform_stays_inside(void **state)
{
    static const double bounds[][2] = {{-1, 1}, {0.25, 3}, {-3, -0.5}, {0, 1}};
    for (size_t i = 0; i < 4; i++)
        for (size_t d = 0; d < 5; d++)
            for (uint64_t seed = 1; seed < 12; seed++) {
                struct atoll_init init = {ATOLL_INIT_UNIFORM, bounds[i][0], bounds[i][1], NULL};
                fill(ATOLL_F64, init, COUNT, seed, distributions[d], 0, 2000, values);
                struct shape s = measure(values, 2000);
                assert_true(s.min >= bounds[i][0] && s.max <= bounds[i][1]);
                assert_true(s.deviation > 0);
            }
    fill(ATOLL_F64, inits[2], COUNT, 3, ATOLL_DRAW_BASE, 0, COUNT, values);
    struct shape s = measure(values, COUNT);
    assert_true(fabs(s.mean) < 0.02 && fabs(s.deviation - 1 / sqrt(3)) < 0.01);
}

/* One sign for the whole of a row, either sign over the draws. */
static void test_signed(void **state)
{
    int negative = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        fill(ATOLL_F64, inits[0], 500, seed, ATOLL_DRAW_SIGNED, 0, 500, values);
        for (size_t i = 1; i < 500; i++)
            assert_true(values[i] == 0 || signbit(values[i]) == signbit(values[0]));
        negative += signbit(values[0]) != 0;
    }
    assert_true(negative > 8 && negative < 32);
}

static void test_integers(void **state)
{
    int counts[14] = {0};
    fill(ATOLL_F64, inits[4], COUNT, 9, ATOLL_DRAW_SCALED, 0, COUNT, values);
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(values[i] >= -5 && values[i] < 9 && values[i] == rint(values[i]));
        counts[(int)values[i] + 5]++;
    }
    for (size_t i = 0; i < 14; i++)
        assert_true(counts[i] > COUNT / 14 / 2);
}

static void test_permutation(void **state)
{
    static const int64_t lengths[] = {1, 2, 3, 7, 8, 9, 1000, 1024, 1025};
    static unsigned char seen[2048];
    size_t moved = 0;
    for (size_t k = 0; k < sizeof(lengths) / sizeof(*lengths); k++) {
        size_t n = (size_t)lengths[k];
        memset(seen, 0, sizeof(seen));
        fill(ATOLL_F64, inits[6], lengths[k], 5, ATOLL_DRAW_BASE, 0, n, values);
        for (size_t i = 0; i < n; i++) {
            assert_true(values[i] >= 0 && values[i] < (double)n);
            assert_int_equal(seen[(size_t)values[i]]++, 0);
            moved += values[i] != (double)i;
        }
    }
    assert_true(moved > 2000);
}

static void test_ragged(void **state)
{
    static const int64_t lengths[] = {1, 2, 10, 901, 3000};
    for (size_t k = 0; k < sizeof(lengths) / sizeof(*lengths); k++) {
        size_t n = (size_t)lengths[k];
        fill(ATOLL_F64, inits[7], lengths[k], 5, ATOLL_DRAW_BASE, 0, n, values);
        assert_true(values[0] == 0);
        for (size_t i = 1; i < n; i++)
            assert_true(values[i] >= values[i - 1] && values[i] <= 90000);
        if (n > 1)
            assert_true(values[n - 1] == 90000);
    }
}

static void test_seed_matters(void **state)
{
    static double other[COUNT];
    for (size_t i = 0; i < INIT_COUNT; i++) {
        int fixed = inits[i].kind == ATOLL_INIT_INDEX || inits[i].kind == ATOLL_INIT_CONSTANT;
        fill(ATOLL_F64, inits[i], 1000, 1, ATOLL_DRAW_BASE, 0, 1000, values);
        fill(ATOLL_F64, inits[i], 1000, 2, ATOLL_DRAW_BASE, 0, 1000, other);
        assert_int_equal(memcmp(values, other, 1000 * sizeof(*values)) == 0, fixed);
    }
}

static void test_choice_of_distribution(void **state)
{
    struct atoll_task task = *scale;
    unsigned seen = 0;
    task.distributions = ATOLL_DRAW_BASE | ATOLL_DRAW_TIES | ATOLL_DRAW_SIGNED;
    for (uint64_t seed = 0; seed < 100; seed++)
        seen |= atoll_input_set_distribution(&task, seed);
    assert_int_equal(seen, task.distributions);
    task.distributions = 0;
    assert_int_equal(atoll_input_set_distribution(&task, 1), ATOLL_DRAW_BASE);
}

/* A packed tensor: every split gives the same bytes, each segment has values of its own init and key, and signs do not go
 * by rows.  Pinned, as all values are. */
static void test_segments(void **state)
{
    enum { N = 2 * 7 * 7 + 2 * 7 };
    static float whole[N], pieces[N], all[5][N];
    struct atoll_task *packed = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/tasks/packed", NULL);
    char hex[ATOLL_ID_HEX];
    assert_non_null(packed);
    const struct atoll_variant *v = &packed->variants[0];
    struct atoll_init_part part = {0};
    for (size_t d = 0; d < 5; d++) {
        assert_int_equal(atoll_init_fill(packed, 1, v, 9, distributions[d], 0, N, whole, NULL), 0);
        for (size_t at = 0; at < N; at += 5)
            assert_int_equal(
                atoll_init_fill(packed, 1, v, 9, distributions[d], at, at + 5 < N ? at + 5 : N, pieces, NULL),
                0);
        assert_memory_equal(whole, pieces, sizeof(whole));
        memcpy(all[d], whole, sizeof(whole));
        for (size_t i = 0; i < atoll_init_part_count(&packed->tensors[1]); i++) {
            assert_int_equal(atoll_init_settle(packed, 1, i, v, 9, distributions[d], &part, NULL), 0);
            for (size_t k = 0; k < part.count; k++) {
                atoll_u64 bits = atoll_init_bits(&part.params, k);
                assert_memory_equal(&bits, &whole[part.begin + k], 4);
            }
        }
        assert_int_equal(part.begin + part.count, N);
    }
    assert_memory_not_equal(all[0], all[0] + 56, 49 * sizeof(float));
    assert_memory_equal(all[0], all[4], sizeof(whole));
    for (size_t i = 0; i < N; i++)
        assert_true(i >= 105 ? all[0][i] == 0 : i < 49 ? fabsf(all[0][i]) <= 0.25f : 1);
    struct atoll_id id = atoll_id_of(all, sizeof(all));
    atoll_id_hex(&id, hex);
    assert_string_equal(hex, "85f12f6c9199d945935196f7cf24565ea12746151f6fadcfc1339eafe6e9aa8a");
    atoll_task_destroy(packed);
}

static void test_empty_init_is_an_error(void **state)
{
    struct atoll_task task = *scale;
    struct atoll_err err = ATOLL_ERR_INIT;
    task.tensors[0].init = (struct atoll_init){ATOLL_INIT_INTEGER, 5, 5, NULL};
    assert_int_equal(atoll_init_fill(&task, 0, &task.variants[0], 1, ATOLL_DRAW_BASE, 0, 1, values, &err),
                     -1);
    assert_non_null(strstr(err.text, "init is empty at variant 'check'"));
}

/* The bits of every init and distribution, hashed: a change here changes what old records meant. */
static void test_pinned(void **state)
{
    static float f[INIT_COUNT * 5][512];
    char hex[ATOLL_ID_HEX];
    for (size_t i = 0; i < INIT_COUNT; i++)
        for (size_t d = 0; d < 5; d++)
            fill(ATOLL_F32, inits[i], 512, 123456789, distributions[d], 0, 512, f[i * 5 + d]);
    struct atoll_id id = atoll_id_of(f, sizeof(f));
    atoll_id_hex(&id, hex);
    assert_string_equal(hex, "c91121b0c9ac23288d28b34c9b6be6ce6cb742bf5080fa0c0e602f76d04c9dd5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_splits),
        cmocka_unit_test(test_single_elements),
        cmocka_unit_test(test_normal),
        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_uniform_single),
        cmocka_unit_test(test_scaled_is_a_power_of_two),
        cmocka_unit_test(test_uniform_stays_inside),
        cmocka_unit_test(test_signed),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_permutation),
        cmocka_unit_test(test_ragged),
        cmocka_unit_test(test_seed_matters),
        cmocka_unit_test(test_choice_of_distribution),
        cmocka_unit_test(test_segments),
        cmocka_unit_test(test_empty_init_is_an_error),
        cmocka_unit_test(test_pinned),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
