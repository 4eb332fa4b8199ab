/* Words as Slurm's commands printed them and as its library says them. */
#include "tests/support/expect.h"

#include "scheduler/launcher/slurm/refusal.h"

static const struct {
    const char *words;
    enum atoll_code code;
    const char *part;
} cases[] = {
    {"sbatch: error: invalid partition specified: nope\n"
     "sbatch: error: Batch job submission failed: Invalid partition name specified\n",
     ATOLL_E_INPUT, "sbatch: invalid partition specified: nope"},
    {"Invalid partition name specified", ATOLL_E_INPUT, "--partition"},
    {"Invalid account or account/partition combination specified", ATOLL_E_INPUT, "--account"},
    {"Invalid qos specification", ATOLL_E_INPUT, "--qos"},
    {"sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission failed: Job violates "
     "accounting/QOS policy (job submit limit, user's size and/or time limits)\n",
     ATOLL_E_LIMIT, "as many jobs as the site allows"},
    {"sbatch: error: AssocMaxSubmitJobLimit\n", ATOLL_E_LIMIT, "submit again"},
    {"Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)", ATOLL_E_LIMIT,
     "sacctmgr show qos"},
    {"sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying.\n", ATOLL_E_LIMIT,
     "queue is full"},
    {"Resource temporarily unavailable", ATOLL_E_LIMIT, "queue is full"},
    {"sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)\n",
     ATOLL_E_TIMEOUT, "try again"},
    {"Socket timed out on send/recv operation", ATOLL_E_TIMEOUT, "try again"},
    {"Invalid job id specified", ATOLL_E_NOTFOUND, "queue forgets"},
    {"scancel: error: Kill job error on job id 4: Invalid job id specified\n", ATOLL_E_NOTFOUND,
     "queue forgets"},
    {"Job/step already completing or completed", ATOLL_E_INPUT, "has ended"},
    {"Job can not be altered now, try again later", ATOLL_E_BUSY, "between two states"},
    {"Access/permission denied", ATOLL_E_DENIED, "another user's"},
    {"User's group not permitted to use this partition", ATOLL_E_DENIED, "--partition"},
    {"Protocol authentication error", ATOLL_E_DENIED, "munge"},
    {"Incompatible versions of client and server code", ATOLL_E_MISSING, "module"},
    {"Requested time limit is invalid (missing or exceeds some limit)", ATOLL_E_INPUT, "less time"},
    {"Invalid generic resource (gres) specification", ATOLL_E_INPUT, "sinfo"},
    {"Node count specification invalid", ATOLL_E_INPUT, "sinfo"},
    {"Invalid job array specification", ATOLL_E_INPUT, "MaxArraySize"},
    {"Job dependency problem", ATOLL_E_INPUT, "ids"},
    {"words that nobody has heard", ATOLL_E_CHILD, "words that nobody has heard"},
    {"", ATOLL_E_CHILD, "without a word"},
};

static void test_words_have_codes_and_remedies(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;

        assert_int_equal(atoll_slurm_refuse("sbatch", cases[i].words, ATOLL_E_CHILD, &err), -1);
        expect_err(&err, cases[i].code, cases[i].part);
        assert_null(strstr(err.text, "sbatch: sbatch"));
    }
}

static void test_what_is_no_failure(void **state)
{
    assert_true(atoll_slurm_has_ended("Job/step already completing or completed"));
    assert_false(atoll_slurm_has_ended("Invalid job id specified"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_have_codes_and_remedies),
        cmocka_unit_test(test_what_is_no_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
