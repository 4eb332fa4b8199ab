#include "tests/support/expect.h"

#include "llm-gateway/broker/endpoint_limits.h"

#define S 1e9

static int admits(struct atoll_breaker *b, double now_s, double expected_when_s)
{
    double when = -1;
    int is_admitted = atoll_breaker_admit(b, now_s * S, &when);
    expect_close(when, is_admitted ? -1 : expected_when_s * S, 1e-12);
    return is_admitted;
}

static void fail_times(struct atoll_breaker *b, int times, double now_s)
{
    for (int i = 0; i < times; i++)
        atoll_breaker_note(b, ATOLL_LLM_OVERLOADED, now_s * S);
}

static void test_opens_after_failures_in_a_row(void **state)
{
    struct atoll_breaker b;
    atoll_breaker_init(&b);
    fail_times(&b, 4, 1);
    assert_true(admits(&b, 1, 0));
    atoll_breaker_note(&b, ATOLL_LLM_OK, 1 * S); /* breaks the row */
    fail_times(&b, 4, 1);
    assert_true(admits(&b, 1, 0));
    fail_times(&b, 1, 2);
    assert_int_equal(b.state, ATOLL_BREAKER_OPEN);
    assert_false(admits(&b, 2, 7));
    assert_false(admits(&b, 6.9, 7));
}

static void test_one_probe(void **state)
{
    struct atoll_breaker b;
    atoll_breaker_init(&b);
    fail_times(&b, 5, 0);
    assert_true(admits(&b, 5, 0));
    assert_int_equal(b.state, ATOLL_BREAKER_PROBING);
    assert_false(admits(&b, 6, 11)); /* look again after a while */
    atoll_breaker_note(&b, ATOLL_LLM_OK, 7 * S);
    assert_int_equal(b.state, ATOLL_BREAKER_CLOSED);
    assert_true(admits(&b, 7, 0));
    fail_times(&b, 4, 8);
    assert_true(admits(&b, 8, 0)); /* the count began anew */
}

static void test_open_time_doubles_to_its_longest(void **state)
{
    static const double expected[] = {5, 10, 20, 40, 80, 120, 120};
    struct atoll_breaker b;
    double now = 0;
    atoll_breaker_init(&b);
    fail_times(&b, 5, now);
    for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
        assert_false(admits(&b, now, now + expected[i]));
        now += expected[i];
        assert_true(admits(&b, now, 0));
        atoll_breaker_note(&b, ATOLL_LLM_TIMEOUT, now * S);
    }
    assert_true(admits(&b, now + 120, 0));
    atoll_breaker_note(&b, ATOLL_LLM_TRUNCATED, now * S);
    fail_times(&b, 5, 1000);
    assert_false(admits(&b, 1000, 1005)); /* an answer takes it back to the first */
}

static void test_a_probe_given_back(void **state)
{
    struct atoll_breaker b;
    atoll_breaker_init(&b);
    fail_times(&b, 5, 0);
    assert_true(admits(&b, 5, 0));
    atoll_breaker_note(&b, ATOLL_LLM_CANCELLED, 6 * S);
    assert_true(admits(&b, 6, 0));
    assert_false(admits(&b, 6, 11));
}

static void test_a_lost_probe_holds_nobody_for_ever(void **state)
{
    struct atoll_breaker b;
    atoll_breaker_init(&b);
    fail_times(&b, 5, 0);
    assert_true(admits(&b, 5, 0));
    assert_false(admits(&b, 124, 125));
    assert_true(admits(&b, 125, 0));
}

static void test_late_words_while_open(void **state)
{
    struct atoll_breaker b;
    atoll_breaker_init(&b);
    fail_times(&b, 5, 0);
    fail_times(&b, 20, 3); /* sent before it opened: not longer for that */
    assert_false(admits(&b, 4, 5));
    atoll_breaker_note(&b, ATOLL_LLM_CANCELLED, 4 * S);
    assert_false(admits(&b, 4, 5));
    atoll_breaker_note(&b, ATOLL_LLM_OK, 4 * S);
    assert_true(admits(&b, 4, 0));
}

static void test_what_counts(void **state)
{
    for (int s = 0; s <= ATOLL_LLM_STATUS_COUNT; s++) {
        struct atoll_breaker b;
        atoll_breaker_init(&b);
        for (int i = 0; i < 5; i++)
            atoll_breaker_note(&b, (enum atoll_llm_status)s, 0);
        int is_failure = s == ATOLL_LLM_NETWORK || s == ATOLL_LLM_OVERLOADED || s == ATOLL_LLM_TIMEOUT ||
                         s == ATOLL_LLM_STREAM;
        assert_int_equal(b.state, is_failure ? ATOLL_BREAKER_OPEN : ATOLL_BREAKER_CLOSED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opens_after_failures_in_a_row),
        cmocka_unit_test(test_one_probe),
        cmocka_unit_test(test_open_time_doubles_to_its_longest),
        cmocka_unit_test(test_a_probe_given_back),
        cmocka_unit_test(test_a_lost_probe_holds_nobody_for_ever),
        cmocka_unit_test(test_late_words_while_open),
        cmocka_unit_test(test_what_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
