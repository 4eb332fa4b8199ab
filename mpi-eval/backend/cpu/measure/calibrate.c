#include "mpi-eval/backend/cpu/measure/device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "core/stats.h"
#include "mpi-eval/backend/kept_calibration.h"
#include "mpi-eval/backend/cpu/measure/memory.h"
#include "mpi-eval/backend/cpu/process/tiles.h"

#define LONG_BYTES     ((size_t)32 << 20) /* hides launch overhead */
#define SHORT_BYTES    ((size_t)2 << 20)  /* slips between whatever else the machine does */
#define LONG_RUNS      2
#define SHORT_RUNS     8
#define PEAK_RUNS      12
#define PEAK_STEPS     400000 /* half a millisecond and more: threads do not start at once */
#define EMPTY_RUNS     25
#define PROBE_RUNS     4
#define ROUND_LIMIT    8    /* of the best kernel once more, while a number still rises */
#define CALM_ROUNDS    2    /* without a rise, before it is believed */
#define RISE           1.01 /* a smaller rise is none */
#define KNOWN_COUNT    ((size_t)1 << 14)
#define DEADLINE_NS    5e9
#define OBJECT_BYTES   ((size_t)1 << 20) /* of a record with the compiled kernels */
#define HOW_BYTES      64
#define MEMORY_LIMIT   ((size_t)512 << 20)
#define WIDTH_VARIABLE ATOLL_CALIBRATION_WIDTH_VARIABLE

/* Vectors that a processor may have.  A compiler cuts wider ones than there are into pieces and spills them, which is
 * slower than narrow ones: so each width has kernels of its own, and the fastest says what the processor can do. */
enum width { WIDTH_16, WIDTH_32, WIDTH_64, WIDTH_COUNT };

static const unsigned width_bytes[WIDTH_COUNT] = {16, 32, 64};

/* Peak kernels: instructions that may be missing even where vectors of the width are not. */
enum peak { PEAK_16, PEAK_32, PEAK_32_FMA, PEAK_64, PEAK_SVE, PEAK_COUNT };

static const struct {
    const char *name;
    enum width width;
} peaks[PEAK_COUNT] = {[PEAK_16] = {"16", WIDTH_16},
                       [PEAK_32] = {"32", WIDTH_32},
                       [PEAK_32_FMA] = {"32_fma", WIDTH_32},
                       [PEAK_64] = {"64", WIDTH_64},
                       [PEAK_SVE] = {"sve", WIDTH_64}};

/* What the processor executes, whatever the compiler's flags say: a candidate may ask for any of it. */
static int has_peak(enum peak peak)
{
#if defined(__x86_64__) || defined(__i386__)
    switch (peak) {
    case PEAK_32: return __builtin_cpu_supports("avx");
    case PEAK_32_FMA: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case PEAK_64: return __builtin_cpu_supports("avx512f");
    case PEAK_SVE: return 0;
    default: return 1;
    }
#elif defined(__aarch64__)
    return peak == PEAK_16 || (peak == PEAK_SVE && (getauxval(AT_HWCAP) & HWCAP_SVE));
#else
    return peak == PEAK_16;
#endif
}

enum stream { STREAM_READ, STREAM_READ_STREAMS, STREAM_UPDATE, STREAM_COPY_PAST, STREAM_COUNT };

/* How many times the bytes of a buffer each moves between memory and the caches.  What is updated stays in the caches, dirty,
 * past the end of the run: it counts as read only. */
static const double moves[STREAM_COUNT] = {1, 1, 1, 2};

enum kernel {
    KERNEL_EMPTY,
    KERNEL_KNOWN,
    KERNEL_PEAK_F32, /* of every kind of peak */
    KERNEL_PEAK_F64 = KERNEL_PEAK_F32 + PEAK_COUNT,
    KERNEL_TILES_BF16 = KERNEL_PEAK_F64 + PEAK_COUNT, /* of matrix units */
    KERNEL_TILES_I8,
    KERNEL_STREAM, /* of every width, but the last, which is one for all */
    KERNEL_COPY_PAST = KERNEL_STREAM + WIDTH_COUNT * STREAM_COPY_PAST,
    KERNEL_COUNT
};

static unsigned stream_kernel(enum stream stream, enum width width)
{
    return stream == STREAM_COPY_PAST
               ? (unsigned)KERNEL_COPY_PAST
               : (unsigned)KERNEL_STREAM + (unsigned)width * STREAM_COPY_PAST + (unsigned)stream;
}

