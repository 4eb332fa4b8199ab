/* Fingerprints on a device against their model on the host, what they let pass and what not, hashes of outputs made on the
 * way, and how fast all of it is, printed.  Then through a referee: most samples of a candidate go by fingerprint, and one that
 * is wrong in few places is found. */
#include "tests/gpu/support.h"

#include <math.h>

#include "mpi-eval/backend/cuda/measure/fingerprint.h"
#include "tests/gpu/referee.h"
#include "tests/support/cheats.h"
#include "tests/support/fingerprint_model.h"

enum {
    BYTES = 1 << 28,
    Y = 2,
    LARGEST = 9 * 1024 + 131,
    PAIRS = LARGEST / ATOLL_PRINT_BLOCK + 1 + ATOLL_PRINT_SAMPLES
};

static struct bench b;
static struct atoll_task *task;
static const struct atoll_support_key key = {{0x123456789abcdefull, 0xfedcba987654321ull}};
static const atoll_u64 words[2] = {0x123456789abcdefull, 0xfedcba987654321ull}; /* the same for the model */
static double values[LARGEST], scales[LARGEST];
static unsigned char output[LARGEST * 8];
static struct model_pair pairs[PAIRS];

static int set_up(void **state)
{
    (void)state;
    task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/referee", NULL);
    if (!task)
        return -1;
    task->tolerance =
        (struct atoll_tolerance){.rtol = 0.3, .atol = 0.6}; /* right in each type, integers too */
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    bench_close(&b);
    atoll_task_destroy(task);
    return 0;
}

#define RESULT   (b.area)
#define HASHES   (b.area + 4096)
#define EXPECTED (b.area + (1 << 20))
#define SCALES   (b.area + (2 << 20))
#define SEALED   (b.area + (3 << 20))
#define OUTPUT   (b.area + (4 << 20))
#define WHOLE    (b.area + (5 << 20))

static struct atoll_support_output output_of(size_t count, int has_scale, unsigned shift)
{
    return (struct atoll_support_output){.tensor = Y,
                                         .address = OUTPUT + shift,
                                         .count = count,
                                         .expected = EXPECTED,
                                         .scale = has_scale ? SCALES : 0,
                                         .hash = HASHES,
                                         .hash_key = 77};
}

static void values_make(enum atoll_dtype dtype, size_t count)
{
    task->tensors[Y].dtype = dtype;
    for (size_t i = 0; i < count; i++) {
        values[i] =
            floor(60 * atoll_random_unit(atoll_random_at(5, i))) + (atoll_dtype_is_float(dtype) ? 0.3 : 0);
        scales[i] = 1 + atoll_random_unit(atoll_random_at(6, i));
        atoll_dtype_store(dtype, output, i, values[i]);
    }
}

static struct atoll_cuda_fingerprint_finding make(size_t count, int has_scale)
{
    struct atoll_support_output o = output_of(count, has_scale, 0);
    struct atoll_cuda_fingerprint_finding f;
    atoll_command_batch_write(&b.batch, EXPECTED, values, count * 8);
    atoll_command_batch_write(&b.batch, SCALES, scales, count * 8);
    atoll_command_batch_set(&b.batch, RESULT, 0, 16);
    atoll_cuda_fingerprint_make(&b.batch, task, &o, SEALED, &key, 3, RESULT);
    atoll_command_batch_read(&b.batch, RESULT, 64);
    bench_run(&b);
    atoll_cuda_fingerprint_read(bench_take(&b, 64), &f);
    return f;
}

