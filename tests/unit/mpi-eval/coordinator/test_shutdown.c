/* When a run ends before its search: how long orders take, and what is left of the time. */
#include "tests/support/expect.h"

#include <math.h>

#include "mpi-eval/coordinator/shutdown.h"

static void test_before_any_came_back(void **state)
{
    (void)state;
    struct atoll_shutdown d = {.round_trip_count = 0};
    assert_true(atoll_shutdown_longest_order_ns(&d) == ATOLL_SHUTDOWN_UNSEEN_ORDER_NS);
    assert_true(atoll_shutdown_closing_ns(&d) == ATOLL_SHUTDOWN_CLOSING_NS);
    assert_true(atoll_shutdown_has_room(&d, INFINITY));
    assert_true(atoll_shutdown_has_room(&d, ATOLL_SHUTDOWN_UNSEEN_ORDER_NS + ATOLL_SHUTDOWN_CLOSING_NS));
    assert_false(atoll_shutdown_has_room(&d, ATOLL_SHUTDOWN_UNSEEN_ORDER_NS + ATOLL_SHUTDOWN_CLOSING_NS - 1));
    assert_false(atoll_shutdown_has_room(&d, -1e9));
}

static void test_the_longest_of_lately(void **state)
{
    (void)state;
    struct atoll_shutdown d = {.round_trip_count = 0};
    atoll_shutdown_record_round_trip(&d, 30e9);
    assert_true(atoll_shutdown_longest_order_ns(&d) == 30e9);
    for (int i = 0; i < ATOLL_SHUTDOWN_WINDOW - 1; i++)
        atoll_shutdown_record_round_trip(&d, 1e9);
    assert_true(atoll_shutdown_longest_order_ns(&d) == 30e9);
    assert_false(atoll_shutdown_has_room(&d, 39e9));
    atoll_shutdown_record_round_trip(&d, 2e9); /* the long one is too long ago */
    assert_true(atoll_shutdown_longest_order_ns(&d) == 2e9);
    assert_true(atoll_shutdown_has_room(&d, 39e9));
}

static void test_a_long_archive(void **state)
{
    (void)state;
    struct atoll_shutdown d = {.archive_ns = 100e9};
    atoll_shutdown_record_round_trip(&d, 1e9);
    assert_true(atoll_shutdown_closing_ns(&d) == 100e9);
    assert_true(atoll_shutdown_has_room(&d, 101e9));
    assert_false(atoll_shutdown_has_room(&d, 100.9e9));
}

/* RUNNING -> DRAINING -> over, by a signal or by the time. */
static void test_draining(void **state)
{
    volatile sig_atomic_t interrupts = 0;
    struct atoll_shutdown s = {.interrupts = &interrupts, .drains_on_interrupt = 1};
    (void)state;
    assert_false(atoll_shutdown_start_draining(&s, 1e9, 3));
    interrupts = 1;
    assert_false(atoll_shutdown_ends_search(&s));
    assert_true(atoll_shutdown_start_draining(&s, 2e9, 3));
    assert_false(atoll_shutdown_start_draining(&s, 3e9, 3)); /* it has started */
    assert_false(atoll_shutdown_is_over(&s, 3e9, 3));
    assert_true(atoll_shutdown_is_over(&s, 3e9, 0));

    struct atoll_shutdown t = {.interrupts = &interrupts, .until_ns = 100e9};
    assert_true(atoll_shutdown_ends_search(&t));
    assert_false(atoll_shutdown_start_draining(&t, 60e9, 1));
    assert_true(atoll_shutdown_start_draining(&t, 60.1e9, 1));
    assert_false(atoll_shutdown_is_over(&t, 90e9, 1));
    assert_true(atoll_shutdown_is_over(&t, 90.1e9, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before_any_came_back),
        cmocka_unit_test(test_the_longest_of_lately),
        cmocka_unit_test(test_a_long_archive),
        cmocka_unit_test(test_draining),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
