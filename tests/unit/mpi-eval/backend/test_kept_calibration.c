/* What a calibration found, kept for the next process: when it counts, and when it does not. */
#include "tests/support/expect.h"

#include <time.h>

#include "mpi-eval/backend/kept_calibration.h"
#include "tests/unit/archive-h5/scratch.h"

#define NOW_NS INT64_C(1700000000000000000)

static char folder[PATH_MAX];
static int64_t now_ns;

static int make_folder(void **state)
{
    now_ns = NOW_NS;
    scratch_make(folder);
    return setenv(ATOLL_KEPT_CALIBRATION_VARIABLE, folder, 1);
}

static int remove_folder(void **state)
{
    unsetenv(ATOLL_KEPT_CALIBRATION_VARIABLE);
    scratch_remove(folder);
    return 0;
}

static struct atoll_device_info bare_device(void)
{
    struct atoll_device_info info = {.backend = "cuda",
                                     .model = "a model",
                                     .uuid = "GPU-1",
                                     .node = "n1",
                                     .toolchain = "nvrtc 13",
                                     .isolation = "all of it",
                                     .threads = 2};
    snprintf(info.limits.driver, sizeof(info.limits.driver), "580");
    return info;
}

static struct atoll_device_info calibrated_device(void)
{
    struct atoll_device_info info = bare_device();
    info.bandwidth_bytes_per_s = 3.3e12;
    info.empty_launch_ns = 1500;
    info.clock_resolution_ns = 32;
    for (int i = 0; i < ATOLL_DTYPE_COUNT; i++)
        info.peak_flops[i] = 1e12 * i;
    for (int i = 0; i <= ATOLL_DTYPE_COUNT; i++)
        info.limits.tensor_flops[i] = 1e13 * i;
    return info;
}

static int reads(struct atoll_device_info info, const char *how)
{
    const struct atoll_device_info before = info, whole = calibrated_device();
    double jitter_ns = -1;
    if (!atoll_kept_calibration_read(&info, how, now_ns, &jitter_ns)) {
        assert_memory_equal(&info, &before, sizeof(info));
        assert_true(jitter_ns < 0);
        return 0;
    }
    assert_true(info.bandwidth_bytes_per_s == whole.bandwidth_bytes_per_s &&
                info.empty_launch_ns == whole.empty_launch_ns &&
                info.clock_resolution_ns == whole.clock_resolution_ns && jitter_ns == 7);
    assert_memory_equal(info.peak_flops, whole.peak_flops, sizeof(whole.peak_flops));
    assert_memory_equal(info.limits.tensor_flops, whole.limits.tensor_flops,
                        sizeof(whole.limits.tensor_flops));
    return 1;
}

static void keep(void)
{
    struct atoll_device_info info = calibrated_device();
    atoll_kept_calibration_write(&info, "-O2", now_ns, 7);
}

static void test_it_is_kept_for_its_device_alone(void **state)
{
    struct atoll_device_info other = bare_device();
    assert_false(reads(other, "-O2"));
    keep();
    assert_true(reads(other, "-O2"));
    assert_false(reads(other, "-O3"));
    snprintf(other.uuid, sizeof(other.uuid), "GPU-2");
    assert_false(reads(other, "-O2"));
    other = bare_device();
    snprintf(other.limits.driver, sizeof(other.limits.driver), "581");
    assert_false(reads(other, "-O2"));
    other = bare_device();
    snprintf(other.toolchain, sizeof(other.toolchain), "nvrtc 14");
    assert_false(reads(other, "-O2"));
    other = bare_device();
    other.threads = 1;
    assert_false(reads(other, "-O2"));
    keep();
    assert_true(reads(bare_device(), "-O2"));
}

static void test_nobody_asked_for_it(void **state)
{
    keep();
    unsetenv(ATOLL_KEPT_CALIBRATION_VARIABLE);
    assert_false(reads(bare_device(), "-O2"));
}