/* With so much of each bound. */
static struct atoll_cuda_fingerprint_finding match_at(size_t count, unsigned shift, double bound_ratio,
                                                      uint64_t *ret_hash)
{
    struct atoll_support_output o = output_of(count, 0, shift);
    struct atoll_cuda_fingerprint_finding f;
    atoll_command_batch_write(&b.batch, o.address, output, count * atoll_dtype_bytes(task->tensors[Y].dtype));
    atoll_command_batch_set(&b.batch, RESULT, 0, 16);
    atoll_command_batch_set(&b.batch, HASHES, 0, 16);
    atoll_cuda_fingerprint_match(&b.batch, task, &o, SEALED, &key, 3, bound_ratio, RESULT);
    atoll_support_hash(&b.batch, o.address, count * atoll_dtype_bytes(task->tensors[Y].dtype), 77,
                       HASHES + 8);
    atoll_command_batch_read(&b.batch, RESULT, 64);
    atoll_command_batch_read(&b.batch, HASHES, 16);
    bench_run(&b);
    atoll_cuda_fingerprint_read(bench_take(&b, 64), &f);
    memcpy(ret_hash, bench_take(&b, 16), 16);
    if (!atoll_support_hashes_along(task, &o))
        assert_int_equal(ret_hash[0], 0);
    else
        assert_int_equal(ret_hash[0], ret_hash[1]);
    return f;
}

static struct atoll_cuda_fingerprint_finding match(size_t count, unsigned shift, uint64_t *ret_hash)
{
    return match_at(count, shift, 1, ret_hash);
}

static const size_t counts[] = {1, 3, 127, 128, 129, 1023, 1024, 1025, 8 * 1024, LARGEST};
enum { COUNTS = sizeof(counts) / sizeof(*counts) };

/* What lies there is the model's, under the keystream, and nowhere in the clear. */
static void pairs_are_the_models(void **state)
{
    (void)state;
    for (size_t c = 0; c < 2 * COUNTS; c++) {
        size_t count = counts[c / 2];
        int has_scale = c % 2;
        values_make(ATOLL_F32, count);
        size_t n = model_make(&task->tolerance, values, has_scale ? scales : NULL, count, words, 3, pairs);
        struct atoll_cuda_fingerprint_finding f = make(count, has_scale);
        double expected2, bound2;
        model_squares(&task->tolerance, values, has_scale ? scales : NULL, count, &expected2, &bound2);
        assert_int_equal(f.pair_count, n);
        assert_int_equal(f.nonfinite_count, 0);
        assert_true(fabs(f.expected2 - expected2) <= 1e-10 * expected2);
        assert_true(fabs(f.bound2 - bound2) <= 1e-10 * bound2);
        atoll_command_batch_read(&b.batch, SEALED, n * 16);
        bench_run(&b);
        const unsigned char *sealed = bench_take(&b, n * 16);
        for (size_t i = 0; i < n; i++) {
            struct atoll_pair stream = atoll_print_word(words, 3, ATOLL_PRINT_PAIRS, i);
            uint64_t bits[2];
            struct model_pair got;
            memcpy(bits, sealed + 16 * i, 16);
            bits[0] ^= stream.x;
            bits[1] ^= stream.y;
            memcpy(&got, bits, 16);
            if (fabs(got.value - pairs[i].value) > 1e-10 * (1 + fabs(pairs[i].bound)) ||
                fabs(got.bound - pairs[i].bound) > 1e-10 * pairs[i].bound)
                fail_msg("%zu elements, pair %zu: %.17g +- %.17g, not %.17g +- %.17g", count, i, got.value,
                         got.bound, pairs[i].value, pairs[i].bound);
        }
    }
}

/* Every type, count and alignment: right ones match, hashes on the way are those of the hash kernel, and the pairs used are
 * those that were made. */
static void right_outputs_match(void **state)
{
    (void)state;
    for (unsigned t = 0; t < ATOLL_DTYPE_COUNT; t++)
        for (size_t c = 0; c < COUNTS; c++) {
            uint64_t hash[2];
            values_make((enum atoll_dtype)t, counts[c]);
            struct atoll_cuda_fingerprint_finding made = make(counts[c], 1);
            for (unsigned shift = 0; shift < 16; shift += 8) {
                struct atoll_cuda_fingerprint_finding f = match(counts[c], shift, hash);
                if (!atoll_cuda_fingerprint_matches(&f, counts[c], HUGE_VAL) || f.hash != made.hash)
                    fail_msg("%s, %zu elements, shift %u: %llu pairs of %llu are off",
                             atoll_dtype_name((enum atoll_dtype)t), counts[c], shift,
                             (unsigned long long)f.off_count, (unsigned long long)f.pair_count);
            }
        }
}

