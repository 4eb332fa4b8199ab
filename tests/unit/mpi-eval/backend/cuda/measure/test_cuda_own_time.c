/* test_cuda_own_time.c - how long a device is waited for beside its candidate. */
#include "tests/support/expect.h"

#include <math.h>

#include "mpi-eval/backend/cuda/measure/own_time.h"

#define GB ((uint64_t)1000000000)

/* All of it as long as little is known; then ten times the worst, within bounds. */
static void test_limit(void **state)
{
    static const struct {
        const char *what;
        unsigned count; /* batches of the first kind, then one of the second */
        double ns, one_ns;
        uint64_t bytes, one_bytes, next_bytes;
        double limit_ns;
    } rows[] = {
        {"nothing is known", 0, 0, 2e6, 0, 0, 0, 0.5e9},
        {"too little", 62, 2e6, 2e6, 0, 0, 0, 0.5e9},
        {"short ones", 63, 2e6, 2e6, 0, 0, 0, 0.3e9},
        {"short ones, and large tensors", 63, 2e6, 2e6, 0, 0, 12 * GB, 0.66e9},
        {"large ones are short for what they are", 63, 7e6, 7e6, 12 * GB, 12 * GB, 0, 0.3e9},
        {"the host stumbled once", 200, 2e6, 40e6, 0, 0, 0, 0.4e9},
        {"and with large tensors", 200, 2e6, 40e6, 0, 0, 10 * GB, 0.8e9},
        {"it stumbles badly", 200, 2e6, 60e6, 0, 0, 0, 0.5e9},
        {"longer than it may", 200, 2e6, 9e9, 0, 0, 0, 0.5e9},
        {"no number", 200, 2e6, NAN, 0, 0, 0, 0.5e9},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_own_time own = {0};
        for (unsigned k = 0; k < rows[i].count; k++)
            atoll_own_time_add(&own, rows[i].ns, rows[i].bytes);
        atoll_own_time_add(&own, rows[i].one_ns, rows[i].one_bytes);
        double limit_ns = atoll_own_time_limit_ns(&own, rows[i].next_bytes);
        if (!(fabs(limit_ns - rows[i].limit_ns) < 1))
            fail_msg("%s: %.0f ns", rows[i].what, limit_ns);
    }
}

/* A stumble is not forgotten by what comes after it. */
static void test_worst_stays(void **state)
{
    struct atoll_own_time own = {0};
    atoll_own_time_add(&own, 40e6, 0);
    for (unsigned k = 0; k < 1000; k++)
        atoll_own_time_add(&own, 1e6, 0);
    expect_close(atoll_own_time_limit_ns(&own, 0), 0.4e9, 1e-12);
    expect_close(atoll_own_time_limit_ns(NULL, 0), 0.5e9, 1e-12); /* one that is not like those */
}

/* Sooner where no time is taken, later for large tensors. */
static void test_silence(void **state)
{
    (void)state;
    expect_close(atoll_own_time_silence_ns(1, 0), 100e6, 1e-12);
    expect_close(atoll_own_time_silence_ns(0, 0), 30e6, 1e-12);
    expect_close(atoll_own_time_silence_ns(1, 12 * GB), 112e6, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_limit), cmocka_unit_test(test_worst_stays),
                                       cmocka_unit_test(test_silence)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
