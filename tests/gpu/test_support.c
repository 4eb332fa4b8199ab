/* Our kernels on a device against the host: contents of input sets bit for bit, fills, guards, hashes, sealed expected
 * values, comparisons, the known answer; and how fast they are, printed. */
#include <math.h>

#include "core/task/init.h"
#include "mpi-eval/referee/check.h"
#include "tests/gpu/support.h"

enum { BYTES = 1 << 28, N = 5003 };

static struct bench b;
static struct atoll_task *scale, *blend;

static int set_up(void **state)
{
    scale = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/tasks/scale", NULL);
    blend = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/referee", NULL);
    return scale && blend ? 0 : -1;
}

static int tear_down(void **state)
{
    bench_close(&b);
    atoll_task_destroy(scale);
    atoll_task_destroy(blend);
    return 0;
}

/* ---- contents ---- */

static const struct atoll_init inits[] = {
    {ATOLL_INIT_NORMAL, 0, 1, NULL},      {ATOLL_INIT_NORMAL, 3, 0.5, NULL},
    {ATOLL_INIT_UNIFORM, -1, 1, NULL},    {ATOLL_INIT_UNIFORM, 0.25, 3, NULL},
    {ATOLL_INIT_INTEGER, -5, 9, NULL},    {ATOLL_INIT_INDEX, 0, 0, NULL},
    {ATOLL_INIT_PERMUTATION, 0, 0, NULL}, {ATOLL_INIT_RAGGED, 0, 90000, NULL},
    {ATOLL_INIT_CONSTANT, 1.5, 0, NULL},
};
enum { INITS = sizeof(inits) / sizeof(*inits), CASES = INITS * 5 };

static struct atoll_task task_of(enum atoll_dtype dtype, size_t init)
{
    struct atoll_task task = *scale;
    task.tensors[0].dtype = dtype;
    task.tensors[0].init = inits[init];
    task.variants[0].dims[0] = N;
    return task;
}

/* Every init, distribution and dtype, at an address that has the dtype's alignment and no more. */
static void init_is_the_hosts(void **state)
{
    static unsigned char host[N * 8];
    for (unsigned t = 0; t < ATOLL_DTYPE_COUNT; t++) {
        enum atoll_dtype dtype = (enum atoll_dtype)t;
        size_t bytes = atoll_dtype_bytes(dtype);
        uint64_t at = b.area + 256 + bytes;
        for (size_t i = 0; i < CASES; i++) {
            struct atoll_task task = task_of(dtype, i / 5);
            assert_int_equal(
                atoll_support_init(&b.batch, &task, 0, &task.variants[0], i, 1u << i % 5, at, NULL), 0);
            atoll_command_batch_read(&b.batch, at, N * bytes);
        }
        bench_run(&b);
        for (size_t i = 0; i < CASES; i++) {
            struct atoll_task task = task_of(dtype, i / 5);
            assert_int_equal(atoll_init_fill(&task, 0, &task.variants[0], i, 1u << i % 5, 0, N, host, NULL),
                             0);
            if (memcmp(bench_take(&b, N * bytes), host, N * bytes))
                fail_msg("%s, init %zu, distribution %u differ", atoll_dtype_name(dtype), i / 5, 1u << i % 5);
        }
    }
}

/* A packed tensor, a segment after the other, at an address that has the dtype's alignment and no more. */
static void segments_are_the_hosts(void **state)
{
    enum { ELEMENTS = 2 * 7 * 7 + 2 * 7 };
    static float host[ELEMENTS];
    struct atoll_task *packed = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/tasks/packed", NULL);
    assert_non_null(packed);
    const struct atoll_variant *v = &packed->variants[0];
    for (unsigned shift = 0; shift < 8; shift += 4)
        for (unsigned d = 0; d < 5; d++) {
            uint64_t at = b.area + 256 + shift;
            assert_int_equal(atoll_support_init(&b.batch, packed, 1, v, 3, 1u << d, at, NULL), 0);
            atoll_command_batch_read(&b.batch, at, sizeof(host));
            bench_run(&b);
            assert_int_equal(atoll_init_fill(packed, 1, v, 3, 1u << d, 0, ELEMENTS, host, NULL), 0);
            assert_memory_equal(bench_take(&b, sizeof(host)), host, sizeof(host));
        }
    atoll_task_destroy(packed);
}