/* As many pairs are off as by the model, but for those at the very edge: there are none here. */
static void wrong_outputs_do_not(void **state)
{
    static const enum atoll_dtype types[] = {ATOLL_F32, ATOLL_BF16, ATOLL_F16, ATOLL_F64, ATOLL_I32};
    (void)state;
    for (size_t t = 0; t < sizeof(types) / sizeof(*types); t++)
        for (size_t kind = 0; kind < 4; kind++) {
            size_t first = kind == 0 ? 0 : kind == 1 ? 3 * 1024 : kind == 2 ? LARGEST - 5 : 1000;
            size_t until = kind == 0 ? LARGEST : kind == 1 ? 3 * 1024 + 128 : kind == 2 ? LARGEST : 1001;
            uint64_t hash[2];
            values_make(types[t], LARGEST);
            make(LARGEST, 0);
            for (size_t i = first; i < until; i++)
                atoll_dtype_store(types[t], output, i, kind == 3 ? 1e6 : 120 + (double)(i % 7));
            model_make(&task->tolerance, values, NULL, LARGEST, words, 3, pairs);
            double error2;
            size_t off = model_match(pairs, types[t], output, LARGEST, words, 3, 1, &error2);
            struct atoll_cuda_fingerprint_finding f = match(LARGEST, 0, hash);
            assert_true(off > 0);
            assert_int_equal(f.off_count, off);
            assert_true(f.error2 == error2 || fabs(f.error2 - error2) <= 1e-9 * error2);
        }
    values_make(ATOLL_F32, LARGEST);
    make(LARGEST, 0);
    uint64_t hash[2];
    ((float *)output)[4321] = NAN;
    assert_true(match(LARGEST, 0, hash).off_count > 0);
    ((float *)output)[4321] = HUGE_VALF;
    assert_true(match(LARGEST, 0, hash).off_count > 0);
}

/* What is within its bound all over, and not within the share of it that a norm leaves. */
static void a_norm_takes_from_the_bounds(void **state)
{
    static const double ratios[] = {1, 0.5, 0.1, 0};
    uint64_t hash[2];
    (void)state;
    values_make(ATOLL_F32, LARGEST);
    make(LARGEST, 0);
    model_make(&task->tolerance, values, NULL, LARGEST, words, 3, pairs);
    for (size_t i = 0; i < LARGEST; i++)
        ((float *)output)[i] = (float)(values[i] + 0.3 * model_bound(&task->tolerance, values[i], 0));
    for (size_t k = 0; k < sizeof(ratios) / sizeof(*ratios); k++) {
        double error2;
        size_t off = model_match(pairs, ATOLL_F32, output, LARGEST, words, 3, ratios[k], &error2);
        struct atoll_cuda_fingerprint_finding f = match_at(LARGEST, 0, ratios[k], hash);
        assert_int_equal(f.off_count, off);
        assert_true(off > 0 || ratios[k] > 0.3);
        assert_true(fabs(f.error2 - error2) <= 1e-9 * error2);
    }
}

static void values_without_bound_are_told(void **state)
{
    (void)state;
    values_make(ATOLL_F32, LARGEST);
    values[77] = HUGE_VAL;
    assert_true(make(LARGEST, 0).nonfinite_count > 0);
    values[77] = NAN;
    assert_true(make(LARGEST, 1).nonfinite_count > 0);
}

