#include "mpi-eval/backend/cpu/measure/device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "core/stats.h"
#include "mpi-eval/backend/cpu/measure/memory.h"

#define LONG_BYTES   ((size_t)32 << 20) /* hides launch overhead */
#define SHORT_BYTES  ((size_t)2 << 20)  /* slips between whatever else the machine does */
#define LONG_RUNS    2
#define SHORT_RUNS   8
#define PEAK_RUNS    24
#define PEAK_STEPS   50000 /* a tenth of a millisecond */
#define PEAK_CHAINS  12
#define EMPTY_RUNS   25
#define KNOWN_COUNT  ((size_t)1 << 14)
#define DEADLINE_NS  5e9
#define MEMORY_LIMIT ((size_t)512 << 20)

enum kernel {
    KERNEL_EMPTY,
    KERNEL_READ,
    KERNEL_READ_STREAMS,
    KERNEL_COPY,
    KERNEL_COPY_PAST,
    KERNEL_UPDATE,
    KERNEL_PEAK_F32,
    KERNEL_PEAK_F64,
    KERNEL_KNOWN,
    KERNEL_COUNT
};

static const char *const symbols[KERNEL_COUNT] = {"k_empty",    "k_read",      "k_read_streams",
                                                  "k_copy",     "k_copy_past", "k_update",
                                                  "k_peak_f32", "k_peak_f64",  "k_known"};

/* A unit is one line of 64 bytes for the stream kernels, one thread for the peaks, one element for the known
 * answer. Twelve independent chains hide a latency of up to six cycles at two fused multiply-adds a cycle. */
static const char source[] =
    "typedef union { void *p; long long i; double d; } word;\n"
    "typedef unsigned long long line __attribute__((vector_size(64)));\n"
    "typedef float f32v __attribute__((vector_size(64)));\n"
    "typedef double f64v __attribute__((vector_size(64)));\n"
    "#define KERNEL(name) __attribute__((visibility(\"default\"))) void name(long b, long e, const word *w); "
    "\\\n"
    "    void name(long b, long e, const word *w)\n"
    "KERNEL(k_empty) { (void)b; (void)e; (void)w; }\n"
    "KERNEL(k_read) {\n"
    "    const line *x = w[0].p; line *out = w[1].p; line s[4] = {{0}};\n"
    "    long i = b;\n"
    "    for (; i + 4 <= e; i += 4) { s[0] += x[i]; s[1] += x[i + 1]; s[2] += x[i + 2]; s[3] += x[i + 3]; }\n"
    "    for (; i < e; i++) s[0] += x[i];\n"
    "    if (b < e) out[b] = s[0] + s[1] + s[2] + s[3];\n"
    "}\n"
    /* Four streams that the prefetchers follow each, and prefetches of ours ahead of them. */
    "KERNEL(k_read_streams) {\n"
    "    const line *x = w[0].p; line *out = w[1].p; line s[4] = {{0}}; long n = (e - b) / 4;\n"
    "    for (long i = 0; i < n; i++) for (int k = 0; k < 4; k++) {\n"
    "        const line *at = x + b + k * n + i; __builtin_prefetch(at + 24); s[k] += *at; }\n"
    "    for (long i = b + 4 * n; i < e; i++) s[0] += x[i];\n"
    "    if (b < e) out[b] = s[0] + s[1] + s[2] + s[3];\n"
    "}\n"
    "#if defined(__SSE2__)\n"
    "#define PAST(to, from) do { typedef long long two __attribute__((vector_size(16))); \\\n"
    "    for (int k_ = 0; k_ < 4; k_++) __builtin_ia32_movntdq((two *)(to) + k_, ((const two *)(from))[k_]); "
    "} "
    "while (0)\n"
    "#else\n"
    "#define PAST(to, from) (*(to) = *(from))\n"
    "#endif\n"
    "KERNEL(k_copy_past) {\n"
    "    const line *x = w[0].p; line *y = w[1].p;\n"
    "    for (long i = b; i < e; i++) { __builtin_prefetch(x + i + 24); PAST(y + i, x + i); }\n"
    "}\n"
    /* In place, in four streams, as optimizers do. */
    "KERNEL(k_update) {\n"
    "    line *x = w[0].p; long n = (e - b) / 4;\n"
    "    for (long i = 0; i < n; i++) for (int k = 0; k < 4; k++) {\n"
    "        line *at = x + b + k * n + i; __builtin_prefetch(at + 24, 1); *at += 1; }\n"
    "    for (long i = b + 4 * n; i < e; i++) x[i] += 1;\n"
    "}\n"
    "KERNEL(k_copy) { const line *x = w[0].p; line *y = w[1].p; for (long i = b; i < e; i++) y[i] = x[i]; }\n"
    "#define PEAK(name, type, one) KERNEL(name) { \\\n"
    "    type a[12], m, c; double *out = w[0].p; \\\n"
    "    for (int k = 0; k < 12; k++) for (unsigned l = 0; l < sizeof(type) / sizeof(one); l++) a[k][l] = "
    "(one)(k + l); \\\n"
    "    for (unsigned l = 0; l < sizeof(type) / sizeof(one); l++) { m[l] = (one)0.999; c[l] = (one)0.001; } "
    "\\\n"
    "    for (long i = 0; i < w[1].i; i++) { \\\n"
    "        a[0] = a[0] * m + c; a[1] = a[1] * m + c; a[2] = a[2] * m + c; a[3] = a[3] * m + c; \\\n"
    "        a[4] = a[4] * m + c; a[5] = a[5] * m + c; a[6] = a[6] * m + c; a[7] = a[7] * m + c; \\\n"
    "        a[8] = a[8] * m + c; a[9] = a[9] * m + c; a[10] = a[10] * m + c; a[11] = a[11] * m + c; } \\\n"
    "    for (int k = 1; k < 12; k++) a[0] += a[k]; \\\n"
    "    if (b < e) out[b] = (double)a[0][0]; }\n"
    "PEAK(k_peak_f32, f32v, float)\n"
    "PEAK(k_peak_f64, f64v, double)\n"
    "KERNEL(k_known) { const unsigned *x = w[0].p; unsigned *y = w[1].p; for (long i = b; i < e; i++) y[i] = "
    "x[i] * 3u + (unsigned)i; }\n";

