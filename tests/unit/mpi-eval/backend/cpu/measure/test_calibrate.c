/* The calibration of processors that differ in their vectors: kernels run for real, but how long each took is said here. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "mpi-eval/backend/backends.h"
#include "mpi-eval/backend/cpu/measure/device.h"
#include "mpi-eval/backend/cpu/process/tiles.h"
#include "mpi-eval/backend/kept_calibration.h"

#define WIDTH_VARIABLE "ATOLL_CALIBRATION_VECTOR_BYTES"
#define USUAL_NS       1e5
#define NAME_LIMIT     64

static struct {
    const char *names[NAME_LIMIT];
    size_t name_count;
    unsigned runs[NAME_LIMIT];
    const char *slow; /* part of the names of kernels that take ten times as long */
    const char *dead; /* part of the names of kernels that the system ends */
    double step;      /* what each run of a kernel takes of the time of the one before */
    FILE *object;     /* gets what was compiled; NULL */
} processor;

struct atoll_runner *__real_atoll_runner_create(const struct atoll_runner_settings *settings,
                                                const void *object, size_t length, int allow,
                                                const char *const *symbols, size_t count,
                                                struct atoll_err *err);
struct atoll_runner *__wrap_atoll_runner_create(const struct atoll_runner_settings *settings,
                                                const void *object, size_t length, int allow,
                                                const char *const *symbols, size_t count,
                                                struct atoll_err *err);
struct atoll_runner *__wrap_atoll_runner_create(const struct atoll_runner_settings *settings,
                                                const void *object, size_t length, int allow,
                                                const char *const *symbols, size_t count,
                                                struct atoll_err *err)
{
    assert_true(count <= NAME_LIMIT);
    memcpy(processor.names, symbols, count * sizeof(*symbols));
    processor.name_count = count;
    if (processor.object)
        assert_int_equal(fwrite(object, 1, length, processor.object), length);
    return __real_atoll_runner_create(settings, object, length, allow, symbols, count, err);
}

int __real_atoll_runner_run(struct atoll_runner *runner, const struct atoll_run_request *request,
                            struct atoll_run_result *ret_result, struct atoll_err *err);
int __wrap_atoll_runner_run(struct atoll_runner *runner, const struct atoll_run_request *request,
                            struct atoll_run_result *ret_result, struct atoll_err *err);
int __wrap_atoll_runner_run(struct atoll_runner *runner, const struct atoll_run_request *request,
                            struct atoll_run_result *ret_result, struct atoll_err *err)
{
    int rc = __real_atoll_runner_run(runner, request, ret_result, err);
    size_t k = request->launches[0].symbol;
    assert_true(k < processor.name_count);
    ret_result->ns = USUAL_NS;
    for (unsigned i = 0; i < processor.runs[k]; i++)
        ret_result->ns *= processor.step;
    if (processor.slow && strstr(processor.names[k], processor.slow))
        ret_result->ns *= 10;
    if (processor.dead && strstr(processor.names[k], processor.dead))
        ret_result->status = ATOLL_RUN_CRASHED;
    processor.runs[k]++;
    return rc;
}

/* The unit that the calibration compiles, and how often it was. */
static char *unit;
static unsigned unit_count;

int __real_atoll_compiler_run(struct atoll_compiler *c, const char *file_name, const char *text,
                              size_t length, const char *const *defines, size_t define_count,
                              struct atoll_compiled *ret_compiled, struct atoll_err *err);
int __wrap_atoll_compiler_run(struct atoll_compiler *c, const char *file_name, const char *text,
                              size_t length, const char *const *defines, size_t define_count,
                              struct atoll_compiled *ret_compiled, struct atoll_err *err);
int __wrap_atoll_compiler_run(struct atoll_compiler *c, const char *file_name, const char *text,
                              size_t length, const char *const *defines, size_t define_count,
                              struct atoll_compiled *ret_compiled, struct atoll_err *err)
{
    if (strcmp(file_name, "calibrate.c") == 0) {
        free(unit);
        unit = strndup(text, length);
        unit_count++;
    }
    return __real_atoll_compiler_run(c, file_name, text, length, defines, define_count, ret_compiled, err);
}

static struct atoll_device device;
static struct atoll_compiler *compiler;

