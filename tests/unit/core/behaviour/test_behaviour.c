/* test_behaviour.c - labelled sources: the cell a reader would give them. */
#include "tests/support/expect.h"

#include <stdlib.h>
#include <string.h>

#include "core/behaviour/behaviour.h"
#include "base/random.h"

static const struct {
    const char *name;
    int memory, algorithm, coordination; /* -1: not asked */
    const char *body;
} labelled[] = {
    {"empty", 0, 0, 0, ""},
    {"naive matmul", 0, 0, 0,
     "void f(long b, long e, const float *a, const float *w, float *c, long n, long k) {\n"
     "  for (long i = b; i < e; i++) for (long j = 0; j < n; j++) { float s = 0;\n"
     "    for (long p = 0; p < k; p++) s += a[i * k + p] * w[p * n + j]; c[i * n + j] = s; } }"},
    {"strided column sum with restrict", 0, 0, 0,
     "void f(long b, long e, const float *restrict x, float *restrict y, long n) {\n"
     "  for (long j = b; j < e; j++) { float s = 0; for (long i = 0; i < n; i++) s += x[i * n + j]; y[j] = "
     "s; } }"},
    {"contiguous elementwise", 1, 0, 0,
     "void f(long b, long e, const float *restrict x, float *restrict y) { for (long i = b; i < e; i++) y[i] "
     "= 2 * x[i]; }"},
    {"without restrict", 0, 0, 0,
     "void f(long b, long e, const float *x, float *y) { for (long i = b; i < e; i++) y[i] = 2 * x[i]; }"},
    {"simd pragma", 1, 0, 0,
     "void f(long b, long e, const float *x, float *y) {\n#pragma omp simd\nfor (long i = b; i < e; i++) "
     "y[i] = x[i]; }"},
    {"intrinsics", 1, 0, 0,
     "#include <immintrin.h>\nvoid f(long b, long e, const float *x, float *y) {\n"
     "for (long i = b; i < e; i += 8) _mm256_storeu_ps(y + i, _mm256_loadu_ps(x + i)); }"},
    {"vector extension", 1, 0, 0,
     "typedef float v8 __attribute__((vector_size(32)));\nvoid f(long b, long e, v8 *x) {}"},
    {"tiled transpose", 2, 0, 0,
     "void f(long b, long e, const float *x, float *y, long n) { for (long i0 = b; i0 < e; i0 += T)\n"
     "for (long j0 = 0; j0 < n; j0 += T) for (long i = i0; i < i0 + T; i++) for (long j = j0; j < j0 + T; "
     "j++)\n"
     "y[j * n + i] = x[i * n + j]; }"},
    {"chunks are no blocking", 0, 0, 0,
     "void f(long b, long e, const float *x, float *y, long n) { for (long t = b; t < e; t++)\n"
     "for (long i = t * T; i < (t * T + T < n ? t * T + T : n); i++) y[i] = x[i]; }"},
    {"tiles by number", 2, 0, 0,
     "void f(long b, long e, const float *x, float *y, long n, long w) { for (long t = b; t < e; t++) {\n"
     "long i0 = t / w * T, j0 = t % w * T; for (long i = i0; i < i0 + T; i++) for (long j = j0; j < j0 + T; "
     "j++)\n"
     "y[j * n + i] = x[i * n + j]; } }"},
    {"tiles worked on by a function", 2, 0, 0,
     "void f(long b, long e, const float *x, float *y, long n) { for (long i = b; i < e; i += T) {\n"
     "long h = e - i < T ? e - i : T; tile(x + i * n, y + i, h); } }"},
    {"tiles and register block", 3, 0, 0,
     "void f(long b, long e, const float *a, const float *w, float *c, long n, long k) {\n"
     "for (long i0 = b; i0 < e; i0 += TM) { float acc[TM][TN]; for (long p = 0; p < k; p++)\n"
     "for (long i = i0; i < i0 + TM; i++) for (long j = 0; j < TN; j++) acc[i - i0][j] += a[i * k + p] * w[p "
     "* n + j];\n"
     "for (long i = i0; i < i0 + TM; i++) for (long j = 0; j < TN; j++) c[i * n + j] = acc[i - i0][j] * 1; } "
     "}"},
    {"tiles and packing", 3, 0, 0,
     "void f(long b, long e, const float *a, float *c, long n) { float pack[64];\n"
     "for (long i0 = b; i0 < e; i0 += 64) { for (long i = i0; i < i0 + 64; i++) pack[i - i0] = a[i * n];\n"
     "for (long i = i0; i < i0 + 64; i++) c[i] = 2 * pack[i - i0]; } }"},
    {"tiles and prefetch", 3, -1, 0,
     "void f(long b, long e, const float *a, float *c) { for (long t = b; t < e; t += 64) {\n"
     "__builtin_prefetch(a + t + 64); for (long i = t; i < t + 64; i++) c[i] = a[i]; } }"},
    {"register block without tiles", 0, 0, 0,
     "void f(long b, long e, const float *x, float *y, long n) { float acc[4]; for (long i = b; i < e; i++)\n"
     "for (long j = 0; j < 4; j++) acc[j] += x[j * n + i]; }"},
    {"three passes of softmax", 0, 0, 0,
     "void f(long n, const float *x, float *y) { float m = x[0]; for (long i = 1; i < n; i++) m = x[i] > m ? "
     "x[i] : m;\n"
     "float s = 0; for (long i = 0; i < n; i++) s += expf(x[i] - m); for (long i = 0; i < n; i++) y[i] = "
     "expf(x[i] - m) / s; }"},
    {"softmax keeps its exponentials", 0, 1, 0,
     "void f(long n, const float *x, float *y, float m) { float s = 0;\n"
     "for (long i = 0; i < n; i++) { float v = expf(x[i] - m); y[i] = v; s += v; } }"},
    {"sum and sum of squares in one pass", 0, 1, 0,
     "void f(long n, const float *x, float *y) { float s = 0, q = 0;\n"
     "for (long i = 0; i < n; i++) { s += x[i]; q += x[i] * x[i]; } y[0] = q - s * s; }"},
    {"online softmax", 0, 2, 0,
     "void f(long n, const float *x, float *y) { float m = -1e30f, s = 0; for (long i = 0; i < n; i++) {\n"
     "float t = fmaxf(m, x[i]); s = s * expf(m - t) + expf(x[i] - t); m = t; } }"},
    {"online softmax by compound", 0, 2, 0,
     "void f(long n, const float *x, float *y) { float m = -1e30f, s = 0; for (long i = 0; i < n; i++) {\n"
     "if (x[i] > m) { s *= expf(m - x[i]); m = x[i]; } s += expf(x[i] - m); } }"},
    {"Welford", 0, 2, 0,
     "void f(long n, const float *x, float *y) { float mean = 0, m2 = 0; for (long i = 0; i < n; i++) {\n"
     "float d = x[i] - mean; mean += d / (float)(i + 1); m2 += d * (x[i] - mean); } }"},
    {"sliding window", 0, 2, 0,
     "void f(long n, long w, const float *x, float *y) { float s = 0; for (long i = w; i < n; i++) { s += "
     "x[i] - x[i - w]; y[i] = s; } }"},
    {"own exponential", 0, 2, 0, "static float e(float x) { return x * 1.44269504f; }"},
    {"recursion", 0, 3, 0, "static void mm(long n) { if (n > 1) { mm(n / 2); mm(n - n / 2); } }"},
    {"winograd", 0, 3, 0, "static float winograd_input(float a, float b) { return a - b; }"},
    {"split sum", 0, 0, 1,
     "void f(long n, const float *x, float *y) { float s0 = 0, s1 = 0; for (long i = 0; i < n; i += 2) {\n"
     "s0 += x[i]; s1 += x[i + 1]; } y[0] = s0 + s1; }"},
    {"array of partial sums", 0, 0, 1,
     "void f(long n, const float *x, float *y) { float part[8] = {0}; for (long i = 0; i < n; i += 8) for "
     "(long j = 0; j < 8; j++)\n"
     "part[j] += x[i + j]; float s = 0; for (long j = 0; j < 8; j++) s += part[j]; y[0] = s; }"},
    {"reduction clause", 1, 0, 1,
     "void f(long n, const float *x, float *y) { float s = 0;\n#pragma omp simd reduction(+ : s)\nfor (long "
     "i = 0; i < n; i++) s += x[i]; }"},
    {"atomics", 0, 0, 3,
     "void f(long b, long e, int *y) { for (long i = b; i < e; i++) __atomic_fetch_add(y, 1, 0); }"},
    {"comments and strings say nothing", 0, 0, 0,
     "/* __builtin_prefetch strassen _Atomic */ // _mm256_add_ps\nconst char *s = \"_mm512_loadu_ps "
     "winograd\";"},
};