struct atoll_calibration {
    struct atoll_compiler *compiler;
    struct atoll_runner_settings settings;
    void *object;
    size_t object_length;
    struct atoll_runner *runner;
};

struct atoll_calibration *atoll_calibration_create(struct atoll_compiler *compiler,
                                                   const struct atoll_runner_settings *runner,
                                                   struct atoll_err *err)
{
    struct atoll_compiled c;
    struct atoll_calibration *cal = calloc(1, sizeof(*cal));
    if (!cal) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for calibration");
        return NULL;
    }
    cal->compiler = compiler;
    cal->settings = *runner;
    if (atoll_compiler_run(compiler, "calibrate.c", source, sizeof(source) - 1, NULL, 0, &c, err) != 0) {
        free(cal);
        return NULL;
    }
    cal->object = c.object;
    cal->object_length = c.object_length;
    c.object = NULL;
    if (c.status != ATOLL_COMPILE_OK) {
        atoll_err_set(err, ATOLL_E_CHILD, "the compiler cannot compile the calibration kernels: %s",
                      c.diagnostics);
        atoll_compiled_fini(&c);
        atoll_calibration_destroy(cal);
        return NULL;
    }
    atoll_compiled_fini(&c);
    return cal;
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
static int kernel_run(struct atoll_calibration *cal, enum kernel kernel, int64_t units,
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

/* Best of some runs on cold buffers. */
static int best_of(struct atoll_calibration *cal, struct atoll_memory *memory, enum kernel kernel,
                   int64_t units, const struct atoll_block *blocks, size_t count, int64_t number, int runs,
                   double *ret_ns, struct atoll_err *err)
{
    double best = HUGE_VAL, ns;
    for (int i = 0; i < runs; i++) {
        atoll_memory_flush(memory, blocks, count);
        if (kernel_run(cal, kernel, units, blocks, count, number, &ns, err) != 0)
            return -1;
        best = fmin(best, ns);
    }
    *ret_ns = best;
    return 0;
}

/* How many times `bytes` each kernel moves, reads and writes. */
static const struct stream {
    enum kernel kernel;
    double moves;
} streams[] = {
    {KERNEL_READ, 1}, {KERNEL_READ_STREAMS, 1}, {KERNEL_COPY, 2}, {KERNEL_COPY_PAST, 2}, {KERNEL_UPDATE, 2}};

/* The best of all: a bandwidth below the real one would call honest kernels impossible. */
static int measure_streams(struct atoll_calibration *cal, struct atoll_memory *memory, size_t bytes, int runs,
                           struct atoll_device_info *info, struct atoll_err *err)
{
    struct atoll_block blocks[2] = {{0}};
    double best = info->bandwidth_bytes_per_s, ns;
    if (blocks_open(memory, bytes, blocks, 2, err) != 0)
        return -1;
    for (size_t i = 0; i < sizeof(streams) / sizeof(*streams); i++) {
        if (best_of(cal, memory, streams[i].kernel, (int64_t)(bytes / 64), blocks, 2, 0, runs, &ns, err) != 0)
            return -1;
        best = fmax(best, streams[i].moves * (double)bytes / ns * 1e9);
    }
    info->bandwidth_bytes_per_s = best;
    for (size_t i = 0; i < 2; i++)
        atoll_block_close(memory, &blocks[i]);
    return 0;
}

static int measure_peak(struct atoll_calibration *cal, struct atoll_memory *memory, enum kernel kernel,
                        double lanes, double *peak, struct atoll_err *err)
{
    struct atoll_block out = {0};
    double ns, threads = (double)cal->settings.thread_count;
    if (blocks_open(memory, 4096 * sizeof(double), &out, 1, err) != 0)
        return -1;
    int failed = best_of(cal, memory, kernel, (int64_t)cal->settings.thread_count, &out, 1, PEAK_STEPS,
                         PEAK_RUNS, &ns, err);
    if (!failed)
        *peak = fmax(*peak, 2.0 * lanes * PEAK_CHAINS * PEAK_STEPS * threads / ns * 1e9);
    atoll_block_close(memory, &out);
    return failed;
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
    int failed =
        measure_streams(calibration, memory, LONG_BYTES, LONG_RUNS, info, err) != 0 ||
        measure_streams(calibration, memory, SHORT_BYTES, SHORT_RUNS, info, err) != 0 ||
        measure_peak(calibration, memory, KERNEL_PEAK_F32, 16, &info->peak_flops[ATOLL_F32], err) != 0 ||
        measure_peak(calibration, memory, KERNEL_PEAK_F64, 8, &info->peak_flops[ATOLL_F64], err) != 0 ||
        measure_empty(calibration, info, ret_jitter_ns, err) != 0;
    atoll_memory_destroy(memory);
    return failed ? -1 : 0;
}
