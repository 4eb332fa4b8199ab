#include "tests/support/expect.h"

#include <string.h>

#include "mpi-eval/referee/input_set.h"

static const uint8_t secret[32] = {1}, other_secret[32] = {2};

static struct atoll_task make_task(void)
{
    struct atoll_task t;
    memset(&t, 0, sizeof(t));
    t.id.bytes[0] = 7;
    t.distributions = ATOLL_DRAW_BASE | ATOLL_DRAW_TIES | ATOLL_DRAW_SIGNED;
    return t;
}

static void test_seeds_differ(void **state)
{
    struct atoll_task t = make_task(), u = make_task();
    u.id.bytes[5] = 1;
    struct atoll_input_set d = atoll_input_set_make(secret, &t, 1, 0, 3);
    (void)state;
    assert_true(d.seed == atoll_input_set_make(secret, &t, 1, 0, 3).seed);
    const uint64_t others[] = {
        atoll_input_set_make(secret, &t, 1, 0, 4).seed, atoll_input_set_make(secret, &t, 2, 0, 3).seed,
        atoll_input_set_make(secret, &t, 1, 1, 3).seed, atoll_input_set_make(secret, &u, 1, 0, 3).seed,
        atoll_input_set_make(other_secret, &t, 1, 0, 3).seed};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        assert_true(d.seed != others[i]);
    assert_true(atoll_input_set_series(0) != 0);
    assert_true(atoll_input_set_series(5) != atoll_input_set_series(6));
}

static void test_distributions(void **state)
{
    static const unsigned wanted[] = {ATOLL_DRAW_BASE, ATOLL_DRAW_TIES, ATOLL_DRAW_SIGNED, ATOLL_DRAW_BASE};
    struct atoll_task t = make_task();
    (void)state;
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(atoll_input_set_nth_distribution(&t, i), wanted[i]);
    for (uint64_t k = 0; k < 100; k++)
        assert_true(atoll_input_set_make(secret, &t, 0, 5, k).distribution & t.distributions);
}

/* The same share of each in every pool; fresh input sets as their seeds say. */
static void test_a_pool_has_equal_shares(void **state)
{
    struct atoll_task t = make_task(), alone = make_task();
    unsigned fresh = 0;
    (void)state;
    for (uint64_t k = 0; k < 100; k++) {
        const unsigned wanted[] = {ATOLL_DRAW_BASE, ATOLL_DRAW_TIES, ATOLL_DRAW_SIGNED};
        assert_int_equal(atoll_input_set_make(secret, &t, 0, 0, k).distribution, wanted[k % 3]);
        assert_int_equal(atoll_input_set_make(other_secret, &t, 1, 0, k).distribution, wanted[k % 3]);
        fresh += atoll_input_set_make(secret, &t, 0, 5, k).distribution == wanted[k % 3];
    }
    assert_in_range(fresh, 15, 55);
    alone.distributions = ATOLL_DRAW_TIES; /* the plain one only where it is named */
    assert_int_equal(atoll_input_set_make(secret, &alone, 0, 0, 4).distribution, ATOLL_DRAW_TIES);
    alone.distributions = 0;
    assert_int_equal(atoll_input_set_make(secret, &alone, 0, 0, 4).distribution, ATOLL_DRAW_BASE);
}

/* Every number once, then on past the pool; another candidate gets another order. */
static void test_order(void **state)
{
    static struct atoll_input_set_order a, b;
    unsigned char seen[40] = {0};
    int same = 0;
    (void)state;
    atoll_input_set_order_init(&a, secret, 1, 0, 32, NULL, 0, 0, 0);
    atoll_input_set_order_init(&b, secret, 2, 0, 32, NULL, 0, 0, 0);
    for (int i = 0; i < 40; i++) {
        long n = atoll_input_set_order_next(&a);
        assert_in_range(n, 0, 39);
        assert_int_equal(seen[n]++, 0);
        same += n == atoll_input_set_order_next(&b);
    }
    assert_in_range(same, 8, 20); /* the eight that grow the pool, and chance */
}

static void test_kept_first(void **state)
{
    static const uint16_t kept[] = {3, 9, 11, 12, 15};
    static struct atoll_input_set_order o;
    (void)state;
    for (uint64_t e = 0; e < 200; e++) {
        size_t in_head = 0;
        atoll_input_set_order_init(&o, secret, e, 0, 16, kept, 5, 5, 7);
        for (int i = 0; i < 7; i++) {
            long n = atoll_input_set_order_next(&o);
            for (size_t k = 0; k < 5; k++)
                in_head += n == kept[k] ? 1 : 0;
        }
        assert_int_equal(in_head, 5);
    }
}

static void test_limit(void **state)
{
    static struct atoll_input_set_order o;
    (void)state;
    atoll_input_set_order_init(&o, secret, 1, 0, ATOLL_INPUT_SET_POOL_LIMIT + 5, NULL, 0, 0, 0);
    for (int i = 0; i < ATOLL_INPUT_SET_POOL_LIMIT; i++)
        assert_true(atoll_input_set_order_next(&o) >= 0);
    assert_int_equal(atoll_input_set_order_next(&o), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_seeds_differ),
                                       cmocka_unit_test(test_distributions),
                                       cmocka_unit_test(test_a_pool_has_equal_shares),
                                       cmocka_unit_test(test_order),
                                       cmocka_unit_test(test_kept_first),
                                       cmocka_unit_test(test_limit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