static struct atoll_calibration *open_calibration(const char *width, struct atoll_err *err)
{
    struct atoll_compiler_settings settings = {.command = "cc",
                                               .flags = "-O2",
                                               .slots = 1,
                                               .deadline_ns = 60e9,
                                               .memory_bytes = (uint64_t)4 << 30,
                                               .output_bytes = (uint64_t)64 << 20};
    memset(&processor, 0, sizeof(processor));
    processor.step = 1;
    setenv(WIDTH_VARIABLE, width, 1);
    if (!compiler) {
        assert_int_equal(atoll_device_open(1, &device, err), 0);
        compiler = atoll_cc_create(&settings, err);
        assert_non_null(compiler);
    }
    struct atoll_runner_settings runner = {.thread_count = (unsigned)device.core_count,
                                           .cores = device.cores,
                                           .worker_path = ATOLL_BUILD_DIR "/atoll-worker",
                                           .stack_bytes = (uint64_t)8 << 20};
    const struct atoll_device_info info = {.backend = "cpu", .toolchain = "cc -O2"};
    return atoll_calibration_create(compiler, &runner, &info, err);
}

static void calibrate(struct atoll_calibration *calibration, struct atoll_device_info *info)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    double jitter_ns;
    if (atoll_calibration_measure(calibration, info, &jitter_ns, &err) != 0)
        fail_msg("%s", err.text);
}

static unsigned runs_of(const char *part)
{
    unsigned runs = 0;
    for (size_t i = 0; i < processor.name_count; i++)
        if (strstr(processor.names[i], part))
            runs += processor.runs[i];
    return runs;
}

/* A machine on which the widest vectors are the slowest, as where the compiler cuts them into pieces. */
static void test_slow_width(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_device_info quick = {.threads = 1}, slow = {.threads = 1};
    (void)state;
#if !defined(__x86_64__)
    print_message("skipped: the peaks of this processor's widths are not known here\n");
    skip();
#endif
    struct atoll_calibration *calibration = open_calibration("", &err);
    assert_non_null(calibration);
    calibrate(calibration, &quick);
    assert_true(runs_of("k_peak_f32_16") > 0 && runs_of("k_peak_f64_16") > 0);
    int has_64 = runs_of("k_peak_f32_64") > 0;
    double by_16 = 2.0 * 12 * 4 * 400000 / USUAL_NS * 1e9;
    assert_true(quick.peak_flops[ATOLL_F32] >= by_16 && quick.peak_flops[ATOLL_F64] >= by_16 / 2);
    if (has_64)
        expect_close(quick.peak_flops[ATOLL_F32] / by_16, 4, 1e-6);
    processor.slow = has_64 ? "_64" : "_32";
    calibrate(calibration, &slow);
    expect_close(slow.peak_flops[ATOLL_F32] / by_16, has_64 ? 2 : 1, 1e-6);
    expect_close(slow.peak_flops[ATOLL_F64] / by_16, has_64 ? 1 : 0.5, 1e-6);
    /* what is known is never made worse */
    double known = quick.peak_flops[ATOLL_F32];
    calibrate(calibration, &quick);
    assert_true(quick.peak_flops[ATOLL_F32] == known);
    atoll_calibration_destroy(calibration);
}