/* A bit of a sum, of a bound, of a sample. */
static void damage_has_another_hash(void **state)
{
    static const uint64_t places[] = {3, 8 + 7, 16 * 73 + 1, 16 * 400 + 15};
    uint64_t hash[2];
    (void)state;
    values_make(ATOLL_F32, LARGEST);
    struct atoll_cuda_fingerprint_finding made = make(LARGEST, 0);
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        atoll_command_batch_read(&b.batch, SEALED + places[i], 1);
        bench_run(&b);
        unsigned char byte = *(const unsigned char *)bench_take(&b, 1), changed = byte ^ 0x40;
        atoll_command_batch_write(&b.batch, SEALED + places[i], &changed, 1);
        assert_true(match(LARGEST, 0, hash).hash != made.hash);
        atoll_command_batch_write(&b.batch, SEALED + places[i], &byte, 1);
        assert_true(match(LARGEST, 0, hash).hash == made.hash);
    }
}

/* The whole comparison hashes on its way as well: sealed and plain, with and without scales, where it can. */
static void comparisons_hash_on_the_way(void **state)
{
    (void)state;
    for (unsigned t = 0; t < ATOLL_DTYPE_COUNT; t++)
        for (size_t c = 0; c < 4 * COUNTS; c++) {
            size_t count = counts[c / 4], bytes = count * atoll_dtype_bytes((enum atoll_dtype)t);
            struct atoll_support_output o = output_of(count, c & 1, 0);
            struct atoll_support_finding f;
            uint64_t hash[2];
            values_make((enum atoll_dtype)t, count);
            atoll_command_batch_write(&b.batch, EXPECTED, values, count * 8);
            atoll_command_batch_write(&b.batch, SCALES, scales, count * 8);
            atoll_command_batch_write(&b.batch, OUTPUT, output, bytes);
            atoll_support_seal(&b.batch, &o, WHOLE, &key, 1);
            atoll_command_batch_set(&b.batch, HASHES, 0, 16);
            atoll_support_compare_clear(&b.batch, RESULT);
            atoll_support_compare(&b.batch, task, &o, c & 2 ? WHOLE : 0, &key, 1, RESULT);
            atoll_support_hash(&b.batch, OUTPUT, bytes, 77, HASHES + 8);
            atoll_command_batch_read(&b.batch, RESULT, ATOLL_SUPPORT_FINDING_BYTES);
            atoll_command_batch_read(&b.batch, HASHES, 16);
            bench_run(&b);
            atoll_support_finding_read(bench_take(&b, ATOLL_SUPPORT_FINDING_BYTES), &f);
            memcpy(hash, bench_take(&b, 16), 16);
            assert_true(f.count == count && f.wrong_count == 0);
            assert_int_equal(hash[0], atoll_support_hashes_along(task, &o) ? hash[1] : 0);
        }
}

/* ---- rates ---- */

enum { ELEMENTS = 1 << 23 };

struct rate {
    const char *name;
    enum atoll_dtype dtype;
    int has_hash;
    enum { MAKE, MATCH, COMPARE, HASH } what;
};

static void rate_put(const struct rate *r)
{
    struct atoll_support_output o = {.tensor = Y,
                                     .address = b.area + (1 << 20),
                                     .count = ELEMENTS,
                                     .expected = b.area + (64 << 20),
                                     .hash = r->has_hash ? HASHES : 0,
                                     .hash_key = 77};
    uint64_t print = b.area + (36 << 20), whole = b.area + (136 << 20);
    task->tensors[Y].dtype = r->dtype;
    if (r->what == MAKE)
        atoll_cuda_fingerprint_make(&b.batch, task, &o, print, &key, 1, RESULT);
    else if (r->what == MATCH)
        atoll_cuda_fingerprint_match(&b.batch, task, &o, print, &key, 1, 1, RESULT);
    else if (r->what == COMPARE)
        atoll_support_compare(&b.batch, task, &o, whole, &key, 1, RESULT);
    else
        atoll_support_hash(&b.batch, o.address, (uint64_t)ELEMENTS * atoll_dtype_bytes(r->dtype), 77, HASHES);
}