static const char *const symbols[KERNEL_COUNT] = {
    "k_empty",           "k_known",           "k_peak_f32_16", "k_peak_f32_32",     "k_peak_f32_32_fma",
    "k_peak_f32_64",     "k_peak_f32_sve",    "k_peak_f64_16", "k_peak_f64_32",     "k_peak_f64_32_fma",
    "k_peak_f64_64",     "k_peak_f64_sve",    "k_tiles_bf16",  "k_tiles_i8",        "k_read_16",
    "k_read_streams_16", "k_update_16",       "k_read_32",     "k_read_streams_32", "k_update_32",
    "k_read_64",         "k_read_streams_64", "k_update_64",   "k_copy_past"};

/* A unit is one line of 64 bytes for the stream kernels, one thread for the peaks, one element for the known
 * answer. A peak kernel tells how many operations one of its steps has, 0 where the compiler has not got it: no host
 * knows how wide scalable vectors are.  Twelve independent chains hide a latency of up to six cycles at two fused
 * multiply-adds a cycle.  They begin where no compiler knows: one that begins at the 1 that a step maps to 1 is a constant,
 * and a twelfth of the operations is counted and never done. */
static const char source[] =
    "typedef union { void *p; long long i; double d; } word;\n"
    "#define KERNEL(name) __attribute__((visibility(\"default\"))) void name(long b, long e, const word *w); "
    "\\\n"
    "    void name(long b, long e, const word *w)\n"
    "#if defined(__x86_64__) || defined(__i386__)\n"
    "#ifdef NARROW\n" /* as on a processor with nothing wider */
    "#define FOR_16 __attribute__((target(\"no-avx\")))\n"
    "#else\n"
    "#define FOR_16\n"
    "#endif\n"
    "#define FOR_32 __attribute__((target(\"avx\")))\n"
    "#define FOR_32_FMA __attribute__((target(\"avx2,fma\")))\n"
    "#define FOR_64 __attribute__((target(\"avx512f\")))\n"
    "#else\n"
    "#define FOR_16\n"
    "#define FOR_32\n"
    "#define FOR_32_FMA\n"
    "#define FOR_64\n"
    "#endif\n"
    "KERNEL(k_empty) { (void)b; (void)e; (void)w; }\n"
    "#define STREAMS(W, FOR) \\\n"
    "typedef unsigned long long line_##W __attribute__((vector_size(W))); \\\n"
    "FOR KERNEL(k_read_##W) { \\\n"
    "    const line_##W *x = w[0].p; line_##W *out = w[1].p; line_##W s[4] = {{0}}; long n = 64 / W; \\\n"
    "    long i = b * n, end = e * n; \\\n"
    "    for (; i + 4 <= end; i += 4) { \\\n"
    "        s[0] += x[i]; s[1] += x[i + 1]; s[2] += x[i + 2]; s[3] += x[i + 3]; } \\\n"
    "    for (; i < end; i++) s[0] += x[i]; \\\n"
    "    if (b < e) out[b * n] = s[0] + s[1] + s[2] + s[3]; \\\n"
    "} \\\n"
    /* Four streams that the prefetchers follow each, and prefetches of ours ahead of them. */
    "FOR KERNEL(k_read_streams_##W) { \\\n"
    "    const line_##W *x = w[0].p; line_##W *out = w[1].p; line_##W s[4] = {{0}}; \\\n"
    "    long n = 64 / W, part = (e - b) / 4; \\\n"
    "    for (long i = 0; i < part; i++) for (int k = 0; k < 4; k++) { \\\n"
    "        const line_##W *at = x + (b + k * part + i) * n; \\\n"
    "        __builtin_prefetch((const char *)at + 24 * 64); \\\n"
    "        for (long j = 0; j < n; j++) s[k] += at[j]; } \\\n"
    "    for (long i = (b + 4 * part) * n; i < e * n; i++) s[0] += x[i]; \\\n"
    "    if (b < e) out[b * n] = s[0] + s[1] + s[2] + s[3]; \\\n"
    "} \\\n"
    /* In place, in four streams, as optimizers do. */
    "FOR KERNEL(k_update_##W) { \\\n"
    "    line_##W *x = w[0].p; long n = 64 / W, part = (e - b) / 4; \\\n"
    "    for (long i = 0; i < part; i++) for (int k = 0; k < 4; k++) { \\\n"
    "        line_##W *at = x + (b + k * part + i) * n; \\\n"
    "        __builtin_prefetch((char *)at + 24 * 64, 1); \\\n"
    "        for (long j = 0; j < n; j++) at[j] += 1; } \\\n"
    "    for (long i = (b + 4 * part) * n; i < e * n; i++) x[i] += 1; \\\n"
    "}\n"
    "STREAMS(16, FOR_16)\n"
    "STREAMS(32, FOR_32)\n"
    "STREAMS(64, FOR_64)\n"
    "#if defined(__SSE2__)\n"
    "#define PAST(to, from) do { typedef long long two __attribute__((vector_size(16))); \\\n"
    "    for (int k_ = 0; k_ < 4; k_++) __builtin_ia32_movntdq((two *)(to) + k_, ((const two *)(from))[k_]); "
    "} while (0)\n"
    "#else\n"
    "#define PAST(to, from) __builtin_memcpy(to, from, 64)\n"
    "#endif\n"
    "KERNEL(k_copy_past) {\n"
    "    const char *x = w[0].p; char *y = w[1].p;\n"
    "    for (long i = b * 64; i < e * 64; i += 64) { __builtin_prefetch(x + i + 24 * 64); PAST(y + i, x + "
    "i); }\n"
    "}\n"
    "#define TWELVE(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)\n"
    "#define START(k) a##k = zero + (one_)(k + 2 + b);\n"
    "#define STEP(k) a##k = a##k * m + c;\n"
    "#define SUM(k) + a##k\n"
    "#define PEAK(name, FOR, W, one) FOR KERNEL(name) { \\\n"
    "    typedef one one_; typedef one type __attribute__((vector_size(W))); \\\n"
    "    type zero = {0}, m = zero + (one)0.999, c = zero + (one)0.001; \\\n"
    "    type a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11; double *out = w[0].p; \\\n"
    "    TWELVE(START) \\\n"
    "    for (long i = 0; i < w[1].i; i++) { TWELVE(STEP) } \\\n"
    "    type sum = zero TWELVE(SUM); \\\n"
    "    if (b < e) { out[b] = 2.0 * 12 * (W / sizeof(one)); out[2048 + b] = (double)sum[0]; } }\n"
    "PEAK(k_peak_f32_32, FOR_32, 32, float)\n"
    "PEAK(k_peak_f64_32, FOR_32, 32, double)\n"
    "PEAK(k_peak_f32_32_fma, FOR_32_FMA, 32, float)\n"
    "PEAK(k_peak_f64_32_fma, FOR_32_FMA, 32, double)\n"
    "PEAK(k_peak_f32_64, FOR_64, 64, float)\n"
    "PEAK(k_peak_f64_64, FOR_64, 64, double)\n"
    /* Fused operations of Arm leave the sum where the addend was: chains through a factor would cost two copies each.
     * Twenty-four hide a latency of six cycles at four operations a cycle, and of nine at two. */
    "#define ARM_DO(DO) TWELVE(DO) DO(12) DO(13) DO(14) DO(15) DO(16) DO(17) DO(18) DO(19) DO(20) DO(21) "
    "DO(22) DO(23)\n"
    "#define ARM_START(k) a##k = DUP(k + 2 + b);\n"
    "#define ARM_STEP(k) a##k = FMA(a##k, m, c);\n"
    "#define ARM_SUM(k) sum = ADD(sum, a##k);\n"
    "#define ARM_PEAK(name, type, lanes) KERNEL(name) { \\\n"
    "    type m = DUP(0.999), c = DUP(0.001), sum = DUP(0); double *out = w[0].p; \\\n"
    "    type a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, "
    "a21, a22, a23; \\\n"
    "    ARM_DO(ARM_START) \\\n"
    "    for (long i = 0; i < w[1].i; i++) { ARM_DO(ARM_STEP) } \\\n"
    "    ARM_DO(ARM_SUM) \\\n"
    "    if (b < e) { out[b] = 2.0 * 24 * lanes; out[2048 + b] = (double)TOTAL(sum); } }\n"
    "#if defined(__aarch64__)\n"
    "#include <arm_neon.h>\n"
    "#define DUP vdupq_n_f32\n#define FMA vfmaq_f32\n#define ADD vaddq_f32\n#define TOTAL vaddvq_f32\n"
    "ARM_PEAK(k_peak_f32_16, float32x4_t, 4)\n"
    "#undef DUP\n#undef FMA\n#undef ADD\n#undef TOTAL\n"
    "#define DUP vdupq_n_f64\n#define FMA vfmaq_f64\n#define ADD vaddq_f64\n#define TOTAL vaddvq_f64\n"
    "ARM_PEAK(k_peak_f64_16, float64x2_t, 2)\n"
    "#undef DUP\n#undef FMA\n#undef ADD\n#undef TOTAL\n"
    "#else\n"
    "PEAK(k_peak_f32_16, FOR_16, 16, float)\n"
    "PEAK(k_peak_f64_16, FOR_16, 16, double)\n"
    "#endif\n"
    "#if defined(__ARM_FEATURE_SVE)\n"
    "#include <arm_sve.h>\n"
    "#define ALL svptrue_b8()\n"
    "#define DUP svdup_f32\n"
    "#define FMA(a, m, c) svmla_f32_x(ALL, a, m, c)\n"
    "#define ADD(x, y) svadd_f32_x(ALL, x, y)\n"
    "#define TOTAL(x) svaddv_f32(ALL, x)\n"
    "ARM_PEAK(k_peak_f32_sve, svfloat32_t, svcntw())\n"
    "#undef DUP\n#undef FMA\n#undef ADD\n#undef TOTAL\n"
    "#define DUP svdup_f64\n"
    "#define FMA(a, m, c) svmla_f64_x(ALL, a, m, c)\n"
    "#define ADD(x, y) svadd_f64_x(ALL, x, y)\n"
    "#define TOTAL(x) svaddv_f64(ALL, x)\n"
    "ARM_PEAK(k_peak_f64_sve, svfloat64_t, svcntd())\n"
    "#else\n"
    "KERNEL(k_peak_f32_sve) { double *out = w[0].p; if (b < e) out[b] = 0; }\n"
    "KERNEL(k_peak_f64_sve) { double *out = w[0].p; if (b < e) out[b] = 0; }\n"
    "#endif\n"
    /* Six tiles of sums hide a latency of 52 cycles at a product each 16 (tiles.md of knowledge/hardware/x86/amx).  Zeros take as
     * long as other numbers.  A step is a sixteenth of six products, so that a run is as long as one of vectors. */
    "#define TILES(name, product, pairs) KERNEL(name) { double *out = w[0].p; \\\n"
    "    struct { unsigned char palette, start, none[14]; unsigned short bytes[16]; unsigned char rows[16]; "
    "} \\\n"
    "        config __attribute__((aligned(64))) = {.palette = 1}; \\\n"
    "    for (int t = 0; t < 8; t++) { config.bytes[t] = 64; config.rows[t] = 16; } \\\n"
    "    __asm__ volatile(\"ldtilecfg %0\" : : \"m\"(config)); \\\n"
    "    __asm__ volatile(\"tilezero %tmm0\\n\\ttilezero %tmm1\\n\\ttilezero %tmm2\\n\\ttilezero "
    "%tmm3\\n\\t\" \\\n"
    "                     \"tilezero %tmm4\\n\\ttilezero %tmm5\\n\\ttilezero %tmm6\\n\\ttilezero %tmm7\"); "
    "\\\n"
    "    for (long i = 0; i < w[1].i; i += 16) \\\n"
    "        __asm__ volatile(product \" %tmm7, %tmm6, %tmm0\\n\\t\" product \" %tmm7, %tmm6, %tmm1\\n\\t\" "
    "\\\n"
    "                         product \" %tmm7, %tmm6, %tmm2\\n\\t\" product \" %tmm7, %tmm6, %tmm3\\n\\t\" "
    "\\\n"
    "                         product \" %tmm7, %tmm6, %tmm4\\n\\t\" product \" %tmm7, %tmm6, %tmm5\"); \\\n"
    "    __asm__ volatile(\"tilerelease\"); \\\n"
    "    if (b < e) out[b] = 6 * 2.0 * 16 * 16 * pairs / 16; }\n"
    "#define NO_TILES(name) KERNEL(name) { double *out = w[0].p; if (b < e) out[b] = 0; }\n"
    "#define HAS_TILES 0\n"
    "#if defined(__x86_64__) && defined(__has_include)\n"
    "#if __has_include(<amxtileintrin.h>) || __has_include(<amxintrin.h>)\n" /* gcc's, clang's: assemblers of their time know tiles */
    "#undef HAS_TILES\n#define HAS_TILES 1\n"
    "#endif\n"
    "#endif\n"
    "#if HAS_TILES\n"
    "TILES(k_tiles_bf16, \"tdpbf16ps\", 32)\n"
    "TILES(k_tiles_i8, \"tdpbssd\", 64)\n"
    "#else\n"
    "NO_TILES(k_tiles_bf16)\n"
    "NO_TILES(k_tiles_i8)\n"
    "#endif\n"
    "KERNEL(k_known) { const unsigned *x = w[0].p; unsigned *y = w[1].p; for (long i = b; i < e; i++) y[i] = "
    "x[i] * 3u + (unsigned)i; }\n";

