/* bench_peaks.c - are the calibration's peaks what the processor can do?  bench_peaks [REPEATS] (5)
 * For vectors of 16, 32 and 64 bytes forced one after the other, and for all at once: the calibration's f64 and f32 peak
 * beside DGEMM and SGEMM of OpenBLAS limited to that width, the best of its kernels for either maker's processors
 * (libopenblas.so.0, or ATOLL_OPENBLAS; Debian: libopenblas0-pthread), and its bandwidth beside STREAM and the sum of STREAM2 (McCalpin) compiled for it, by as many threads.  Exit status 1
 * when one is further away than 10 %.  Each figure comes from a process of its own: this program, called again. */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "scheduler/doctor/calibrate_device.h"

#define STREAM_LENGTH ((size_t)48 << 20) /* doubles in an array, 384 MB: more than last-level caches have */
#define REPEAT_LIMIT  1000u
#define NEAR          0.10
#define FEW           4  /* threads that orders up to 3072 feed */
#define APART         16 /* elements between rows of a matrix */

/* Memory with huge pages where there are some: pages of 4 KB cost GEMM and STREAM some percent. */
static void *array_of(size_t bytes)
{
    void *array = aligned_alloc((size_t)2 << 20, bytes);
    if (!array)
        fprintf(stderr, "bench_peaks: no memory\n");
    else if (madvise(array, bytes, MADV_HUGEPAGE) != 0)
        perror("bench_peaks: no huge pages");
    return array;
}

/* ---- STREAM, for each width ---- */

/* SUM is STREAM2's (McCalpin): nothing is written, and memory gives most. */
enum { COPY, SCALE, ADD, TRIAD, SUM, LOOP_COUNT };

/* Arrays that a loop reads and writes; a write to what no cache holds reads it first. */
static const double arrays[LOOP_COUNT] = {2, 2, 3, 3, 1}, reads_first[LOOP_COUNT] = {1, 1, 1, 1, 0};

typedef unsigned long long __attribute__((may_alias)) whole; /* whose sums may be taken in any order */

#define LOOPS(name, attributes)                                                                              \
    attributes static whole sum_of_##name(const whole *x, size_t count)                                      \
    {                                                                                                        \
        whole s = 0;                                                                                         \
        for (size_t i = 0; i < count; i++)                                                                   \
            s += x[i];                                                                                       \
        return s;                                                                                            \
    }                                                                                                        \
    attributes static void name(int loop, double *a, double *b, double *c, whole *sum, size_t begin,         \
                                size_t end)                                                                  \
    {                                                                                                        \
        if (loop == COPY)                                                                                    \
            for (size_t i = begin; i < end; i++)                                                             \
                c[i] = a[i];                                                                                 \
        else if (loop == SCALE)                                                                              \
            for (size_t i = begin; i < end; i++)                                                             \
                b[i] = 3 * c[i];                                                                             \
        else if (loop == SUM)                                                                                \
            *sum = sum_of_##name((const whole *)a + begin, end - begin);                                     \
        else if (loop == ADD)                                                                                \
            for (size_t i = begin; i < end; i++)                                                             \
                c[i] = a[i] + b[i];                                                                          \
        else                                                                                                 \
            for (size_t i = begin; i < end; i++)                                                             \
                a[i] = b[i] + 3 * c[i];                                                                      \
    }

#ifdef __clang__
#define FAST
#else
#define FAST __attribute__((optimize("O3")))
#endif
#if defined(__x86_64__)
LOOPS(loops_16, FAST __attribute__((target("no-avx"))))
LOOPS(loops_32, FAST __attribute__((target("avx2"))))
#ifdef __clang__
LOOPS(loops_64, FAST __attribute__((target("avx512f"))))
#else
LOOPS(loops_64, FAST __attribute__((target("avx512f,prefer-vector-width=512"))))
#endif
#else
LOOPS(loops_16, FAST)
#define loops_32 loops_16
#define loops_64 loops_16
#endif

struct part {
    pthread_barrier_t *barrier;
    int width, thread, thread_count;
    double *arrays[3];
    unsigned repeats;
    whole sum;
    double best_ns[LOOP_COUNT]; /* of thread 0 */
};

static void *stream_thread(void *of)
{
    struct part *p = of;
    size_t begin = STREAM_LENGTH * (size_t)p->thread / (size_t)p->thread_count,
           end = STREAM_LENGTH * ((size_t)p->thread + 1) / (size_t)p->thread_count;
    for (int k = 0; k < 3; k++)
        for (size_t i = begin; i < end; i++)
            p->arrays[k][i] = k + 1;
    for (unsigned r = 0; r < p->repeats; r++)
        for (int loop = 0; loop < LOOP_COUNT; loop++) {
            pthread_barrier_wait(p->barrier);
            double start = atoll_clock_mono_ns();
            (p->width == 16 ? loops_16
             : p->width == 32
                 ? loops_32
                 : loops_64)(loop, p->arrays[0], p->arrays[1], p->arrays[2], &p->sum, begin, end);
            pthread_barrier_wait(p->barrier);
            double ns = atoll_clock_mono_ns() - start;
            if (p->best_ns[loop] == 0 || ns < p->best_ns[loop])
                p->best_ns[loop] = ns;
        }
    return NULL;
}