/* Matrix units have peaks of their own where they may be used, and never are in the way of the others. */
static void test_tiles(void **state)
{
    static const struct {
        const char *width, *dead;
        int has_bf16, has_i8;
    } rows[] = {{"", NULL, 1, 1}, {"16", NULL, 0, 0}, {"", "k_tiles", 0, 0}, {"", "k_tiles_i8", 1, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_device_info info = {.threads = 1};
        struct atoll_calibration *calibration = open_calibration(rows[i].width, &err);
        int is_there = atoll_tiles_known();
        double product = 2.0 * 16 * 16 * 32, by_bf16 = 6 * product / 16 * 400000 / USUAL_NS * 1e9;
        assert_non_null(calibration);
        processor.dead = rows[i].dead;
        calibrate(calibration, &info);
        assert_true(info.limits.tensor_flops[ATOLL_BF16] == (is_there && rows[i].has_bf16 ? by_bf16 : 0));
        assert_true(info.limits.tensor_flops[ATOLL_I8] == (is_there && rows[i].has_i8 ? 2 * by_bf16 : 0));
        assert_int_equal(runs_of("k_tiles") > 0, is_there && !*rows[i].width);
        assert_true(info.peak_flops[ATOLL_F32] > 0 && info.bandwidth_bytes_per_s > 0);
        atoll_calibration_destroy(calibration);
    }
}

/* A clock that is still on its way up: the best kernel runs again while it gains. */
static void test_rise(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_device_info flat = {.threads = 1}, rising = {.threads = 1};
    (void)state;
    struct atoll_calibration *calibration = open_calibration("16", &err);
    assert_non_null(calibration);
    calibrate(calibration, &flat);
    unsigned once = runs_of("k_peak_f32_16");
    memset(processor.runs, 0, sizeof(processor.runs));
    processor.step = 0.98;
    calibrate(calibration, &rising);
    assert_true(runs_of("k_peak_f32_16") > once);
    assert_true(rising.peak_flops[ATOLL_F32] > flat.peak_flops[ATOLL_F32]);
    atoll_calibration_destroy(calibration);
}

static void test_forced(void **state)
{
    static const struct {
        const char *width, *other;
    } rows[] = {{"16", "32"}, {"32", "16"}, {"64", "16"}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_device_info info = {.threads = 1};
        struct atoll_calibration *calibration = open_calibration(rows[i].width, &err);
        char name[32];
        if (!calibration) { /* as this processor is */
            expect_err(&err, ATOLL_E_MISSING, "this processor has no such vectors");
            continue;
        }
        calibrate(calibration, &info);
        snprintf(name, sizeof(name), "k_peak_f32_%s", rows[i].width);
        assert_true(runs_of(name) + runs_of("k_peak_f32_sve") > 0);
        snprintf(name, sizeof(name), "_%s", rows[i].other);
        assert_int_equal(runs_of(name), 0);
        assert_true(info.bandwidth_bytes_per_s > 0 && info.peak_flops[ATOLL_F64] > 0);
        atoll_calibration_destroy(calibration);
    }
}

/* What was found holds on the same cores, not on quicker ones, for which floors would be too high, nor where something takes most of
 * them; and to ask costs less than to find out. */
static void test_probe(void **state)
{
    static const struct {
        double step;
        const char *slow;
        int agrees;
    } rows[] = {{1, NULL, 1}, {0.9, NULL, 0}, {1, "k_peak_f64", 0}, {1, "k_", 0}};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_device_info info = {.threads = 1};
    (void)state;
    struct atoll_calibration *calibration = open_calibration("", &err);
    assert_non_null(calibration);
    calibrate(calibration, &info);
    unsigned all = runs_of("k_");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        memset(processor.runs, 0, sizeof(processor.runs));
        processor.step = rows[i].step;
        processor.slow = rows[i].slow;
        assert_int_equal(atoll_calibration_probe(calibration, &info, &err), rows[i].agrees);
        assert_true(runs_of("k_") * 4 < all);
    }
    atoll_calibration_destroy(calibration);
}

/* A compiler that knows what a chain comes to leaves it out: the peak would count what nobody computes. */
static void test_operations(void **state)
{
    static const struct {
        const char *kernel, *multiplications;
        int count;
    } rows[] = {{"k_peak_f64_16", "mul[a-z]*pd.*xmm", 12},
                {"k_peak_f32_16", "mul[a-z]*ps.*xmm", 12},
                {"k_peak_f64_32", "mulpd.*ymm", 12},
                {"k_peak_f32_32_fma", "fmadd[0-9]*ps.*ymm", 12},
                {"k_peak_f64_32_fma", "fmadd[0-9]*pd.*ymm", 12},
                {"k_peak_f32_64", "fmadd[0-9]*ps.*zmm", 12},
                {"k_peak_f64_64", "fmadd[0-9]*pd.*zmm", 12},
                {"k_tiles_bf16", "tdpbf16ps", 6},
                {"k_tiles_i8", "tdpbssd", 6}};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_device_info info = {.threads = 1};
    char path[] = "/tmp/atoll-calibrate-XXXXXX", command[512];
    (void)state;
#if !defined(__x86_64__)
    print_message("skipped: the instructions of this processor are not known here\n");
    skip();
#endif
    if (system("objdump --version > /dev/null 2>&1") != 0) {
        print_message("skipped: no objdump\n");
        skip();
    }
    struct atoll_calibration *calibration = open_calibration("", &err);
    assert_non_null(calibration);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    processor.object = fdopen(fd, "wb");
    calibrate(calibration, &info);
    fclose(processor.object);
    processor.object = NULL;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        int found = -1;
        snprintf(command, sizeof(command), "objdump -d --no-show-raw-insn --disassemble=%s %s | grep -c '%s'",
                 rows[i].kernel, path, rows[i].multiplications);
        FILE *from = popen(command, "r");
        assert_true(from && fscanf(from, "%d", &found) == 1);
        pclose(from);
        if (found < rows[i].count || found % rows[i].count != 0)
            fail_msg("%s: %d multiplications of %d", rows[i].kernel, found, rows[i].count);
    }
    unlink(path);
    atoll_calibration_destroy(calibration);
}