struct atoll_calibration {
    struct atoll_compiler *compiler;
    struct atoll_runner_settings settings;
    void *object;
    size_t object_length;
    struct atoll_runner *runner;
    unsigned forced_bytes; /* of the only vectors to be used; 0: all that the processor has */
};

static int is_used(const struct atoll_calibration *cal, enum peak peak)
{
    return has_peak(peak) && (!cal->forced_bytes || cal->forced_bytes == width_bytes[peaks[peak].width]);
}

static enum width widest(const struct atoll_calibration *cal)
{
    enum width width = WIDTH_16;
    for (enum peak k = 0; k < PEAK_COUNT; k++)
        if (is_used(cal, k) && k != PEAK_SVE)
            width = peaks[k].width;
    return width;
}

/* For tests and comparisons: as if the processor had vectors of one width only. */
static int force_width(struct atoll_calibration *cal, struct atoll_err *err)
{
    const char *text = getenv(WIDTH_VARIABLE);
    int is_there = 0;
    if (!text || !text[0])
        return 0;
    for (enum width w = 0; w < WIDTH_COUNT; w++)
        if (strtoul(text, NULL, 10) == width_bytes[w])
            cal->forced_bytes = width_bytes[w];
    if (!cal->forced_bytes)
        return atoll_err_set(err, ATOLL_E_INPUT, WIDTH_VARIABLE " is %.20s; it can be 16, 32 or 64", text);
    for (enum peak k = 0; k < PEAK_COUNT; k++)
        is_there |= is_used(cal, k);
    return is_there ? 0
                    : atoll_err_set(err, ATOLL_E_MISSING,
                                    WIDTH_VARIABLE " is %u, and this processor has no such vectors",
                                    cal->forced_bytes);
}

