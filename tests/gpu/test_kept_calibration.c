/* A device that was calibrated by an earlier process is opened by a probe; opening starts one device process. */
#include "tests/gpu/device.h"

#include <dirent.h>

#include "base/clock.h"
#include "mpi-eval/backend/cuda/measure/device.h"
#include "mpi-eval/backend/kept_calibration.h"
#include "mpi-eval/referee/state.h"
#include "tests/gpu/referee.h"
#include "tests/unit/archive-h5/scratch.h"

static char folder[PATH_MAX];

static int make_folder(void **state)
{
    scratch_make(folder);
    return setenv(ATOLL_KEPT_CALIBRATION_VARIABLE, folder, 1);
}

static int remove_folder(void **state)
{
    scratch_remove(folder);
    return 0;
}

struct opened {
    struct atoll_device_info info;
    double jitter_ns, seconds;
    unsigned processes, generation;
};

/* Children of this process by name; what compiles is one, too. */
static unsigned device_processes(void)
{
    unsigned count = 0;
    DIR *dir = opendir("/proc");
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        char path[300], text[256] = "", name[64] = "";
        int parent = 0;
        snprintf(path, sizeof(path), "/proc/%.200s/stat", e->d_name);
        FILE *file = strspn(e->d_name, "0123456789") == strlen(e->d_name) ? fopen(path, "re") : NULL;
        if (file && fgets(text, sizeof(text), file) &&
            sscanf(text, "%*d (%63[^)]) %*c %d", name, &parent) == 2)
            count += parent == getpid() && strncmp(name, "atoll-worker-cu", 15) == 0;
        if (file)
            fclose(file);
    }
    if (dir)
        closedir(dir);
    return count;
}

static int device_open(struct opened *ret, const char *what)
{
    struct atoll_compiler *compiler;
    struct atoll_referee *referee;
    double begin_ns = atoll_clock_mono_ns();
    int rc = gpu_referee_open(&compiler, &referee);
    if (rc < 0)
        fail();
    if (rc == 0) {
        *ret = (struct opened){referee->info, referee->jitter_ns, (atoll_clock_mono_ns() - begin_ns) / 1e9,
                               device_processes(), atoll_cuda_device_of(referee)->generation};
        printf("%s: opened in %.3f s, bandwidth %.0f GB/s, f32 %.1f TFLOP/s\n", what, ret->seconds,
               ret->info.bandwidth_bytes_per_s / 1e9, ret->info.peak_flops[ATOLL_F32] / 1e12);
    }
    atoll_referee_destroy(referee);
    atoll_compiler_destroy(compiler);
    return rc;
}

static int is_same(const struct opened *a, const struct opened *b)
{
    return a->info.bandwidth_bytes_per_s == b->info.bandwidth_bytes_per_s && a->jitter_ns == b->jitter_ns &&
           a->info.empty_launch_ns == b->info.empty_launch_ns &&
           memcmp(a->info.peak_flops, b->info.peak_flops, sizeof(a->info.peak_flops)) == 0 &&
           memcmp(a->info.limits.tensor_flops, b->info.limits.tensor_flops,
                  sizeof(a->info.limits.tensor_flops)) == 0;
}

static void test_it_holds(void **state)
{
    struct opened first, second;
    if (device_open(&first, "cold, calibrated") != 0)
        skip();
    assert_int_equal(first.processes, 1);
    assert_int_equal(first.generation, 1);
    assert_int_equal(device_processes(), 0);
    if (device_open(&second, "kept") != 0)
        skip();
    assert_true(is_same(&first, &second));
    assert_int_equal(second.processes, 1);
    unsetenv(ATOLL_KEPT_CALIBRATION_VARIABLE);
    if (device_open(&second, "calibrated again") != 0)
        skip();
    assert_false(is_same(&first, &second));
}

/* A record that promises more than the device has, or less, is not believed. */
static void test_what_no_probe_agrees_with(void **state)
{
    static const double factors[] = {3, 0.8};
    struct opened first, again;
    if (device_open(&first, "calibrated") != 0)
        skip();
    for (size_t i = 0; i < sizeof(factors) / sizeof(*factors); i++) {
        struct atoll_device_info wrong = first.info;
        wrong.bandwidth_bytes_per_s *= factors[i];
        atoll_kept_calibration_write(&wrong, "", atoll_clock_unix_ns(), first.jitter_ns);
        if (device_open(&again, "not believed") != 0)
            skip();
        expect_close(again.info.bandwidth_bytes_per_s / first.info.bandwidth_bytes_per_s, 1, 0.1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_it_holds, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_what_no_probe_agrees_with, make_folder, remove_folder)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