static void test_labelled(void **state)
{
    assert_true(sizeof(labelled) / sizeof(*labelled) >= 20);
    for (size_t i = 0; i < sizeof(labelled) / sizeof(*labelled); i++) {
        struct atoll_behaviour b = atoll_behaviour_classify("c", labelled[i].body, NULL, NULL);
        if ((labelled[i].memory >= 0 && b.memory != labelled[i].memory) ||
            (labelled[i].algorithm >= 0 && b.algorithm != labelled[i].algorithm) ||
            (labelled[i].coordination >= 0 && b.coordination != labelled[i].coordination))
            fail_msg("%s: %d %d %d", labelled[i].name, b.memory, b.algorithm, b.coordination);
    }
}

static struct atoll_launch launches[2];
static struct atoll_plan plan = {.param_count = 2,
                                 .params = {{.name = "TILE", .value_count = 2, .values = {0, 8}},
                                            {.name = "FAST", .value_count = 2, .values = {0, 1}}},
                                 .launch_count = 1,
                                 .launches = launches,
                                 .path_count = 1,
                                 .paths = {{.count = 1}}};

static void test_conditions(void **state)
{
    static const struct {
        const char *body;
        int64_t tile, fast;
        int memory;
    } rows[] = {
        {"#if FAST\n__m256 x;\n#endif\n", 0, 1, 1},
        {"#if FAST\n__m256 x;\n#endif\n", 0, 0, 0},
        {"#if !FAST\n__m256 x;\n#endif\n", 0, 1, 0},
        {"#if FAST == 1 && TILE > 4\n__m256 x;\n#endif\n", 8, 1, 1},
        {"#if FAST == 1 && TILE > 4\n__m256 x;\n#endif\n", 0, 1, 0},
        {"#if TILE == 0\nint a;\n#elif FAST\n__m256 x;\n#else\nint b;\n#endif\n", 8, 1, 1},
        {"#if TILE == 0\nint a;\n#elif FAST\n__m256 x;\n#else\nint b;\n#endif\n", 0, 1, 0},
        {"#if FAST\nint a;\n#else\n__m256 x;\n#endif\n", 0, 0, 1},
        {"#if FAST\nint a;\n#else\n__m256 x;\n#endif\n", 0, 1, 0},
        {"#if FAST\n#if TILE\n__m256 x;\n#endif\n#endif\n", 8, 0, 0},
        {"#ifdef FAST\n__m256 x;\n#endif\n", 0, 0, 1},
        {"#ifndef FAST\n__m256 x;\n#endif\n", 0, 0, 0},
        {"#if defined(FAST) && TILE\n__m256 x;\n#endif\n", 8, 0, 1},
        {"#if defined FAST && TILE\n__m256 x;\n#endif\n", 0, 0, 0},
        {"#ifdef __AVX2__\n__m256 x;\n#else\nint a;\n#endif\n", 0, 0, 1},
        {"#ifdef __AVX2__\nint a;\n#else\n__m256 x;\n#endif\n", 0, 0, 1},
        {"#endif\n#else\n#elif 1\n__m256 x;\n", 0, 0, 1},
        {"#if\n__m256 x;\n#endif\n", 0, 0, 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_choice choice = {2, {rows[i].tile, rows[i].fast}};
        struct atoll_behaviour b = atoll_behaviour_classify("c", rows[i].body, &plan, &choice);
        if (b.memory != rows[i].memory)
            fail_msg("TILE=%d FAST=%d: %d for %s", (int)rows[i].tile, (int)rows[i].fast, b.memory,
                     rows[i].body);
    }
}

static void test_phases(void **state)
{
    struct atoll_plan two = plan;
    struct atoll_choice choice = {2, {0, 0}};
    two.launch_count = two.paths[0].count = 2;
    assert_int_equal(atoll_behaviour_classify("c", "", &two, &choice).coordination, 2);
    /* Two paths of one launch each are no phases. */
    two.path_count = 2;
    two.paths[0].count = two.paths[1].count = two.paths[1].first = 1;
    assert_int_equal(atoll_behaviour_classify("c", "", &two, &choice).coordination, 0);
    assert_int_equal(atoll_behaviour_classify("c", "", &plan, &choice).coordination, 0);
}

static void test_names(void **state)
{
    assert_string_equal(atoll_behaviour_dimension_name(1), "algorithm");
    assert_string_equal(atoll_behaviour_dimension_name(3), "unknown");
    assert_string_equal(atoll_behaviour_level_text_of("c", 0, 2), "cache blocking");
    assert_string_equal(atoll_behaviour_level_text_of("c", 0, 4), "unknown");
    assert_int_equal(atoll_behaviour_cell((struct atoll_behaviour){3, 3, 3}), 63);
    struct atoll_behaviour b = atoll_behaviour_classify("cobol", labelled[6].body, NULL, NULL);
    assert_int_equal(atoll_behaviour_cell(b), 0);
}

/* Any bytes give a cell, the same one twice. */
static void test_mutations(void **state)
{
    struct atoll_random r = {11, 0};
    static const char bytes[] = "\\\n\"'/*#()[]{};=+,for i0";
    for (int round = 0; round < 2000; round++) {
        const char *from =
            labelled[atoll_random_below(atoll_random_next(&r), sizeof(labelled) / sizeof(*labelled))].body;
        size_t length = strlen(from);
        char *text = malloc(length + 1);
        assert_non_null(text);
        memcpy(text, from, length + 1);
        for (int k = 0; k < 4 && length; k++)
            text[atoll_random_below(atoll_random_next(&r), length)] =
                bytes[atoll_random_below(atoll_random_next(&r), sizeof(bytes) - 1)];
        unsigned first = atoll_behaviour_cell(atoll_behaviour_classify("c", text, NULL, NULL));
        unsigned second = atoll_behaviour_cell(atoll_behaviour_classify("c", text, NULL, NULL));
        assert_int_equal(first, second);
        assert_true(first < ATOLL_BEHAVIOUR_CELLS);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labelled), cmocka_unit_test(test_conditions), cmocka_unit_test(test_phases),
        cmocka_unit_test(test_names),    cmocka_unit_test(test_mutations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
