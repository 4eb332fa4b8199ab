#include "tests/support/expect.h"

#include <string.h>

#include "scheduler/cli/local_run.h"

static void test_what_fits(void **state)
{
    static const struct {
        unsigned cores;
        long long ranks, threads;
        const char *says; /* NULL: it fits */
    } rows[] = {
        {2, 1, 0, NULL},
        {2, 3, 0, NULL},
        {2, 3, 1, NULL},
        {2, 1, 2, NULL},
        {1, 1, 1, NULL},
        {64, 9, 8, NULL},
        {2, 4, 0, "--ranks 4 has 3 evaluators and this machine 2 cores"},
        {2, 99, 0, "take --ranks 3 or fewer"},
        {1, 4096, 0, "this machine 1 core: an evaluator needs one of its own; take --ranks 1"},
        {2, 1, 999, "--threads 999 is more than the 2 cores that this machine has; take --threads 2"},
        {2, 3, 2, "--threads 2 is more than the 1 core that each evaluator has on this machine"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        int status = atoll_local_run_check(rows[i].cores, rows[i].ranks, rows[i].threads, &err);
        if ((status != 0) != (rows[i].says != NULL) || (rows[i].says && !strstr(err.text, rows[i].says)))
            fail_msg("row %zu: %s", i, err.text);
        if (rows[i].says)
            assert_int_equal(err.code, ATOLL_E_LIMIT);
    }
    assert_true(atoll_local_run_cores() >= 1);
}

/* A campaign that was made on a larger machine. */
static void test_what_can_go_on(void **state)
{
    static const struct {
        unsigned cores;
        long long ranks, threads;
        const char *says; /* NULL: it goes on */
    } rows[] = {
        {2, 3, 0, NULL},
        {8, 5, 2, NULL},
        {2, 9, 0, "c was made with --ranks 9, and its 8 evaluators need 8 cores; this machine has 2"},
        {2, 9, 0, "atoll resume c --ranks 3 goes on with fewer evaluators"},
        {1, 9, 0, "atoll resume c --ranks 1 "},
        {8, 9, 2, "its 8 evaluators need 16 cores; this machine has 8: atoll resume c --ranks 5 "},
        {4, 1, 16, "run on 16 threads each, and this machine has 4 cores"},
        {4, 1, 16, "resume it where there are 16 cores"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        int status = atoll_local_resume_check("c", rows[i].cores, rows[i].ranks, rows[i].threads, &err);
        if ((status != 0) != (rows[i].says != NULL) || (rows[i].says && !strstr(err.text, rows[i].says)))
            fail_msg("row %zu: %s", i, err.text);
        if (rows[i].says)
            assert_int_equal(err.code, ATOLL_E_LIMIT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_fits),
                                       cmocka_unit_test(test_what_can_go_on)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
