#include "tests/support/expect.h"

#include <math.h>

#include "llm-gateway/broker/endpoint_limits.h"

#define S 1e9

static void expect_taken(struct atoll_bucket *b, double amount, double now_s)
{
    double when = -1;
    if (!atoll_bucket_take(b, amount, now_s * S, &when))
        fail_msg("%g at %g s: not before %g s", amount, now_s, when / S);
    expect_close(when, -1, 0);
}

static void expect_wait(struct atoll_bucket *b, double amount, double now_s, double when_s)
{
    double when = -1;
    if (atoll_bucket_take(b, amount, now_s * S, &when))
        fail_msg("%g at %g s: taken", amount, now_s);
    expect_close(when, when_s * S, 1e-6);
}

static void test_without_a_limit_all_is_admitted(void **state)
{
    struct atoll_bucket b;
    atoll_bucket_init(&b, 0, 0);
    for (int i = 0; i < 1000; i++)
        expect_taken(&b, 1e9, 0);
    atoll_bucket_return(&b, 5);
    atoll_bucket_init(&b, -1, 0);
    expect_taken(&b, 1e9, 0);
}

static void test_takes_and_fills(void **state)
{
    struct atoll_bucket b;
    atoll_bucket_init(&b, 60, 0);
    for (int i = 0; i < 60; i++)
        expect_taken(&b, 1, 0);
    expect_wait(&b, 1, 0, 1);
    expect_wait(&b, 10, 0, 10);
    expect_taken(&b, 1, 1); /* exactly then */
    expect_wait(&b, 1, 1.5, 2);
    expect_taken(&b, 60, 1000); /* and never more than its size */
    expect_wait(&b, 1, 1000, 1001);
    expect_wait(&b, 1, 900, 901); /* a clock that goes back fills nothing */
}

static void test_an_amount_larger_than_the_bucket(void **state)
{
    struct atoll_bucket b;
    atoll_bucket_init(&b, 600, 0);
    expect_taken(&b, 10, 0);
    expect_wait(&b, 3000, 0, 1); /* when it is full */
    expect_taken(&b, 3000, 1);
    expect_wait(&b, 1, 1, 1 + 240.1); /* the rest is paid back */
}

static void test_what_was_not_used_comes_back(void **state)
{
    struct atoll_bucket b;
    atoll_bucket_init(&b, 600, 0);
    expect_taken(&b, 600, 0);
    atoll_bucket_return(&b, 500);
    expect_taken(&b, 500, 0);
    atoll_bucket_return(&b, -100); /* it was more */
    expect_wait(&b, 10, 0, 11);
    atoll_bucket_return(&b, 1e9);
    expect_taken(&b, 600, 0);
    expect_wait(&b, 60, 0, 6);
}

static void test_a_limit_is_learned(void **state)
{
    struct atoll_bucket b;
    atoll_bucket_init(&b, 0, 0);
    atoll_bucket_learn(&b, 120, 100, NAN, 10 * S);
    expect_taken(&b, 100, 10);
    expect_wait(&b, 2, 10, 11);
    atoll_bucket_learn(&b, 600, 500, NAN, 11 * S); /* a larger one; what is taken stays taken */
    expect_wait(&b, 12, 11, 12);
    expect_taken(&b, 600, 100);
}

static void test_what_is_left_lowers_the_level_only(void **state)
{
    struct atoll_bucket b;
    atoll_bucket_init(&b, 0, 0);
    atoll_bucket_learn(&b, 60, 60, NAN, 0);
    expect_taken(&b, 50, 0);
    atoll_bucket_learn(&b, 60, 59, NAN, 0); /* the others are still on their way */
    expect_wait(&b, 11, 0, 1);
    atoll_bucket_learn(&b, 60, 5, NAN, 0); /* somebody else asks there too */
    expect_wait(&b, 6, 0, 1);
    atoll_bucket_learn(&b, NAN, 2, NAN, 0); /* without its limit */
    expect_wait(&b, 3, 0, 1);
}

static void test_a_configured_limit_is_never_raised(void **state)
{
    struct atoll_bucket b;
    atoll_bucket_init(&b, 60, 0);
    atoll_bucket_learn(&b, 6000, 6000, 0.5, 0);
    expect_taken(&b, 60, 0);
    expect_wait(&b, 1, 0, 1);
    atoll_bucket_learn(&b, 6000, 0, 0.5, 0); /* comes back fast: not for us */
    expect_wait(&b, 1, 0, 1);
    atoll_bucket_learn(&b, 30, 30, NAN, 0);
    expect_wait(&b, 1, 0, 2);
    atoll_bucket_learn(&b, 6000, 6000, NAN, 0);
    expect_wait(&b, 1, 0, 1);
}

static void test_windows_longer_and_shorter_than_a_minute(void **state)
{
    static const struct {
        double limit, left, reset_s, per_minute;
    } cases[] = {
        {1440, 0, 86400, 1}, /* a day's requests, all used */
        {10000, 5000, 43200, 6.944444444},
        {10, 0, 1, 600}, /* ten a second */
        {60, 50, 10, 60},
        {10000, 9999, 8.64, 10000}, /* too little is missing to tell */
        {60, 0, NAN, 60},
        {60, 0, 0, 60},
        {1440, 0, 1e9, 1}, /* no window is longer than a day */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_bucket b;
        atoll_bucket_init(&b, 0, 0);
        atoll_bucket_learn(&b, cases[i].limit, cases[i].left, cases[i].reset_s, 0);
        expect_close(b.per_minute, cases[i].per_minute, 1e-9);
        expect_close(b.size, cases[i].limit, 0);
        expect_close(b.level, cases[i].left, 0);
    }
}

static void test_what_says_nothing(void **state)
{
    static const double nothing[] = {NAN, -1, 0, INFINITY, -INFINITY};
    struct atoll_bucket b;
    atoll_bucket_init(&b, 0, 0);
    for (size_t i = 0; i < sizeof(nothing) / sizeof(*nothing); i++) {
        atoll_bucket_learn(&b, nothing[i], 5, 1, 0);
        expect_taken(&b, 1e9, 0);
    }
    atoll_bucket_learn(&b, 60, -1, NAN, 0);
    expect_taken(&b, 60, 0);
    atoll_bucket_init(&b, 60, 0);
    atoll_bucket_learn(&b, NAN, NAN, NAN, 0);
    expect_taken(&b, 60, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_limit_all_is_admitted),
        cmocka_unit_test(test_takes_and_fills),
        cmocka_unit_test(test_an_amount_larger_than_the_bucket),
        cmocka_unit_test(test_what_was_not_used_comes_back),
        cmocka_unit_test(test_a_limit_is_learned),
        cmocka_unit_test(test_what_is_left_lowers_the_level_only),
        cmocka_unit_test(test_a_configured_limit_is_never_raised),
        cmocka_unit_test(test_windows_longer_and_shorter_than_a_minute),
        cmocka_unit_test(test_what_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
