/* The folder of a job's calibrations: who makes it, and what happens to it when nobody removes it. */
#include "tests/support/expect.h"

#include <fcntl.h>
#include <time.h>

#include "mpi-eval/backend/kept_calibration.h"
#include "scheduler/job/calibration_folder.h"
#include "tests/unit/archive-h5/scratch.h"

static char campaign[PATH_MAX];

static int make_folder(void **state)
{
    scratch_make(campaign);
    return 0;
}

static int remove_folder(void **state)
{
    scratch_remove(campaign);
    return 0;
}

static char *make(const char *job, char ret_path[PATH_MAX])
{
    char file[PATH_MAX];
    atoll_calibration_folder_make(campaign, job, ret_path, PATH_MAX);
    assert_string_not_equal(ret_path, "");
    scratch_write(scratch_join(file, ret_path, "record"), "x", 1);
    return ret_path;
}

static int is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

static void test_a_run_believes_in_it(void **state)
{
    char path[PATH_MAX];
    struct atoll_device_info info = {.node = "n1", .bandwidth_bytes_per_s = 1e9};
    double jitter_ns = 0;
    int64_t now_ns = (int64_t)time(NULL) * 1000000000;
    setenv(ATOLL_KEPT_CALIBRATION_VARIABLE, make("7", path), 1);
    atoll_kept_calibration_write(&info, "", now_ns, 1);
    info.bandwidth_bytes_per_s = 0;
    assert_true(atoll_kept_calibration_read(&info, "", now_ns, &jitter_ns));
    assert_true(info.bandwidth_bytes_per_s == 1e9);
    atoll_calibration_folder_remove(path);
    assert_false(atoll_kept_calibration_read(&info, "", now_ns, &jitter_ns));
    unsetenv(ATOLL_KEPT_CALIBRATION_VARIABLE);
    assert_false(is_there(path));
}

static void test_a_job_that_is_started_again_has_it_still(void **state)
{
    char path[PATH_MAX], file[PATH_MAX];
    make("7", path);
    atoll_calibration_folder_make(campaign, "7", path, sizeof(path));
    assert_true(is_there(scratch_join(file, path, "record")));
}

/* One that lives keeps what counts; of a killed one nothing does in the end. */
static void test_what_counts_no_more_goes_with_the_next_job(void **state)
{
    char old[PATH_MAX], young[PATH_MAX], next[PATH_MAX];
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                {.tv_sec = time(NULL) - (time_t)ATOLL_KEPT_CALIBRATION_S - 10}};
    make("1", old);
    make("2", young);
    assert_int_equal(utimensat(AT_FDCWD, old, times, 0), 0);
    times[1].tv_sec += 60;
    assert_int_equal(utimensat(AT_FDCWD, young, times, 0), 0);
    make("3", next);
    assert_false(is_there(old));
    assert_true(is_there(young) && is_there(next));
    atoll_calibration_folder_remove_all(campaign);
    assert_false(is_there(young) || is_there(next));
}

static void test_a_campaign_that_cannot_be_written_has_none(void **state)
{
    char path[PATH_MAX], file[PATH_MAX];
    scratch_write(scratch_join(file, campaign, "file"), "", 0);
    atoll_calibration_folder_make(file, "7", path, sizeof(path));
    assert_string_equal(path, "");
    atoll_calibration_folder_remove(path);
    atoll_calibration_folder_remove_all(file);
    assert_true(is_there(file));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_run_believes_in_it, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_a_job_that_is_started_again_has_it_still, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(test_what_counts_no_more_goes_with_the_next_job, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(test_a_campaign_that_cannot_be_written_has_none, make_folder,
                                        remove_folder)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