/* Zeros everywhere, which are right.  All of it is read from memory: outputs of 16 to 32 MB, of which the cache holds what
 * the pass before left, so the area beyond is read first. */
static void rates(void **state)
{
    static const struct rate rows[] = {
        {"make", ATOLL_F32, 0, MAKE},
        {"match f32", ATOLL_F32, 0, MATCH},
        {"match f32, hash", ATOLL_F32, 1, MATCH},
        {"match bf16", ATOLL_BF16, 0, MATCH},
        {"match bf16, hash", ATOLL_BF16, 1, MATCH},
        {"match f16", ATOLL_F16, 0, MATCH},
        {"match i32", ATOLL_I32, 0, MATCH},
        {"compare sealed f32", ATOLL_F32, 0, COMPARE},
        {"compare sealed f32, hash", ATOLL_F32, 1, COMPARE},
        {"compare sealed bf16", ATOLL_BF16, 0, COMPARE},
        {"compare sealed bf16, hash", ATOLL_BF16, 1, COMPARE},
        {"hash f32", ATOLL_F32, 1, HASH},
    };
    (void)state;
    atoll_command_batch_set(&b.batch, b.area, 0, BYTES / 4);
    struct atoll_support_output o = {.tensor = Y, .count = ELEMENTS, .expected = b.area + (64 << 20)};
    task->tensors[Y].dtype = ATOLL_F32;
    atoll_support_seal(&b.batch, &o, b.area + (136 << 20), &key, 1);
    rate_put(&rows[0]);
    bench_run(&b);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        double best = HUGE_VAL, bytes = (double)ELEMENTS * (double)atoll_dtype_bytes(rows[i].dtype);
        if (rows[i].what == MAKE)
            bytes = 8.0 * ELEMENTS;
        else if (rows[i].what == COMPARE)
            bytes += 8.0 * ELEMENTS;
        for (int k = 0; k < 5; k++) {
            atoll_support_compare_clear(&b.batch, RESULT);
            atoll_support_touch(&b.batch, b.area + (200 << 20), 55 << 20, 1, b.area);
            atoll_command_batch_event(&b.batch, 0);
            rate_put(&rows[i]);
            atoll_command_batch_event(&b.batch, 1);
            bench_run(&b);
            best = fmin(best, b.reply.event_ns[1] - b.reply.event_ns[0]);
        }
        print_message("RATE %-26s %8.1f us %8.1f GB/s\n", rows[i].name, best / 1e3, bytes / best);
    }
}

/* ---- through a referee ---- */

#define PLAN                                                                                                 \
    "/* atoll-plan {\"version\": 1, \"launch\": [{\"kernel\": \"k\", \"grid\": [\"cdiv(N, 256)\"], "         \
    "\"block\": [256], \"args\": [\"x\", \"y\", \"i32:N\"]}]} */\n"                                          \
    "extern \"C\" __global__ void k(const float *x, float *y, int n)\n{\n"                                   \
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i >= n)\n        return;\n"

/* Right at small sizes and with a quarter of the inputs; else one element of a hundred is off by fifty times the tolerance, which
 * no sum of a block shows. */
#define SELDOM                                                                                               \
    PLAN "    unsigned bits = __float_as_uint(x[0]) >> %d;\n"                                                \
         "    y[i] = n > 5000 && bits & 3 && i %% 100 == 7 ? 2.0001f * x[i] : 2.0f * x[i];\n}\n"

struct rig {
    struct atoll_compiler *compiler;
    struct atoll_referee *referee;
    struct atoll_task *task;
};

