#include "tests/support/expect.h"

#include <stdlib.h>

#include "scheduler/launcher/slurm/environment.h"

static int has(const struct atoll_slurm_environment *environment, const char *item)
{
    for (size_t i = 0; i < environment->count; i++)
        if (strcmp(environment->items[i], item) == 0)
            return 1;
    return 0;
}

/* A job that submits its successor. */
static int set_up(void **state)
{
    setenv("SLURM_JOB_ID", "12", 1);
    setenv("SLURM_MEM_PER_CPU", "100", 1);
    setenv("SLURMD_NODENAME", "n1", 1);
    setenv("PMIX_RANK", "0", 1);
    setenv("SLURM_CONF", "/c", 1);
    setenv("SBATCH_PARTITION", "site", 1);
    setenv("SBATCH_ACCOUNT", "mine", 1);
    setenv("SQUEUE_FORMAT", "%i", 1);
    setenv("SLURM_TIME_FORMAT", "relative", 1);
    setenv("PLAIN", "kept", 1);
    return 0;
}

static void test_nothing_of_another_job_is_passed_on(void **state)
{
    const struct atoll_job_request request = {.partition = "gpu"};
    struct atoll_slurm_environment environment;
    struct atoll_err err = ATOLL_ERR_INIT;

    assert_int_equal(atoll_slurm_environment_create(&request, &environment, &err), 0);
    assert_int_equal(atoll_slurm_environment_add(&environment, &err, "N=%d", 3), 0);
    assert_null(environment.items[environment.count]);
    assert_true(has(&environment, "PLAIN=kept"));
    assert_true(has(&environment, "SLURM_CONF=/c"));
    assert_true(has(&environment, "SBATCH_ACCOUNT=mine"));
    assert_true(has(&environment, "N=3"));
    assert_false(has(&environment, "SBATCH_PARTITION=site")); /* the request says another one */
    assert_false(has(&environment, "SLURM_JOB_ID=12"));
    assert_false(has(&environment, "SLURM_MEM_PER_CPU=100"));
    assert_false(has(&environment, "SLURMD_NODENAME=n1"));
    assert_false(has(&environment, "PMIX_RANK=0"));
    atoll_slurm_environment_destroy(&environment);
}

static void test_questions_are_asked_plainly(void **state)
{
    struct atoll_slurm_environment environment;
    struct atoll_err err = ATOLL_ERR_INIT;

    assert_int_equal(atoll_slurm_environment_ask(&environment, &err), 0);
    assert_true(has(&environment, "SLURM_TIME_FORMAT=%s"));
    assert_true(has(&environment, "SLURM_BITSTR_LEN=0"));
    assert_true(has(&environment, "SLURM_CONF=/c"));
    assert_false(has(&environment, "SLURM_TIME_FORMAT=relative"));
    assert_false(has(&environment, "SQUEUE_FORMAT=%i"));
    atoll_slurm_environment_destroy(&environment);
}

static void test_what_is_open_comes_from_the_site(void **state)
{
    struct atoll_job_request request = {.partition = "gpu", .account = ""};

    atoll_slurm_request_complete(&request);
    assert_string_equal(request.partition, "gpu");
    assert_string_equal(request.account, "mine");
    assert_null(request.qos);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_of_another_job_is_passed_on),
        cmocka_unit_test(test_questions_are_asked_plainly),
        cmocka_unit_test(test_what_is_open_comes_from_the_site),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
