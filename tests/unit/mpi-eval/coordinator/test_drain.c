/* How long orders take and what is left of the time. */
#include "tests/support/expect.h"

#include <math.h>

#include "mpi-eval/coordinator/drain.h"

static void test_before_any_came_back(void **state)
{
    (void)state;
    struct atoll_drain d = {.count = 0};
    assert_true(atoll_drain_order_ns(&d) == ATOLL_DRAIN_UNSEEN_NS);
    assert_true(atoll_drain_shutdown_ns(&d) == ATOLL_DRAIN_SHUTDOWN_NS);
    assert_true(atoll_drain_has_room(&d, INFINITY));
    assert_true(atoll_drain_has_room(&d, ATOLL_DRAIN_UNSEEN_NS + ATOLL_DRAIN_SHUTDOWN_NS));
    assert_false(atoll_drain_has_room(&d, ATOLL_DRAIN_UNSEEN_NS + ATOLL_DRAIN_SHUTDOWN_NS - 1));
    assert_false(atoll_drain_has_room(&d, -1e9));
}

static void test_the_longest_of_lately(void **state)
{
    (void)state;
    struct atoll_drain d = {.count = 0};
    atoll_drain_note(&d, 30e9);
    assert_true(atoll_drain_order_ns(&d) == 30e9);
    for (int i = 0; i < ATOLL_DRAIN_WINDOW - 1; i++)
        atoll_drain_note(&d, 1e9);
    assert_true(atoll_drain_order_ns(&d) == 30e9);
    assert_false(atoll_drain_has_room(&d, 39e9));
    atoll_drain_note(&d, 2e9); /* the long one is too long ago */
    assert_true(atoll_drain_order_ns(&d) == 2e9);
    assert_true(atoll_drain_has_room(&d, 39e9));
}

static void test_a_long_seal(void **state)
{
    (void)state;
    struct atoll_drain d = {.seal_ns = 100e9};
    atoll_drain_note(&d, 1e9);
    assert_true(atoll_drain_shutdown_ns(&d) == 100e9);
    assert_true(atoll_drain_has_room(&d, 101e9));
    assert_false(atoll_drain_has_room(&d, 100.9e9));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before_any_came_back),
        cmocka_unit_test(test_the_longest_of_lately),
        cmocka_unit_test(test_a_long_seal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