static void check_fill_values(const struct atoll_support_fill *fill, const unsigned char *bytes)
{
    double largest = 0, sum = 0;
    for (size_t i = 0; i < N; i++) {
        double v = atoll_dtype_load(fill->dtype, bytes, i);
        if (fill->kind == ATOLL_FILL_ZERO)
            assert_true(v == 0);
        if (fill->kind == ATOLL_FILL_POISON && atoll_dtype_is_float(fill->dtype))
            assert_true(isnan(v));
        largest = fmax(largest, fabs(v));
        sum += fabs(v) / N;
    }
    if (fill->kind == ATOLL_FILL_RANDOM || fill->kind == ATOLL_FILL_STALE)
        assert_true(largest < 60 && largest > 5 && sum > 1 && sum < 20);
}

/* The same bits twice, also at an address aligned otherwise, and nothing beside them. */
static void fills_repeat(void **state)
{
    for (unsigned i = 0; i < ATOLL_DTYPE_COUNT * ATOLL_FILL_COUNT; i++) {
        struct atoll_support_fill fill = {(enum atoll_fill_kind)(i % ATOLL_FILL_COUNT),
                                          (enum atoll_dtype)(i / ATOLL_FILL_COUNT), 99 + i, 10};
        size_t bytes = atoll_dtype_bytes(fill.dtype), all = N * bytes;
        uint64_t first = b.area + 256, second = b.area + (1 << 20) + 256 + bytes;
        atoll_command_batch_set(&b.batch, b.area, 0x5a5a5a5a, (2 << 20) / 4);
        atoll_support_fill(&b.batch, &fill, first, N);
        atoll_support_fill(&b.batch, &fill, second, N);
        atoll_command_batch_read(&b.batch, first - 8, all + 16);
        atoll_command_batch_read(&b.batch, second, all);
        bench_run(&b);
        const unsigned char *one = bench_take(&b, all + 16), *other = bench_take(&b, all);
        assert_memory_equal(one + 8, other, all);
        assert_memory_equal(one, "ZZZZZZZZ", 8);
        assert_memory_equal(one + 8 + all, "ZZZZZZZZ", 8);
        check_fill_values(&fill, other);
    }
}

static void guards_tell(void **state)
{
    static const struct {
        unsigned shift, word;
    } cases[] = {{0, 0}, {0, 511}, {2, 17}, {5, 300}};
    static const uint64_t cleared[2] = {0, UINT64_MAX};
    for (size_t i = 0; i < 4; i++) {
        uint64_t at = b.area + 4096 + cases[i].shift, result = b.area;
        atoll_support_guard(&b.batch, at, 4096, i);
        atoll_command_batch_write(&b.batch, result, cleared, sizeof(cleared));
        atoll_support_guard_check(&b.batch, at, 4096, i, result);
        atoll_command_batch_read(&b.batch, result, 16);
        atoll_command_batch_write(&b.batch, at + cases[i].word * 8 + 3, "", 1);
        atoll_command_batch_write(&b.batch, at + cases[i].word * 8 + 4, "x", 1);
        atoll_support_guard_check(&b.batch, at, 4096, i, result);
        atoll_command_batch_read(&b.batch, result, 16);
        bench_run(&b);
        const uint64_t clean[2] = {0, ~(uint64_t)0}, changed[2] = {1, cases[i].word};
        assert_memory_equal(bench_take(&b, 16), clean, 16);
        assert_memory_equal(bench_take(&b, 16), changed, 16);
    }
}

