/* The calibration of processors that differ in their vectors: kernels run for real, but how long each took is said here. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "mpi-eval/backend/backends.h"
#include "mpi-eval/backend/cpu/measure/device.h"

#define WIDTH_VARIABLE "ATOLL_CALIBRATION_VECTOR_BYTES"
#define USUAL_NS       1e5
#define NAME_LIMIT     64

static struct {
    const char *names[NAME_LIMIT];
    size_t name_count;
    unsigned runs[NAME_LIMIT];
    const char *slow; /* part of the names of kernels that take ten times as long */
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
    processor.runs[k]++;
    return rc;
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
    return atoll_calibration_create(compiler, &runner, err);
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
        assert_true(runs_of(name) > 0);
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
    } rows[] = {{"k_peak_f64_16", "mul[a-z]*pd.*xmm"},
                {"k_peak_f32_16", "mul[a-z]*ps.*xmm"},
                {"k_peak_f64_32", "mulpd.*ymm"},
                {"k_peak_f32_32_fma", "fmadd[0-9]*ps.*ymm"},
                {"k_peak_f64_32_fma", "fmadd[0-9]*pd.*ymm"},
                {"k_peak_f32_64", "fmadd[0-9]*ps.*zmm"},
                {"k_peak_f64_64", "fmadd[0-9]*pd.*zmm"}};
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
        if (found < 12 || found % 12 != 0)
            fail_msg("%s: %d multiplications of 12", rows[i].kernel, found);
    }
    unlink(path);
    atoll_calibration_destroy(calibration);
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_slow_width), cmocka_unit_test(test_rise),
                                       cmocka_unit_test(test_forced),     cmocka_unit_test(test_probe),
                                       cmocka_unit_test(test_operations), cmocka_unit_test(test_bad_width)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    atoll_compiler_destroy(compiler);
    return failed;
}