/* Prints the best of them as STREAM counts, and with what is read to be written. */
static int stream_print(int width, int threads, unsigned repeats)
{
    struct part parts[256];
    pthread_t ids[256];
    pthread_barrier_t barrier;
    double *a[3], best = 0, all = 0;
    threads = threads > 256 ? 256 : threads;
    for (int k = 0; k < 3; k++)
        if (!(a[k] = array_of(STREAM_LENGTH * sizeof(double))))
            return 1;
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        parts[i] = (struct part){&barrier, width, i, threads, {a[0], a[1], a[2]}, repeats, 0, {0}};
        if (pthread_create(&ids[i], NULL, stream_thread, &parts[i]) != 0)
            return 1;
    }
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    for (int loop = 0; loop < LOOP_COUNT; loop++) {
        double bytes = STREAM_LENGTH * sizeof(double);
        if (loop != SUM)
            best = fmax(best, arrays[loop] * bytes / parts[0].best_ns[loop]);
        all = fmax(all, (arrays[loop] + reads_first[loop]) * bytes / parts[0].best_ns[loop]);
    }
    printf("%.6g %.6g\n", best, all);
    return 0;
}

/* ---- OpenBLAS ---- */

typedef void dgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, double alpha,
                   const double *a, int lda, const double *b, int ldb, double beta, double *c, int ldc);
typedef void sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                   const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);

static void *symbol_of(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    if (!symbol) {
        fprintf(stderr, "bench_peaks: OpenBLAS without %s\n", name);
        exit(1);
    }
    return symbol;
}

/* What others take of a single thread's core is not the library's.  Several threads may wait for each other: that is. */
static double now_ns(int threads)
{
    return threads > 1 ? atoll_clock_mono_ns() : (double)atoll_clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* The best order decides: small ones do not feed all threads, and none reaches the peak that a floor wants.  Rows lie a line
 * or two further apart than they are long: at powers of two all of a column falls into few sets of a cache, which costs
 * DGEMM a twentieth. */
static int blas_print(unsigned repeats, int threads)
{
    static const int orders[] = {1152, 1920, 3072, 6144};
    enum { COUNT = sizeof(orders) / sizeof(*orders) };
    const char *path = getenv("ATOLL_OPENBLAS");
    void *library = dlopen(path ? path : "libopenblas.so.0", RTLD_NOW);
    size_t order_count = threads > FEW ? COUNT : COUNT - 1,
           most = (size_t)orders[order_count - 1] * (size_t)(orders[order_count - 1] + APART);
    double *d = array_of(3 * most * sizeof(*d)), best[2] = {0, 0};
    float *f = array_of(3 * most * sizeof(*f));
    dgemm *multiply_d;
    sgemm *multiply_f;
    if (!library || !d || !f) {
        fprintf(stderr, "bench_peaks: no OpenBLAS: %s\n", library ? "no memory" : dlerror());
        return 1;
    }
    for (size_t i = 0; i < 3 * most; i++) {
        d[i] = (double)(i % 7) / 7;
        f[i] = (float)d[i];
    }
    *(void **)&multiply_d = symbol_of(library, "cblas_dgemm");
    *(void **)&multiply_f = symbol_of(library, "cblas_sgemm");
    for (size_t k = 0; k < order_count; k++) {
        int n = orders[k], next = n + APART;
        size_t count = (size_t)n * (size_t)next;
        for (unsigned r = 0; r < (n > 2048 && repeats > 2 ? 2 : repeats); r++) {
            double start = now_ns(threads);
            multiply_d(101, 111, 111, n, n, n, 1, d, next, d + count, next, 0, d + 2 * count, next);
            best[0] = fmax(best[0], 2.0 * n * n * n / (now_ns(threads) - start));
            start = now_ns(threads);
            multiply_f(101, 111, 111, n, n, n, 1, f, next, f + count, next, 0, f + 2 * count, next);
            best[1] = fmax(best[1], 2.0 * n * n * n / (now_ns(threads) - start));
        }
    }
    printf("%.6g %.6g\n", best[0], best[1]);
    free(d);
    free(f);
    return 0;
}

/* ---- ours ---- */

static int ours_print(void)
{
    struct atoll_bench_device device;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_bench_setup(&device.setup, &err) != 0 || atoll_bench_device_open(&device, &err) != 0) {
        fprintf(stderr, "bench_peaks: %s\n", err.text);
        return 1;
    }
    const struct atoll_device_info *info = atoll_referee_device(device.referee);
    printf("%.6g %.6g %.6g %u\n", info->peak_flops[ATOLL_F64] / 1e9, info->peak_flops[ATOLL_F32] / 1e9,
           info->bandwidth_bytes_per_s / 1e9, info->threads);
    atoll_bench_device_close(&device);
    return 0;
}