/* ---- the compiled kernels ---- */

/* What they follow from beside compiler, flags and program, which a record knows by itself. */
static const char *kernels_how(const struct atoll_calibration *cal, char *text, size_t bytes)
{
    snprintf(text, bytes, "kernels of the calibration; %u", cal->forced_bytes);
    return text;
}

static int kernels_take(struct atoll_calibration *cal, const struct atoll_device_info *info)
{
    char how[HOW_BYTES];
    struct atoll_buffer bytes;
    struct atoll_reader r;
    atoll_buffer_init(&bytes, OBJECT_BYTES);
    if (atoll_kept_record_read(info, kernels_how(cal, how, sizeof(how)), atoll_clock_unix_ns(), &bytes, &r)) {
        cal->object_length = bytes.length - r.offset;
        cal->object = malloc(cal->object_length + 1);
        if (cal->object)
            atoll_reader_bytes(&r, cal->object, cal->object_length);
    }
    atoll_buffer_fini(&bytes);
    return cal->object != NULL;
}

static void kernels_keep(const struct atoll_calibration *cal, const struct atoll_device_info *info)
{
    char how[HOW_BYTES];
    struct atoll_buffer object;
    atoll_buffer_init(&object, OBJECT_BYTES);
    atoll_buffer_put_bytes(&object, cal->object, cal->object_length);
    atoll_kept_record_write(info, kernels_how(cal, how, sizeof(how)), atoll_clock_unix_ns(), &object);
    atoll_buffer_fini(&object);
}