static void put_hash(uint64_t at, uint64_t bytes, uint64_t key)
{
    atoll_command_batch_set(&b.batch, b.area, 0, 2);
    atoll_support_hash(&b.batch, at, bytes, key, b.area);
    atoll_command_batch_read(&b.batch, b.area, 8);
}

static void hashes_see_every_bit_and_no_address(void **state)
{
    static unsigned char text[70000];
    static const size_t lengths[] = {1, 7, 8, 9, 16, 31, 33, 4096, 69999};
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (unsigned char)(i * i >> 3);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        size_t n = lengths[i];
        uint64_t first = b.area + 4096, second = b.area + (1 << 20) + 3;
        atoll_command_batch_write(&b.batch, first, text, n);
        atoll_command_batch_write(&b.batch, second, text, n);
        put_hash(first, n, 5);
        put_hash(second, n, 5);
        put_hash(first, n, 6);
        text[n - 1] ^= 0x40;
        atoll_command_batch_write(&b.batch, second, text, n);
        text[n - 1] ^= 0x40;
        put_hash(second, n, 5);
        bench_run(&b);
        uint64_t own = bench_take_word(&b), shifted = bench_take_word(&b), keyed = bench_take_word(&b),
                 changed = bench_take_word(&b);
        assert_int_equal(own, shifted);
        assert_int_not_equal(own, keyed);
        assert_int_not_equal(own, changed);
    }
}

/* Whole and odd elements, aligned or not, long enough for several tiles of every block: more regions than a launch takes, of
 * all inits, fills and guards, each right and nothing beside them. */
static void many_regions_are_made_at_once(void **state)
{
    enum { REGIONS = 2 * ATOLL_REGION_LIMIT + 3, PLACE = 1 << 18 };
    static unsigned char host[PLACE];
    struct atoll_contents c;
    struct atoll_inspection look;
    size_t bytes[REGIONS];
    uint64_t results[2 * REGIONS];
    for (size_t i = 0; i < REGIONS; i++) {
        results[2 * i] = 0;
        results[2 * i + 1] = UINT64_MAX;
    }
    atoll_command_batch_set(&b.batch, b.area, 0x5a5a5a5a, (uint64_t)(REGIONS + 1) * PLACE / 4);
    atoll_contents_begin(&c, &b.batch);
    for (size_t i = 0; i < REGIONS; i++) {
        struct atoll_task task = task_of((enum atoll_dtype)(i % ATOLL_DTYPE_COUNT), i % INITS);
        size_t one = atoll_dtype_bytes(task.tensors[0].dtype);
        struct atoll_support_fill fill = {(enum atoll_fill_kind)(i % ATOLL_FILL_COUNT), task.tensors[0].dtype,
                                          i, 3};
        uint64_t at = b.area + (i + 1) * PLACE + 8 * (i % 4), count = (PLACE - 4096) / one - i;
        bytes[i] = i % 3 == 2 ? (PLACE - 4096) / 8 * 8 - 8 * i : count * one;
        task.variants[0].dims[0] = (int64_t)count;
        if (i % 3 == 0)
            assert_int_equal(atoll_contents_input(&c, &task, 0, &task.variants[0], i, 1u << i % 5, at, NULL),
                             0);
        else if (i % 3 == 1)
            atoll_contents_fill(&c, &fill, at, count);
        else
            atoll_contents_guard(&c, at, bytes[i], i);
    }
    atoll_contents_end(&c);
    atoll_command_batch_write(&b.batch, b.area, results, sizeof(results));
    atoll_inspection_begin(&look, &b.batch);
    for (size_t i = 0; i < REGIONS; i++)
        if (i % 3 == 2)
            atoll_inspection_guard(&look, b.area + (i + 1) * PLACE + 8 * (i % 4), bytes[i], i,
                                   b.area + 16 * i);
        else
            atoll_inspection_hash(&look, b.area + (i + 1) * PLACE + 8 * (i % 4), bytes[i], 7,
                                  b.area + 16 * i);
    atoll_inspection_end(&look);
    for (size_t i = 0; i < REGIONS; i++)
        atoll_command_batch_read(&b.batch, b.area + (i + 1) * PLACE, PLACE);
    atoll_command_batch_read(&b.batch, b.area, sizeof(results));
    bench_run(&b);
    for (size_t i = 0; i < REGIONS; i++) {
        struct atoll_task task = task_of((enum atoll_dtype)(i % ATOLL_DTYPE_COUNT), i % INITS);
        const unsigned char *got = bench_take(&b, PLACE);
        size_t begin = 8 * (i % 4);
        if (i % 3 == 0) {
            size_t count = bytes[i] / atoll_dtype_bytes(task.tensors[0].dtype);
            task.variants[0].dims[0] = (int64_t)count;
            assert_int_equal(
                atoll_init_fill(&task, 0, &task.variants[0], i, 1u << i % 5, 0, count, host, NULL), 0);
            if (memcmp(got + begin, host, bytes[i]))
                fail_msg("region %zu differs from the host's", i);
        }
        for (size_t k = 0; k < PLACE; k++)
            if ((k < begin || k >= begin + bytes[i]) && got[k] != 0x5a)
                fail_msg("region %zu: byte %zu beside it was written", i, k);
    }
    const uint64_t *seen = bench_take(&b, sizeof(results));
    for (size_t i = 0; i < REGIONS; i++)
        assert_true(i % 3 == 2 ? seen[2 * i] == 0 && seen[2 * i + 1] == UINT64_MAX : seen[2 * i] != 0);
}

