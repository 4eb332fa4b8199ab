/* test_cuda_calm.c - how long is waited after memory was given back.  The waits are those of an H200 behind an answer of
 * PyTorch: a few probes that take a tenth longer, then as ever. */
#include "tests/support/expect.h"

#include <math.h>

#include "mpi-eval/backend/cuda/measure/calm.h"

#define GB ((uint64_t)1 << 30)

/* Probes of a wait that takes a millisecond each: so many of slow_ns, the rest of calm_ns; how many were made. */
static unsigned wait_through(struct atoll_calm *c, unsigned slow, double slow_ns, double calm_ns)
{
    unsigned count = 0;
    while (count < 1000 && atoll_calm_waits(c, count < slow ? slow_ns : calm_ns, count * 1e6))
        count++;
    return count + 1;
}

static void test_stir(void **state)
{
    struct atoll_calm c = {0};
    (void)state;
    atoll_calm_stir(&c, GB / 64);
    assert_false(c.is_stirred);
    atoll_calm_stir(&c, 13 * GB);
    atoll_calm_stir(&c, 0);
    assert_true(c.is_stirred);
    wait_through(&c, 0, 0, 55e3);
    assert_false(c.is_stirred);
}

/* The first wait begins amid clearing, and still learns what is usual. */
static void test_first(void **state)
{
    struct atoll_calm c = {0};
    (void)state;
    assert_int_equal(wait_through(&c, 30, 62e3, 55e3), 101);
    expect_close(c.usual_ns, 55e3, 1e-12);
}

/* Later ones take as long as clearing does. */
static void test_later(void **state)
{
    struct atoll_calm c = {0};
    (void)state;
    wait_through(&c, 30, 62e3, 55e3);
    assert_int_equal(wait_through(&c, 0, 0, 55e3), 1);
    assert_int_equal(wait_through(&c, 25, 61e3, 56e3), 26);
    assert_int_equal(wait_through(&c, 3, 62e3, 54e3), 4);
    expect_close(c.usual_ns, 54e3, 1e-12);
}

/* A device that has become slower for good is waited for once. */
static void test_slower(void **state)
{
    struct atoll_calm c = {0};
    (void)state;
    wait_through(&c, 0, 0, 55e3);
    assert_int_equal(wait_through(&c, 1000, 70e3, 0), 501);
    assert_int_equal(wait_through(&c, 1000, 70e3, 0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stir),
        cmocka_unit_test(test_first),
        cmocka_unit_test(test_later),
        cmocka_unit_test(test_slower),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