static int kernels_compile(struct atoll_calibration *cal, struct atoll_err *err)
{
    static const char *const narrow[] = {"NARROW=1"};
    struct atoll_compiled c;
    if (atoll_compiler_run(cal->compiler, "calibrate.c", source, sizeof(source) - 1, narrow,
                           cal->forced_bytes == 16, &c, err) != 0)
        return -1;
    cal->object = c.object;
    cal->object_length = c.object_length;
    c.object = NULL;
    int failed =
        c.status == ATOLL_COMPILE_OK
            ? 0
            : atoll_err_set(err, ATOLL_E_CHILD, "the compiler cannot compile the calibration kernels: %s",
                            c.diagnostics);
    atoll_compiled_fini(&c);
    return failed;
}

struct atoll_calibration *atoll_calibration_create(struct atoll_compiler *compiler,
                                                   const struct atoll_runner_settings *runner,
                                                   const struct atoll_device_info *info,
                                                   struct atoll_err *err)
{
    struct atoll_calibration *cal = calloc(1, sizeof(*cal));
    if (!cal) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for calibration");
        return NULL;
    }
    cal->compiler = compiler;
    cal->settings = *runner;
    int failed = force_width(cal, err);
    if (!failed && !kernels_take(cal, info)) {
        failed = kernels_compile(cal, err);
        if (!failed)
            kernels_keep(cal, info);
    }
    if (!failed)
        return cal;
    atoll_calibration_destroy(cal);
    return NULL;
}