/* ---- answers ---- */

enum { M = 19, COLUMNS = 37, COUNT = M * COLUMNS, Y = 2 };

struct sealed {
    double expected[COUNT], scales[COUNT];
    float got[COUNT];
};

static void make_sealed(struct sealed *a)
{
    for (size_t i = 0; i < COUNT; i++) {
        a->expected[i] = 4 * atoll_random_unit(atoll_random_at(5, i)) - 2;
        a->scales[i] = 1 + atoll_random_unit(atoll_random_at(6, i)) * 1e-9;
        a->got[i] = (float)a->expected[i];
    }
}

static const struct atoll_support_key key = {{0x123456789abcdefull, 0xfedcba987654321ull}};

/* Finding of the answer, by plain values or by sealed ones; damage: a byte of the sealed values to change, -1 none. */
static struct atoll_support_finding compare(const struct sealed *a, int has_scale, int is_sealed, long damage)
{
    struct atoll_support_output o = {.tensor = Y,
                                     .address = b.area + (1 << 20) + 4,
                                     .count = COUNT,
                                     .expected = b.area + (2 << 20),
                                     .scale = has_scale ? b.area + (3 << 20) : 0,
                                     .fill = {ATOLL_FILL_RANDOM, ATOLL_F32, 7, 1},
                                     .has_fill = 1};
    uint64_t sealed = b.area + (4 << 20), bytes = atoll_support_sealed_bytes(COUNT, has_scale);
    struct atoll_support_finding f;
    unsigned char byte = 0xa5;
    atoll_support_fill(&b.batch, &o.fill, o.address, COUNT);
    atoll_command_batch_write(&b.batch, o.address, a->got,
                              (COUNT - 3) * sizeof(float)); /* the last three stay as they were */
    atoll_command_batch_write(&b.batch, o.expected, a->expected, sizeof(a->expected));
    atoll_command_batch_write(&b.batch, b.area + (3 << 20), a->scales, sizeof(a->scales));
    atoll_support_seal(&b.batch, &o, sealed, &key, 3);
    if (is_sealed)
        atoll_command_batch_set(&b.batch, o.expected, 0, 2 * COUNT);
    if (damage >= 0)
        atoll_command_batch_write(&b.batch, sealed + (uint64_t)damage, &byte, 1);
    atoll_support_compare_clear(&b.batch, b.area);
    atoll_support_compare(&b.batch, blend, &o, is_sealed ? sealed : 0, &key, 3, b.area);
    atoll_command_batch_read(&b.batch, b.area, ATOLL_SUPPORT_FINDING_BYTES);
    atoll_command_batch_read(&b.batch, sealed, bytes);
    bench_run(&b);
    atoll_support_finding_read(bench_take(&b, ATOLL_SUPPORT_FINDING_BYTES), &f);
    const unsigned char *cipher = bench_take(&b, bytes);
    for (size_t i = 0; i < COUNT; i++)
        assert_memory_not_equal(cipher + 8 * i, &a->expected[i], 8);
    return f;
}

