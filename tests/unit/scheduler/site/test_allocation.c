#include "tests/support/expect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "scheduler/site/allocation.h"

static const char *const names[] = {"SLURM_JOB_ID",        "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID",
                                    "SLURM_RESTART_COUNT", "SLURM_JOB_NODELIST", "SLURM_JOB_NUM_NODES",
                                    "SLURM_JOB_END_TIME",  "ATOLL_JOB_ID",       "ATOLL_RESTART_COUNT",
                                    "ATOLL_JOB_END_TIME",  "PBS_JOBID",          "PBS_NODEFILE"};

static int clear(void **state)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        unsetenv(names[i]);
    return 0;
}

static struct atoll_allocation found(void)
{
    struct atoll_allocation a;
    atoll_allocation_find(NULL, &a);
    return a;
}

static void test_outside_of_a_job(void **state)
{
    struct atoll_allocation a = found();
    assert_string_equal(a.job, "local");
    assert_string_equal(a.nodes, "");
    assert_true(!a.is_job && a.node_count == 1 && a.restarts == 0);
    assert_true(isinf(atoll_allocation_remaining_s(&a)));
}

static void test_what_slurm_says(void **state)
{
    char end[32];
    snprintf(end, sizeof(end), "%lld", (long long)time(NULL) + 500);
    setenv("SLURM_JOB_ID", "77", 1);
    setenv("SLURM_JOB_NODELIST", "n[1-4]", 1);
    setenv("SLURM_JOB_NUM_NODES", "4", 1);
    setenv("SLURM_RESTART_COUNT", "2", 1);
    setenv("SLURM_JOB_END_TIME", end, 1);
    setenv("ATOLL_JOB_ID", "9", 1); /* a local job inside of the allocation is not this one */
    struct atoll_allocation a = found();
    assert_string_equal(a.job, "77");
    assert_string_equal(a.nodes, "n[1-4]");
    assert_true(a.is_job && a.node_count == 4 && a.restarts == 2);
    assert_true(atoll_allocation_remaining_s(&a) > 300 && atoll_allocation_remaining_s(&a) < 502);
    setenv("SLURM_ARRAY_JOB_ID", "70", 1);
    setenv("SLURM_ARRAY_TASK_ID", "7", 1);
    a = found();
    assert_string_equal(a.job, "70_7");
}

static void test_values_that_are_none(void **state)
{
    static const char *const bad[] = {"", "x", "4x", " ", "-"};
    setenv("SLURM_JOB_ID", "77", 1);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        setenv("SLURM_JOB_NUM_NODES", bad[i], 1);
        setenv("SLURM_RESTART_COUNT", bad[i], 1);
        setenv("SLURM_JOB_END_TIME", bad[i], 1);
        struct atoll_allocation a = found();
        assert_true(a.node_count == 1 && a.restarts == 0);
        assert_true(isinf(atoll_allocation_remaining_s(&a)));
    }
    setenv("SLURM_JOB_NUM_NODES", "0", 1);
    assert_int_equal(found().node_count, 1);
    setenv("SLURM_JOB_END_TIME", "1", 1); /* long ago */
    struct atoll_allocation a = found();
    assert_true(atoll_allocation_remaining_s(&a) < 0);
}

static void test_a_long_list_of_nodes_is_whole(void **state)
{
    size_t bytes = 16384 * 7 + 16, length = 0;
    char *list = malloc(bytes);
    length += (size_t)snprintf(list, bytes, "nid[");
    for (int i = 0; i < 16000; i++)
        length += (size_t)snprintf(list + length, bytes - length, "%s%06d", i ? "," : "", 2 * i);
    snprintf(list + length, bytes - length, "]");
    setenv("SLURM_JOB_ID", "77", 1);
    setenv("SLURM_JOB_NODELIST", list, 1);
    struct atoll_allocation a = found();
    assert_string_equal(a.nodes, list);
    free(list);
}

static void test_what_the_local_launcher_and_pbs_say(void **state)
{
    setenv("ATOLL_JOB_ID", "3_1", 1);
    setenv("ATOLL_RESTART_COUNT", "1", 1);
    struct atoll_allocation a = found();
    assert_string_equal(a.job, "3_1");
    assert_true(a.is_job && a.restarts == 1 && a.node_count == 1);
    clear(state);
    char path[] = "/tmp/atoll-nodefile-XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    fputs("a\na\nb\n", file);
    fclose(file);
    setenv("PBS_JOBID", "12.server", 1);
    setenv("PBS_NODEFILE", path, 1);
    a = found();
    unlink(path);
    assert_string_equal(a.job, "12.server");
    assert_string_equal(a.nodes, "a,b");
    assert_int_equal(a.node_count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_outside_of_a_job, clear),
        cmocka_unit_test_setup(test_what_slurm_says, clear),
        cmocka_unit_test_setup(test_values_that_are_none, clear),
        cmocka_unit_test_setup(test_a_long_list_of_nodes_is_whole, clear),
        cmocka_unit_test_setup(test_what_the_local_launcher_and_pbs_say, clear)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