static void evaluate(const struct rig *g, const char *source, struct atoll_evaluation *e)
{
    static uint64_t next_evaluation = 1;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct cheats_built built = {0};
    struct atoll_order order = {.evaluation = next_evaluation++};
    if (cheats_build(source, g->task, atoll_referee_device(g->referee), g->compiler, &built, &err) != 0)
        fail_msg("%s", err.text);
    if (built.at)
        fail_msg("stopped before the device: %s", built.detail);
    atoll_evaluation_init(e);
    atoll_referee_evaluate(g->referee, 0, &order, built.prepared, built.compiled.object,
                           built.compiled.object_length, e);
    printf("%s: %u runs, %u compared in full; %.200s\n", atoll_verdict_name(e->verdict),
           (unsigned)e->draw_count, (unsigned)e->fully_compared_count, e->detail);
    cheats_built_fini(&built);
}

/* Within its bounds all over, and at the bench variant beyond a norm of half of them. */
#define BEYOND_NORM PLAN "    y[i] = n > 5000 ? 2.0000016f * x[i] : 2.0f * x[i];\n}\n"

/* One comparison in full at the bench variant, the rest by fingerprint; with a norm, which the bounds do not imply, none. */
static void goes_by_fingerprint(int has_norm)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_setup setup = gpu_setup();
    struct rig g = {.task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/tasks/scale", &err)};
    struct atoll_evaluation e;
    char source[2048];
    setup.full_compares = has_norm ? 0 : 1;
    if (g.task && has_norm)
        g.task->tolerance.norm = 0.5 * g.task->tolerance.rtol;
    for (size_t i = 0; g.task && i < g.task->variant_count; i++)
        if (g.task->variants[i].kind == ATOLL_VARIANT_BENCH)
            g.task->variants[i].dims[0] = 1 << 20;
    g.compiler = g.task ? atoll_backend_cuda.compiler_create(&setup, 1, &err) : NULL;
    if (g.compiler)
        g.referee = atoll_referee_create(&atoll_backend_cuda, &setup, g.compiler, &err);
    if (!g.referee || atoll_referee_add_task(g.referee, 0, g.task, &err) != 0) {
        fail_msg("%s", err.text);
        return;
    }
    for (int i = 0; i < 3; i++) {
        evaluate(&g, PLAN "    y[i] = 2.0f * x[i];\n}\n", &e);
        assert_int_equal(e.verdict, ATOLL_V_CORRECT);
        assert_true(e.fully_compared_count >= 4 + setup.full_compares); /* two check variants */
        assert_true(e.draw_count >= 4 + 9 && e.fully_compared_count < e.draw_count);
        assert_true(!has_norm || e.fully_compared_count == 4);
        atoll_evaluation_fini(&e);
    }
    if (has_norm) {
        evaluate(&g, BEYOND_NORM, &e);
        assert_int_equal(e.verdict, ATOLL_V_WRONG);
        assert_non_null(strstr(e.detail, "norm of the error"));
        atoll_evaluation_fini(&e);
    }
    for (int i = 0; i < 6; i++) {
        snprintf(source, sizeof(source), SELDOM, 2 * i);
        evaluate(&g, source, &e);
        assert_int_equal(e.verdict, ATOLL_V_WRONG);
        assert_non_null(strstr(e.detail, "elements wrong"));
        atoll_evaluation_fini(&e);
    }
    atoll_referee_destroy(g.referee);
    atoll_compiler_destroy(g.compiler);
    atoll_task_destroy(g.task);
}

static void referee_goes_by_fingerprint(void **state)
{
    (void)state;
    bench_close(&b);
    b.worker = NULL; /* the device is the referee's */
    goes_by_fingerprint(0);
    goes_by_fingerprint(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_the_models),          cmocka_unit_test(right_outputs_match),
        cmocka_unit_test(wrong_outputs_do_not),          cmocka_unit_test(a_norm_takes_from_the_bounds),
        cmocka_unit_test(values_without_bound_are_told), cmocka_unit_test(damage_has_another_hash),
        cmocka_unit_test(comparisons_hash_on_the_way),   cmocka_unit_test(rates),
        cmocka_unit_test(referee_goes_by_fingerprint),
    };
    if (bench_open(&b, BYTES) != 0)
        return 77;
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
