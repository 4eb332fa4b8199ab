#include "tests/support/expect.h"

#include <math.h>

#include "scheduler/campaign/campaign_plan.h"

static void test_sampling_by_budget(void **state)
{
    static const struct {
        const char *backend;
        double wall_s;
        size_t tasks;
        unsigned ranks;
        double seconds;
    } rows[] = {
        {"cpu", 120, 13, 1, 48.0 / 650},   /* the default run */
        {"cuda", 120, 13, 1, 0.1},         /* a sample takes longer there */
        {"cpu", 60, 13, 1, 0.06},          /* no less */
        {"cpu", 600, 13, 1, 240.0 / 650},  /* between */
        {"cuda", 3600, 13, 1, 0.4},        /* time enough */
        {"cpu", 120, 1, 1, 0.4},           /* one task */
        {"cuda", 120, 13, 4, 144.0 / 650}, /* three evaluators */
        {"cpu", 0, 13, 1, 0.4},            /* no limit */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double got =
            atoll_plan_sample_seconds(rows[i].backend, rows[i].wall_s * 1e9, rows[i].tasks, rows[i].ranks);
        if (fabs(got - rows[i].seconds) > 1e-9)
            fail_msg("row %zu: %g s", i, got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sampling_by_budget)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