void atoll_calibration_destroy(struct atoll_calibration *calibration)
{
    if (!calibration)
        return;
    atoll_runner_destroy(calibration->runner);
    free(calibration->object);
    free(calibration);
}

static void window_begin(void *compiler)
{
    atoll_compiler_pause(compiler);
}

static void window_end(void *compiler)
{
    atoll_compiler_resume(compiler);
}

/* One run of one kernel over up to two buffers; a second argument without buffer is `number`. */
static int kernel_run(struct atoll_calibration *cal, unsigned kernel, int64_t units,
                      const struct atoll_block *blocks, size_t block_count, int64_t number, double *ret_ns,
                      struct atoll_err *err)
{
    struct atoll_run_request request = {.kind = ATOLL_RUN_CANDIDATE,
                                        .buffer_count = block_count,
                                        .launch_count = 1,
                                        .deadline_ns = DEADLINE_NS,
                                        .window_begin = window_begin,
                                        .window_end = window_end,
                                        .context = cal->compiler};
    struct atoll_run_launch *launch = &request.launches[0];
    struct atoll_run_result result;
    launch->symbol = kernel;
    launch->units = units;
    for (size_t i = 0; i < block_count; i++) {
        request.buffers[i] = (struct atoll_run_buffer){blocks[i].fd, blocks[i].file_bytes, 0};
        launch->arguments[launch->argument_count++] =
            (struct atoll_run_argument){.buffer = (int)i, .offset = blocks[i].offset};
    }
    launch->arguments[launch->argument_count++] =
        (struct atoll_run_argument){.buffer = -1, .value = {.i64 = number}};
    if (!cal->runner)
        cal->runner = atoll_runner_create(&cal->settings, cal->object, cal->object_length, 0, symbols,
                                          KERNEL_COUNT, err);
    if (!cal->runner || atoll_runner_run(cal->runner, &request, &result, err) != 0)
        return -1;
    if (result.status != ATOLL_RUN_DONE) {
        atoll_runner_destroy(cal->runner);
        cal->runner = NULL;
        return atoll_err_set(err, ATOLL_E_CHILD, "kernel %s of the calibration: %s, %s", symbols[kernel],
                             atoll_run_status_name(result.status), result.detail);
    }
    *ret_ns = result.ns;
    return 0;
}

static int blocks_open(struct atoll_memory *memory, size_t bytes, struct atoll_block *blocks, size_t count,
                       struct atoll_err *err)
{
    for (size_t i = 0; i < count; i++) {
        if (atoll_block_open(memory, bytes, i + 1, &blocks[i], err) != 0)
            return -1;
        memset(atoll_block_data(&blocks[i]), (int)i + 1, bytes);
    }
    return 0;
}

int atoll_calibration_qualify(struct atoll_calibration *calibration, struct atoll_err *err)
{
    struct atoll_block blocks[2] = {{0}};
    double ns;
    struct atoll_memory *memory = atoll_memory_create(MEMORY_LIMIT, 0, err);
    if (!memory)
        return -1;
    int failed = blocks_open(memory, KNOWN_COUNT * 4, blocks, 2, err);
    if (!failed) {
        uint32_t *x = atoll_block_data(&blocks[0]);
        for (size_t i = 0; i < KNOWN_COUNT; i++)
            x[i] = (uint32_t)atoll_random_at(17, i);
        failed = kernel_run(calibration, KERNEL_KNOWN, (int64_t)KNOWN_COUNT, blocks, 2, 0, &ns, err);
    }
    const uint32_t *y = failed ? NULL : atoll_block_data(&blocks[1]);
    for (size_t i = 0; !failed && i < KNOWN_COUNT; i++)
        if (y[i] != (uint32_t)atoll_random_at(17, i) * 3u + (uint32_t)i)
            failed = atoll_err_set(err, ATOLL_E_MISMATCH,
                                   "the device fails its known-answer kernel at element %zu", i);
    atoll_memory_destroy(memory);
    return failed;
}

/* One kernel over two cold buffers of so many bytes; 0 bytes: one small buffer, where it tells its operations. */
struct probe {
    unsigned kernel;
    size_t bytes;
    int runs;
    double moves; /* of all bytes of a buffer */
};