/* The one file of the folder. */
static char *file_path(char ret_path[PATH_MAX])
{
    char command[PATH_MAX];
    snprintf(command, sizeof(command), "ls -d %.3000s/*", folder);
    FILE *list = popen(command, "r");
    assert_non_null(list);
    assert_non_null(fgets(ret_path, PATH_MAX, list));
    ret_path[strcspn(ret_path, "\n")] = '\0';
    pclose(list);
    return ret_path;
}

/* No byte can be another one: the numbers are floors of the science. */
static void test_a_damaged_record_is_none(void **state)
{
    char path[PATH_MAX];
    size_t length;
    keep();
    char *whole = scratch_read(file_path(path), &length);
    for (size_t i = 0; i < length; i += 3) {
        whole[i] ^= 4;
        scratch_write(path, whole, length);
        assert_false(reads(bare_device(), "-O2"));
        whole[i] ^= 4;
    }
    scratch_write(path, whole, length - 1);
    assert_false(reads(bare_device(), "-O2"));
    scratch_write(path, "", 0);
    assert_false(reads(bare_device(), "-O2"));
    scratch_write(path, whole, length);
    assert_true(reads(bare_device(), "-O2"));
    free(whole);
}

static void test_a_folder_of_others_is_not_believed(void **state)
{
    keep();
    assert_int_equal(chmod(folder, 0770), 0);
    assert_false(reads(bare_device(), "-O2"));
    assert_int_equal(chmod(folder, 0700), 0);
    assert_true(reads(bare_device(), "-O2"));
}

/* It is whoever asked for it that makes the folder, and takes it away. */
static void test_the_folder_is_not_made(void **state)
{
    char path[PATH_MAX];
    setenv(ATOLL_KEPT_CALIBRATION_VARIABLE, scratch_join(path, folder, "none"), 1);
    keep();
    assert_false(reads(bare_device(), "-O2"));
    assert_int_not_equal(access(path, F_OK), 0);
}

static void test_it_counts_for_its_time(void **state)
{
    keep();
    now_ns = NOW_NS + (int64_t)(ATOLL_KEPT_CALIBRATION_S * 1e9);
    assert_true(reads(bare_device(), "-O2"));
    now_ns++;
    assert_false(reads(bare_device(), "-O2"));
    now_ns = NOW_NS - 1; /* of a clock that was set back */
    assert_false(reads(bare_device(), "-O2"));
}

static void test_old_ones_go(void **state)
{
    char old[PATH_MAX];
    now_ns = (int64_t)time(NULL) * 1000000000;
    keep();
    scratch_write(scratch_join(old, folder, "new-1"), "", 0);
    keep();
    assert_int_equal(access(old, F_OK), 0);
    now_ns += (int64_t)(2 * ATOLL_KEPT_CALIBRATION_S + 100) * 1000000000;
    keep();
    assert_int_not_equal(access(old, F_OK), 0);
}

static void test_what_a_probe_may_say(void **state)
{
    assert_true(atoll_kept_calibration_agrees(100, 100));
    assert_true(atoll_kept_calibration_agrees(100, 102));
    assert_true(atoll_kept_calibration_agrees(100, 70));
    assert_false(atoll_kept_calibration_agrees(100, 104));
    assert_false(atoll_kept_calibration_agrees(100, 50));
    assert_false(atoll_kept_calibration_agrees(100, 0));
    assert_false(atoll_kept_calibration_agrees(0, 1));
    assert_false(atoll_kept_calibration_agrees(100, 0.0 / 0.0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_it_is_kept_for_its_device_alone, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_nobody_asked_for_it, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_a_damaged_record_is_none, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_a_folder_of_others_is_not_believed, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_the_folder_is_not_made, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_it_counts_for_its_time, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_old_ones_go, make_folder, remove_folder),
        cmocka_unit_test(test_what_a_probe_may_say)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
