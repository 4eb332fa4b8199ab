#include "tests/support/expect.h"

#include "base/process.h"
#include "scheduler/launcher/slurm/state.h"

static const struct {
    const char *word, *reason;
    unsigned restarts;
    enum atoll_job_state state;
} cases[] = {
    {"PENDING", "Priority", 0, ATOLL_JOB_PENDING},
    {"PENDING", "JobHeldUser", 0, ATOLL_JOB_HELD},
    {"PENDING", "JobHeldAdmin", 2, ATOLL_JOB_HELD},
    {"PENDING", "launch failed requeued held", 1, ATOLL_JOB_HELD},
    {"PENDING", "BeginTime", 1, ATOLL_JOB_REQUEUED},
    {"REQUEUED", "", 0, ATOLL_JOB_REQUEUED},
    {"REQUEUE_HOLD", "", 1, ATOLL_JOB_HELD},
    {"SPECIAL_EXIT", "", 1, ATOLL_JOB_HELD},
    {"CONFIGURING", "", 0, ATOLL_JOB_RUNNING},
    {"RUNNING", "", 3, ATOLL_JOB_RUNNING},
    {"SUSPENDED", "", 0, ATOLL_JOB_SUSPENDED},
    {"STOPPED", "", 0, ATOLL_JOB_SUSPENDED},
    {"COMPLETING", "", 0, ATOLL_JOB_COMPLETING},
    {"COMPLETED", "", 1, ATOLL_JOB_COMPLETED},
    {"CANCELLED", "", 0, ATOLL_JOB_CANCELLED},
    {"FAILED", "NonZeroExitCode", 0, ATOLL_JOB_FAILED},
    {"TIMEOUT", "TimeLimit", 0, ATOLL_JOB_TIMEOUT},
    {"DEADLINE", "", 0, ATOLL_JOB_TIMEOUT},
    {"NODE_FAIL", "", 0, ATOLL_JOB_NODE_FAIL},
    {"BOOT_FAIL", "", 0, ATOLL_JOB_NODE_FAIL},
    {"PREEMPTED", "", 0, ATOLL_JOB_PREEMPTED},
    {"OUT_OF_MEMORY", "", 0, ATOLL_JOB_OUT_OF_MEMORY},
    {"SOMETHING_NEW", "", 0, ATOLL_JOB_UNKNOWN},
    {"", "", 0, ATOLL_JOB_UNKNOWN},
};

static void test_words_of_slurm(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(atoll_slurm_state(cases[i].word, cases[i].reason, cases[i].restarts),
                         cases[i].state);
    }
}

static void test_exit_status_is_what_wait_gave(void **state)
{
    assert_int_equal(atoll_slurm_exit_status(0), 0);
    assert_int_equal(atoll_slurm_exit_status(3 << 8), 3);
    assert_int_equal(atoll_slurm_exit_status(9), 128 + 9);
    assert_int_equal(atoll_slurm_exit_status(15), 128 + 15);
}

static void test_names_and_ends(void **state)
{
    assert_string_equal(atoll_job_state_name(ATOLL_JOB_UNKNOWN), "unknown");
    assert_string_equal(atoll_job_state_name(ATOLL_JOB_NODE_FAIL), "node-fail");
    assert_string_equal(atoll_job_state_name(ATOLL_JOB_STATE_COUNT), "unknown");
    for (int i = 0; i < ATOLL_JOB_STATE_COUNT; i++) {
        assert_non_null(atoll_job_state_name((enum atoll_job_state)i));
        assert_int_equal(atoll_job_has_ended((enum atoll_job_state)i), i >= ATOLL_JOB_COMPLETED);
    }
    assert_false(atoll_job_has_ended(ATOLL_JOB_STATE_COUNT));
}

static void test_signals_by_name(void **state)
{
    assert_int_equal(atoll_signal_number("TERM"), 15);
    assert_int_equal(atoll_signal_number("SIGUSR2"), 12);
    assert_int_equal(atoll_signal_number("10"), 10);
    assert_int_equal(atoll_signal_number("0"), -1);
    assert_int_equal(atoll_signal_number("65"), -1);
    assert_int_equal(atoll_signal_number("9x"), -1);
    assert_int_equal(atoll_signal_number("SIG"), -1);
    assert_int_equal(atoll_signal_number(""), -1);
    assert_int_equal(atoll_signal_number(NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_of_slurm),
        cmocka_unit_test(test_exit_status_is_what_wait_gave),
        cmocka_unit_test(test_names_and_ends),
        cmocka_unit_test(test_signals_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