/* Buffers that stay open while their size does. */
struct buffers {
    struct atoll_memory *memory;
    struct atoll_block blocks[2];
    size_t count, bytes;
};

static void buffers_close(struct buffers *b)
{
    for (size_t i = 0; i < b->count; i++)
        atoll_block_close(b->memory, &b->blocks[i]);
    b->count = 0;
}

/* Best of some runs: bytes, or operations, in a second. */
static int rate_measure(struct atoll_calibration *cal, struct buffers *b, const struct probe *p,
                        double *ret_rate, struct atoll_err *err)
{
    size_t bytes = p->bytes ? p->bytes : 4096 * sizeof(double), threads = cal->settings.thread_count;
    double best = HUGE_VAL, ns, work = p->moves * (double)p->bytes;
    if (bytes != b->bytes || !b->count) {
        buffers_close(b);
        b->bytes = bytes;
        b->count = p->bytes ? 2 : 1;
        if (blocks_open(b->memory, bytes, b->blocks, b->count, err) != 0)
            return -1;
    }
    for (int i = 0; i < p->runs; i++) {
        if (p->bytes)
            atoll_memory_flush(b->memory, b->blocks, b->count);
        if (kernel_run(cal, p->kernel, (int64_t)(p->bytes ? bytes / 64 : threads), b->blocks, b->count,
                       PEAK_STEPS, &ns, err) != 0)
            return -1;
        best = fmin(best, ns);
    }
    for (size_t i = 0; !p->bytes && i < threads; i++)
        work += PEAK_STEPS * ((const double *)atoll_block_data(&b->blocks[0]))[i];
    *ret_rate = work / best * 1e9;
    return 0;
}

/* The best of all kernels, and of that one again while it rises: a rate below the real one makes honest kernels look
 * impossible.  *rate only rises; ret_best: number of the kernel that had the best. */
static int best_measure(struct atoll_calibration *cal, struct atoll_memory *memory, const struct probe *all,
                        size_t count, double *rate, size_t *ret_best, struct atoll_err *err)
{
    struct buffers b = {.memory = memory};
    double best = 0, one;
    int failed = 0, calm = 0;
    *ret_best = 0;
    for (size_t i = 0; i < count && !failed; i++) {
        failed = rate_measure(cal, &b, &all[i], &one, err);
        if (!failed && one > best) {
            best = one;
            *ret_best = i;
        }
    }
    for (int round = 0; calm < CALM_ROUNDS && round < ROUND_LIMIT && !failed; round++) {
        failed = rate_measure(cal, &b, &all[*ret_best], &one, err);
        calm = !failed && one > RISE * best ? 0 : calm + 1;
        best = !failed && one > best ? one : best;
    }
    buffers_close(&b);
    if (!failed)
        *rate = fmax(*rate, best);
    return failed;
}

/* ret_width: of the fastest. */
static int measure_peak(struct atoll_calibration *cal, struct atoll_memory *memory, unsigned first,
                        double *peak, enum width *ret_width, struct atoll_err *err)
{
    struct probe all[PEAK_COUNT];
    enum peak kinds[PEAK_COUNT];
    size_t count = 0, best;
    for (enum peak k = 0; k < PEAK_COUNT; k++)
        if (is_used(cal, k)) {
            kinds[count] = k;
            all[count++] = (struct probe){.kernel = first + k, .runs = PEAK_RUNS};
        }
    if (best_measure(cal, memory, all, count, peak, &best, err) != 0)
        return -1;
    *ret_width = peaks[kinds[best]].width;
    return 0;
}

/* Of matrix units, where the processor has them and no width of vectors is forced.  A system that promises tiles and does not give
 * them to a sandbox leaves them without a peak, as where there are none. */
static int measure_tiles(struct atoll_calibration *cal, struct atoll_memory *memory, double *tensor_flops,
                         struct atoll_err *err)
{
    static const struct {
        unsigned kernel;
        enum atoll_dtype type;
    } units[] = {{KERNEL_TILES_BF16, ATOLL_BF16}, {KERNEL_TILES_I8, ATOLL_I8}};
    size_t best;
    for (size_t i = 0; i < sizeof(units) / sizeof(*units) && !cal->forced_bytes && atoll_tiles_known(); i++) {
        const struct probe probe = {.kernel = units[i].kernel, .runs = PEAK_RUNS};
        struct atoll_err why = ATOLL_ERR_INIT;
        if (best_measure(cal, memory, &probe, 1, &tensor_flops[units[i].type], &best, &why) == 0)
            continue;
        if (why.code != ATOLL_E_CHILD) {
            *err = why;
            return -1;
        }
        atoll_log(ATOLL_LOG_WARNING, "eval.calibration.tiles", "matrix units have no peak: %s", why.text);
        return 0;
    }
    return 0;
}