static void comparisons_find_what_is_wrong(void **state)
{
    static struct sealed a;
    char detail[ATOLL_DETAIL_BYTES];
    make_sealed(&a);
    a.got[100] += 0.5f;
    a.got[200] = NAN;
    a.got[300] = a.got[300] * (1 + 3e-6f);
    a.expected[400] = HUGE_VAL;
    a.got[400] = HUGE_VALF;
    a.expected[401] = NAN;
    a.got[401] = NAN;
    a.expected[402] = -HUGE_VAL;
    for (int has_scale = 0; has_scale < 2; has_scale++) {
        struct atoll_support_finding plain = compare(&a, has_scale, 0, -1),
                                     sealed = compare(&a, has_scale, 1, -1);
        assert_int_equal(plain.count, COUNT);
        assert_int_equal(plain.wrong_count, 6); /* 100, 200, 402, three unwritten */
        assert_int_equal(plain.nonfinite_count, 1);
        assert_int_equal(plain.unwritten_count, 3);
        assert_int_equal(plain.first_wrong, 100);
        assert_int_equal(plain.last_wrong, COUNT - 1);
        assert_int_equal(plain.worst_index, 200);
        assert_true(plain.worst_error == ATOLL_WORST_ERROR_MAX);
        assert_int_equal(plain.wrong_count, sealed.wrong_count);
        assert_int_equal(plain.worst_index, sealed.worst_index);
        assert_int_equal(
            atoll_support_finding_judge(&sealed, blend, Y, &blend->variants[0], detail, sizeof(detail)), 0);
        print_message("%s\n", detail);
        assert_non_null(strstr(detail, "y: 6 of 703 elements wrong"));
        assert_non_null(strstr(detail, "worst y[5, 15]"));
        assert_non_null(strstr(detail, "3 were never written"));
    }
}

/* Where only a norm decides, what is left out is found as well; what is merely far off is no fault by itself, and a fill that
 * happens to lie near the expected value is none either: so the last three expect what no fill is near. */
static void comparisons_find_what_is_unwritten_under_a_norm(void **state)
{
    static struct sealed a;
    struct atoll_tolerance saved = blend->tolerance;
    char detail[ATOLL_DETAIL_BYTES];
    make_sealed(&a);
    for (size_t i = COUNT - 3; i < COUNT; i++)
        a.expected[i] = 40;
    a.got[100] += 0.1f;
    blend->tolerance = (struct atoll_tolerance){.norm = 0.001};
    struct atoll_support_finding f = compare(&a, 0, 1, -1);
    int is_right = atoll_support_finding_judge(&f, blend, Y, &blend->variants[0], detail, sizeof(detail));
    blend->tolerance = saved; /* the next test's, even if this one fails */
    assert_int_equal(f.unwritten_count, 3);
    assert_int_equal(is_right, 0);
    assert_non_null(strstr(detail, "y: 3 of 703 elements wrong"));
    assert_non_null(strstr(detail, "3 were never written"));
}