/* What follows the unit: each kernel once, on one thread of two lines and five steps.  argv[1]: bytes of scalable vectors, 0
 * where the unit has none. */
static const char check[] =
    "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
    "static int bad;\n"
    "static void expect(const char *name, double is, double should) {\n"
    "    double off = is - should; if (off < 0) off = -off;\n"
    "    if (off > 1e-4 * (should > 1 ? should : 1)) { printf(\"%s: %g is not %g\\n\", name, is, should); "
    "bad = 1; } }\n"
    "static void peak(const char *name, void (*f)(long, long, const word *), double lanes) {\n"
    "    static double out[4096]; word w[2];\n"
    "    memset(out, 0, sizeof(out)); w[0].p = out; w[1].i = 5; f(0, 1, w);\n"
    "    expect(name, out[0], 48 * lanes);\n"
    "    expect(name, out[2048], lanes * (48 + 276 + 24 * 5 * 0.999 * 0.001)); }\n"
    "static unsigned long long x[1024] __attribute__((aligned(64))), y[1024] __attribute__((aligned(64)));\n"
    "static void stream(const char *name, void (*f)(long, long, const word *), int kind, int width) {\n"
    "    word w[2]; w[0].p = x; w[1].p = y; double sum = 0, all = 0;\n"
    "    for (int i = 0; i < 1024; i++) { x[i] = i; y[i] = 0; }\n"
    "    f(1, 128, w);\n"
    "    for (int i = 0; i < width / 8; i++) sum += y[8 + i];\n"
    "    for (int i = 8; i < 1024; i++) { all += i;\n"
    "        if (kind == 1) expect(name, x[i], i + 1);\n"
    "        if (kind == 2) expect(name, y[i], i); }\n"
    "    if (kind == 0) expect(name, sum, all); }\n"
    "int main(int count, char **values) {\n"
    "    double bytes = count > 1 ? atof(values[1]) : 0;\n"
    "    unsigned a[4] = {9, 8, 7, 6}, b[4] = {0}; word w[2]; w[0].p = a; w[1].p = b;\n"
    "    k_known(1, 4, w); expect(\"k_known\", b[0] + b[3], 21);\n"
    "    peak(\"k_peak_f32_16\", k_peak_f32_16, 4); peak(\"k_peak_f64_16\", k_peak_f64_16, 2);\n"
    "    peak(\"k_peak_f32_sve\", k_peak_f32_sve, bytes / 4);\n"
    "    peak(\"k_peak_f64_sve\", k_peak_f64_sve, bytes / 8);\n"
    "    stream(\"k_read_16\", k_read_16, 0, 16); stream(\"k_read_streams_16\", k_read_streams_16, 0, 16);\n"
    "    stream(\"k_read_64\", k_read_64, 0, 64); stream(\"k_read_streams_64\", k_read_streams_64, 0, 64);\n"
    "    stream(\"k_update_16\", k_update_16, 1, 16); stream(\"k_update_64\", k_update_64, 1, 64);\n"
    "    stream(\"k_copy_past\", k_copy_past, 2, 0); return bad; }\n";

/* What a command prints; returns its status, not 0 where there is no such program. */
static int said(const char *command, char *ret_text, size_t bytes)
{
    FILE *from = popen(command, "r");
    assert_non_null(from);
    size_t got = fread(ret_text, 1, bytes - 1, from);
    ret_text[got] = '\0';
    return pclose(from);
}

/* For 64-bit Arm, compiled here: that the kernels are right where they can be run, with scalable vectors of each length, and
 * that a step of a peak kernel is nothing but what it counts. */