static int measure_streams(struct atoll_calibration *cal, struct atoll_memory *memory, enum width width,
                           double *bandwidth, struct atoll_err *err)
{
    struct probe all[2 * STREAM_COUNT];
    size_t count = 0, best;
    for (enum stream s = 0; s < STREAM_COUNT; s++)
        all[count++] = (struct probe){stream_kernel(s, width), LONG_BYTES, LONG_RUNS, moves[s]};
    for (enum stream s = 0; s < STREAM_COUNT; s++)
        all[count++] = (struct probe){stream_kernel(s, width), SHORT_BYTES, SHORT_RUNS, moves[s]};
    return best_measure(cal, memory, all, count, bandwidth, &best, err);
}

static int measure_empty(struct atoll_calibration *cal, struct atoll_device_info *info, double *ret_jitter_ns,
                         struct atoll_err *err)
{
    double ns[EMPTY_RUNS], scratch[EMPTY_RUNS];
    struct atoll_summary s;
    for (int i = 0; i < EMPTY_RUNS; i++)
        if (kernel_run(cal, KERNEL_EMPTY, (int64_t)cal->settings.thread_count, NULL, 0, 0, &ns[i], err) != 0)
            return -1;
    atoll_summary_of(ns, EMPTY_RUNS, scratch, &s);
    info->empty_launch_ns = info->empty_launch_ns > 0 ? fmin(info->empty_launch_ns, s.min) : s.min;
    *ret_jitter_ns = (s.p90 - s.p10) / 2;
    return 0;
}

int atoll_calibration_measure(struct atoll_calibration *calibration, struct atoll_device_info *info,
                              double *ret_jitter_ns, struct atoll_err *err)
{
    struct atoll_memory *memory =
        atoll_memory_create(MEMORY_LIMIT, (size_t)info->last_level_cache_bytes, err);
    if (!memory)
        return -1;
    enum width width = WIDTH_16, of_f64;
    int failed =
        measure_peak(calibration, memory, KERNEL_PEAK_F64, &info->peak_flops[ATOLL_F64], &of_f64, err) != 0 ||
        measure_peak(calibration, memory, KERNEL_PEAK_F32, &info->peak_flops[ATOLL_F32], &width, err) != 0 ||
        measure_tiles(calibration, memory, info->limits.tensor_flops, err) != 0 ||
        measure_streams(calibration, memory, width, &info->bandwidth_bytes_per_s, err) != 0 ||
        measure_empty(calibration, info, ret_jitter_ns, err) != 0;
    atoll_memory_destroy(memory);
    return failed ? -1 : 0;
}

int atoll_calibration_probe(struct atoll_calibration *calibration, const struct atoll_device_info *info,
                            struct atoll_err *err)
{
    struct atoll_memory *memory =
        atoll_memory_create(MEMORY_LIMIT, (size_t)info->last_level_cache_bytes, err);
    struct buffers b = {.memory = memory};
    double peak = 0, bandwidth = 0, one;
    int failed = memory ? 0 : -1;
    for (enum peak k = 0; k < PEAK_COUNT && !failed; k++) {
        struct probe probe = {.kernel = KERNEL_PEAK_F64 + k, .runs = PROBE_RUNS};
        if (!is_used(calibration, k))
            continue;
        failed = rate_measure(calibration, &b, &probe, &one, err);
        peak = failed ? peak : fmax(peak, one);
    }
    static const enum stream streams[] = {STREAM_READ_STREAMS, STREAM_COPY_PAST};
    for (size_t i = 0; i < sizeof(streams) / sizeof(*streams) && !failed; i++) {
        struct probe probe = {stream_kernel(streams[i], widest(calibration)), LONG_BYTES, LONG_RUNS,
                              moves[streams[i]]};
        failed = rate_measure(calibration, &b, &probe, &one, err);
        bandwidth = failed ? bandwidth : fmax(bandwidth, one);
    }
    buffers_close(&b);
    atoll_memory_destroy(memory);
    if (failed)
        return -1;
    return atoll_kept_calibration_agrees(info->peak_flops[ATOLL_F64], peak) &&
           atoll_kept_calibration_agrees(info->bandwidth_bytes_per_s, bandwidth);
}