/* Sums and the worst error are the host's, and damaged sealed values have another hash. */
static void comparisons_agree_with_the_hosts(void **state)
{
    static struct sealed a;
    make_sealed(&a);
    a.got[77] += 0.25f;
    struct atoll_support_finding f = compare(&a, 0, 1, -1), damaged = compare(&a, 0, 1, 8 * 50 + 1);
    double bound = 1e-6 + 1e-5 * fabs(a.expected[77]),
           error = fabs((double)a.got[77] - a.expected[77]) / bound;
    double expected2 = 0;
    for (size_t i = 0; i < COUNT; i++)
        expected2 += a.expected[i] * a.expected[i];
    assert_true(fabs(f.expected2 - expected2) < 1e-9 * expected2);
    assert_true(f.worst_index >= COUNT - 3 || fabs(f.worst_error - error) < 1e-9 * error);
    assert_int_equal(f.wrong_count, 4);
    assert_int_not_equal(f.expected_hash, damaged.expected_hash);
}

/* ---- the device itself ---- */

static void answer_is_known(void **state)
{
    for (uint64_t k = 0; k < 3; k++) {
        atoll_support_known_answer(&b.batch, b.area + 4096, b.multiprocessors, k, b.area);
        atoll_command_batch_read(&b.batch, b.area, 8);
    }
    atoll_support_clock_probe(&b.batch, b.area);
    atoll_command_batch_read(&b.batch, b.area, 16);
    bench_run(&b);
    for (uint64_t k = 0; k < 3; k++)
        assert_int_equal(bench_take_word(&b), atoll_support_known_answer_expected(b.multiprocessors, k));
    uint64_t clock[2];
    memcpy(clock, bench_take(&b, 16), 16);
    print_message("clock: %.3f GHz\n", (double)clock[0] / (double)clock[1]);
    assert_true(clock[1] >= 20000 && clock[1] < 200000 && clock[0] > clock[1] / 10);
}

/* Time of what the commands between did, the second time. */
static double timed(void (*put)(void))
{
    put();
    atoll_command_batch_event(&b.batch, 0);
    put();
    atoll_command_batch_event(&b.batch, 1);
    bench_run(&b);
    return b.reply.event_ns[1] - b.reply.event_ns[0];
}

enum { HALF = BYTES / 2, FLOATS = BYTES / 32 };

static void put_init(void)
{
    struct atoll_task task = task_of(ATOLL_F32, 0);
    task.variants[0].dims[0] = HALF / 4;
    atoll_support_init(&b.batch, &task, 0, &task.variants[0], 1, ATOLL_DRAW_BASE, b.area + 4096, NULL);
}

static void put_fill(void)
{
    struct atoll_support_fill fill = {ATOLL_FILL_RANDOM, ATOLL_F32, 1, 1};
    atoll_support_fill(&b.batch, &fill, b.area + 4096, HALF / 4);
}

static void put_whole_hash(void)
{
    atoll_support_hash(&b.batch, b.area + 4096, HALF, 1, b.area);
}

static void put_flush(void)
{
    atoll_support_flush(&b.batch, b.area + 4096, HALF - 4096, b.multiprocessors, b.shared_bytes, 1, b.area);
}

static const struct atoll_support_output large = {.tensor = Y, .count = FLOATS};

/* Output, expected values and the sealed ones, one behind the other. */
static struct atoll_support_output large_at(uint64_t *ret_sealed)
{
    struct atoll_support_output o = large;
    o.address = b.area + 4096;
    o.expected = o.address + (uint64_t)FLOATS * 4;
    *ret_sealed = o.expected + (uint64_t)FLOATS * 8;
    return o;
}

/* Zeros everywhere, so that what is measured is a comparison of right values; or all outputs are as wrong as each other. */
static void compare_prepare(int is_equally_wrong)
{
    uint64_t sealed;
    struct atoll_support_output o = large_at(&sealed);
    atoll_command_batch_set(&b.batch, o.address, 0, (uint64_t)FLOATS * 3);
    atoll_support_seal(&b.batch, &o, sealed, &key, 1);
    if (is_equally_wrong)
        atoll_command_batch_set(&b.batch, o.address, 0x00800000 /* the least normal number */, FLOATS);
    atoll_support_compare_clear(&b.batch, b.area);
    bench_run(&b);
}