static void test_arm(void **state)
{
    static const struct {
        const char *march, *kernels[4]; /* that have it */
        const char *processors[3], *sve_bytes[3];
    } rows[] = {
        {"armv8-a", {"k_peak_f32_16", "k_peak_f64_16"}, {"max"}, {"0"}},
        {"armv8.2-a+sve",
         {"k_peak_f32_16", "k_peak_f64_16", "k_peak_f32_sve", "k_peak_f64_sve"},
         {"max,sve-max-vq=1", "max,sve-max-vq=2", "max,sve-max-vq=4"},
         {"16", "32", "64"}},
    };
    struct atoll_err err = ATOLL_ERR_INIT;
    char folder[] = "/tmp/atoll-calibrate-XXXXXX", command[1024], text[4096];
    (void)state;
    if (said("aarch64-linux-gnu-gcc --version 2> /dev/null", text, sizeof(text)) != 0) {
        print_message("skipped: no aarch64-linux-gnu-gcc\n");
        skip();
    }
    int runs = said("qemu-aarch64-static --version 2> /dev/null", text, sizeof(text)) == 0;
    if (!runs)
        print_message("without qemu-aarch64-static the kernels are compiled and looked at, not run\n");
    atoll_calibration_destroy(open_calibration("", &err));
    assert_non_null(unit);
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof(command), "%s/all.c", folder);
    FILE *to = fopen(command, "w");
    assert_true(to && fputs(unit, to) >= 0 && fputs(check, to) >= 0 && fclose(to) == 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        snprintf(command, sizeof(command),
                 "cd %s && aarch64-linux-gnu-gcc -std=gnu11 -O3 -march=%s -fopenmp-simd -fno-math-errno "
                 "-fno-trapping-math -ffp-contract=fast -static all.c -o all 2>&1",
                 folder, rows[i].march);
        if (said(command, text, sizeof(text)) != 0)
            fail_msg("%s: %s", rows[i].march, text);
        for (size_t k = 0; k < 4 && rows[i].kernels[k]; k++) {
            snprintf(command, sizeof(command),
                     "aarch64-linux-gnu-objdump -d --no-show-raw-insn --disassemble=%s %s/all | "
                     "awk '/fmla/ {in_loop = 1} in_loop && /[vzq][0-9]/ {n += /fmla/ ? 1 : 100} "
                     "in_loop && /\\tb/ {exit} END {print n + 0}'",
                     rows[i].kernels[k], folder);
            said(command, text, sizeof(text));
            if (atoi(text) != 24)
                fail_msg("%s, %s: %d instead of 24 fused operations and nothing else on vectors",
                         rows[i].march, rows[i].kernels[k], atoi(text));
        }
        for (size_t k = 0; runs && k < 3 && rows[i].processors[k]; k++) {
            snprintf(command, sizeof(command), "qemu-aarch64-static -cpu %s %s/all %s 2>&1",
                     rows[i].processors[k], folder, rows[i].sve_bytes[k]);
            if (said(command, text, sizeof(text)) != 0)
                fail_msg("%s on %s: %s", rows[i].march, rows[i].processors[k], text);
        }
    }
    snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void test_bad_width(void **state)
{
    static const char *const bad[] = {"48", "wide", "0", "-16"};
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        assert_null(open_calibration(bad[i], &err));
        expect_err(&err, ATOLL_E_INPUT, "it can be 16, 32 or 64");
    }
}

/* Compiled once where records are kept, for each width of vectors; without a folder each time. */
static void test_kept(void **state)
{
    static const struct {
        const char *width;
        int is_kept;
        unsigned compiled;
    } rows[] = {{"", 1, 1}, {"", 1, 0}, {"16", 1, 1}, {"16", 1, 0}, {"", 0, 1}};
    char folder[] = "/tmp/atoll-calibrate-XXXXXX", command[64];
    (void)state;
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        setenv(ATOLL_KEPT_CALIBRATION_VARIABLE, rows[i].is_kept ? folder : "", 1);
        unit_count = 0;
        struct atoll_calibration *calibration = open_calibration(rows[i].width, &err);
        assert_non_null(calibration);
        assert_int_equal(unit_count, rows[i].compiled);
        assert_int_equal(atoll_calibration_qualify(calibration, &err), 0);
        atoll_calibration_destroy(calibration);
    }
    unsetenv(ATOLL_KEPT_CALIBRATION_VARIABLE);
    snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    unsetenv(ATOLL_KEPT_CALIBRATION_VARIABLE); /* each test compiles what it looks at */
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_slow_width), cmocka_unit_test(test_tiles),
                                       cmocka_unit_test(test_rise),       cmocka_unit_test(test_forced),
                                       cmocka_unit_test(test_probe),      cmocka_unit_test(test_operations),
                                       cmocka_unit_test(test_arm),        cmocka_unit_test(test_bad_width),
                                       cmocka_unit_test(test_kept)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    atoll_compiler_destroy(compiler);
    free(unit);
    return failed;
}