/* ---- the table ---- */

/* What a call of this program with such an environment prints; how many numbers. */
static int ask(const char *environment, const char *arguments, double *ret, int count)
{
    char path[4096], command[9000];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (n <= 0)
        return 0;
    path[n] = 0;
    snprintf(command, sizeof(command), "env %s '%s' %s", environment, path, arguments);
    FILE *from = popen(command, "r");
    int got = 0;
    while (from && got < count && fscanf(from, "%lf", &ret[got]) == 1)
        got++;
    if (from)
        pclose(from);
    return got;
}

static int has_width(int width)
{
#if defined(__x86_64__)
    return width == 16 || (width == 32 ? __builtin_cpu_supports("avx2") : __builtin_cpu_supports("avx512f"));
#else
    return width == 16;
#endif
}

static int print_pair(double ours, double theirs)
{
    int is_near = theirs > 0 && fabs(ours / theirs - 1) <= NEAR;
    printf(" %9.1f %9.1f %6.2f%s", ours, theirs, theirs > 0 ? ours / theirs : 0, is_near ? " " : "!");
    return is_near;
}

/* The best of the kernels that OpenBLAS has for processors of a width: those for one maker's keep few of the other's pipes
 * busy.  Says how many of them run here. */
static int ask_blas(const char *const *cores, int threads, unsigned repeats, double ret[2])
{
    int asked = 0;
    for (; *cores; cores++) {
        char environment[200], arguments[80];
        double got[2];
        snprintf(environment, sizeof(environment), "OPENBLAS_NUM_THREADS=%d OPENBLAS_CORETYPE=%s", threads,
                 *cores);
        snprintf(arguments, sizeof(arguments), "--blas %u %d", repeats, threads);
        if (ask(environment, arguments, got, 2) != 2)
            continue; /* instructions that are not here */
        asked++;
        for (int i = 0; i < 2; i++)
            ret[i] = fmax(ret[i], got[i]);
    }
    return asked;
}

/* width 0: whatever the processor has; others there are the best of the rows before, for OpenBLAS may not know a new
 * processor. */
static int print_row(int width, const char *const *cores, unsigned repeats)
{
    static double most[4];
    char environment[200], arguments[80];
    double ours[4] = {0}, blas[2] = {most[0], most[1]}, stream[2] = {most[2], most[3]};
    snprintf(environment, sizeof(environment), "ATOLL_CALIBRATION_VECTOR_BYTES=%.0d", width);
    if (ask(environment, "--ours", ours, 4) != 4)
        return 1;
    int failed = width && ask_blas(cores, (int)ours[3], repeats, blas) == 0;
    snprintf(arguments, sizeof(arguments), "--stream %d %.0f %u", width, ours[3], repeats);
    failed |= width && ask("-", arguments, stream, 2) != 2;
    for (int i = 0; i < 2; i++) {
        most[i] = fmax(most[i], blas[i]);
        most[2 + i] = fmax(most[2 + i], stream[i]);
    }
    if (width)
        printf("%5d", width);
    else
        printf("  all");
    failed |= !print_pair(ours[0], blas[0]);
    failed |= !print_pair(ours[1], blas[1]);
    failed |= !print_pair(ours[2], stream[1]);
    printf(" %9.1f\n", stream[0]);
    fflush(stdout);
    return failed;
}

int main(int argc, char **argv)
{
    /* processors that OpenBLAS knows to have no wider vectors: of each maker */
    static const struct {
        int width;
        const char *cores[4];
    } rows[] = {{16, {"Nehalem", "Barcelona", "Core2"}},
                {32, {"Haswell", "Zen"}},
                {64, {"SkylakeX", "Cooperlake"}},
                {0, {NULL}}};
    if (argc > 1 && strcmp(argv[1], "--ours") == 0)
        return ours_print();
    if (argc > 2 && strcmp(argv[1], "--blas") == 0)
        return blas_print((unsigned)atoi(argv[2]), argc > 3 ? atoi(argv[3]) : 1);
    if (argc > 4 && strcmp(argv[1], "--stream") == 0)
        return stream_print(atoi(argv[2]), atoi(argv[3]), (unsigned)atoi(argv[4]));
    unsigned repeats = argc > 1 ? (unsigned)atoi(argv[1]) : 5;
    if (repeats < 1 || repeats > REPEAT_LIMIT) {
        fprintf(stderr, "bench_peaks: repeats from 1 to %u\n", REPEAT_LIMIT);
        return 64;
    }
    int failed = 0;
    printf(
        "ours beside others, GFLOP/s and GB/s; ! further apart than %.0f %%.  STREAM with what is read to be "
        "written, and as it counts itself\n",
        100 * NEAR);
    printf(
        "bytes      f64     DGEMM            f32     SGEMM            memory    STREAM              plain\n");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (!rows[i].width || has_width(rows[i].width))
            failed |= print_row(rows[i].width, rows[i].cores, repeats);
    return failed;
}