static void put_compare(int is_sealed)
{
    uint64_t sealed;
    struct atoll_support_output o = large_at(&sealed);
    atoll_support_compare(&b.batch, blend, &o, is_sealed ? sealed : 0, &key, 1, b.area);
}

static void put_plain_compare(void)
{
    put_compare(0);
}

static void put_sealed_compare(void)
{
    put_compare(1);
}

/* All blocks have the worst error. */
static void put_equal_compare(void)
{
    atoll_support_compare_clear(&b.batch, b.area);
    put_compare(1);
}

static void put_copy(void)
{
    atoll_support_copy(&b.batch, b.area, b.area + HALF, HALF, b.multiprocessors);
}

static void rates(void **state)
{
    static const struct {
        const char *name;
        void (*put)(void);
        double bytes;
    } rows[] = {
        {"init, f32 normal", put_init, HALF},
        {"fill, f32 random", put_fill, HALF},
        {"hash", put_whole_hash, HALF},
        {"flush", put_flush, 2.0 * HALF},
        {"compare, plain f32", put_plain_compare, 12.0 * FLOATS},
        {"compare, sealed f32", put_sealed_compare, 12.0 * FLOATS},
        {"compare, equal errors", put_equal_compare, 12.0 * FLOATS},
        {"copy", put_copy, 2.0 * HALF},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (rows[i].put == put_plain_compare || rows[i].put == put_equal_compare)
            compare_prepare(rows[i].put == put_equal_compare);
        double ns = timed(rows[i].put);
        assert_true(ns > 0);
        print_message("%-24s %8.1f GB/s\n", rows[i].name, rows[i].bytes / ns);
    }
}

static void peaks(void **state)
{
    for (unsigned i = 0; i < 2 * (ATOLL_DTYPE_COUNT + 1); i++) {
        unsigned type = i % (ATOLL_DTYPE_COUNT + 1);
        int is_tensor = i > ATOLL_DTYPE_COUNT;
        double flops = 0;
        int rc = 0;
        for (uint32_t turn = 0; turn < 2 && !rc; turn++) {
            atoll_command_batch_event(&b.batch, turn);
            rc = is_tensor
                     ? atoll_support_tensor(&b.batch, type, b.multiprocessors, b.area, &flops)
                     : atoll_support_fma(&b.batch, (enum atoll_dtype)type, b.multiprocessors, b.area, &flops);
        }
        atoll_command_batch_event(&b.batch, 2);
        atoll_command_batch_read(&b.batch, b.area, 8);
        bench_run(&b);
        if (rc == 0)
            print_message("%-6s %-6s %8.1f Tflop/s, result %llu\n", is_tensor ? "tensor" : "fma",
                          type < ATOLL_DTYPE_COUNT ? atoll_dtype_name((enum atoll_dtype)type) : "tf32",
                          flops / (b.reply.event_ns[2] - b.reply.event_ns[1]) / 1e3,
                          (unsigned long long)bench_take_word(&b));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(init_is_the_hosts),
        cmocka_unit_test(segments_are_the_hosts),
        cmocka_unit_test(fills_repeat),
        cmocka_unit_test(guards_tell),
        cmocka_unit_test(hashes_see_every_bit_and_no_address),
        cmocka_unit_test(many_regions_are_made_at_once),
        cmocka_unit_test(comparisons_find_what_is_wrong),
        cmocka_unit_test(comparisons_find_what_is_unwritten_under_a_norm),
        cmocka_unit_test(comparisons_agree_with_the_hosts),
        cmocka_unit_test(answer_is_known),
        cmocka_unit_test(rates),
        cmocka_unit_test(peaks),
    };
    if (bench_open(&b, BYTES) != 0)
        return 77;
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
