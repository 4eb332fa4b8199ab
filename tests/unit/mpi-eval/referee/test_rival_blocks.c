/* Alternating blocks: medians, pairs that do not count, when there are enough. */
#include "tests/support/expect.h"

#include <math.h>

#include "base/random.h"
#include "mpi-eval/referee/rival_blocks.h"

static struct atoll_sample_block block_of(double ns, double hz, size_t count, size_t disturbed)
{
    struct atoll_sample_block b = {0};
    for (size_t i = 0; i < count + disturbed; i++)
        atoll_sample_block_add(&b, i < count ? ns + (double)i : 1, hz, i >= count);
    return b;
}

static void test_block(void **state)
{
    (void)state;
    struct atoll_sample_block none = {0}, b = block_of(100, 2e9, 3, 1);
    expect_close(atoll_sample_block_ns(&b), 101, 1e-9); /* what was disturbed does not count */
    expect_close(atoll_sample_block_hz(&b), 2e9, 1);
    expect_close(atoll_sample_block_ns(&none), 0, 0);
    expect_close(atoll_sample_block_hz(&none), 0, 0);
    for (int i = 0; i < 100; i++)
        atoll_sample_block_add(&b, 1e6, 0, 0);
    assert_int_equal(b.count, ATOLL_BLOCK_SAMPLE_LIMIT);
    assert_int_equal(b.clock_count, 3);
}

static void test_fault(void **state)
{
    static const struct {
        double rival_hz, best_hz;
        size_t rival_count, rival_disturbed, best_count, best_disturbed;
        enum atoll_pair_fault fault;
    } cases[] = {
        {1.98e9, 1.98e9, 3, 0, 3, 0, ATOLL_PAIR_FINE},
        {1.98e9, 1.95e9, 3, 0, 3, 0, ATOLL_PAIR_FINE},
        {1.98e9, 1.93e9, 3, 0, 3, 0, ATOLL_PAIR_CLOCKS},
        {1.93e9, 1.98e9, 3, 0, 3, 0, ATOLL_PAIR_CLOCKS},
        {0, 1.93e9, 3, 0, 3, 0, ATOLL_PAIR_FINE}, /* not known of one side */
        {0, 0, 3, 0, 3, 0, ATOLL_PAIR_FINE},
        {0, 0, 0, 0, 3, 0, ATOLL_PAIR_DISTURBED},
        {0, 0, 3, 0, 1, 2, ATOLL_PAIR_DISTURBED},
        {0, 0, 1, 2, 3, 0, ATOLL_PAIR_DISTURBED},
        {0, 0, 2, 2, 3, 0, ATOLL_PAIR_FINE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_sample_block rival =
            block_of(100, cases[i].rival_hz, cases[i].rival_count, cases[i].rival_disturbed);
        struct atoll_sample_block best =
            block_of(100, cases[i].best_hz, cases[i].best_count, cases[i].best_disturbed);
        if (atoll_pair_fault_of(&rival, &best) != cases[i].fault)
            fail_msg("case %zu", i);
    }
}

/* Pairs of ln(level * (1 + noise u)), u in -1..1, until it stops. */
static enum atoll_rival_score_state play(struct atoll_rival_score *s, double level, double noise)
{
    struct atoll_random random = {.key = 7};
    enum atoll_rival_score_state state = ATOLL_RIVAL_SCORE_MORE;
    while (state == ATOLL_RIVAL_SCORE_MORE) {
        double u = 2 * atoll_random_unit(atoll_random_next(&random)) - 1;
        state = atoll_rival_score_add(s, log(level * (1 + noise * u)), ATOLL_PAIR_FINE);
    }
    return state;
}

static void test_enough(void **state)
{
    struct atoll_rival_score s;
    (void)state;
    atoll_rival_score_init(&s, 0, 0.005);
    assert_int_equal(s.pair_limit, 16);
    expect_close(s.ratio, 1, 0);
    assert_int_equal(play(&s, 1.25, 0.0005), ATOLL_RIVAL_SCORE_ENOUGH);
    assert_int_equal(s.pair_count, ATOLL_BLOCK_PAIR_LEAST); /* narrow at once */
    expect_close(s.ratio, 1.25, 0.001);
    assert_true(s.ratio_lo < s.ratio && s.ratio < s.ratio_hi && s.ratio_hi - s.ratio_lo < 0.004);

    atoll_rival_score_init(&s, 0, 0.005);
    assert_int_equal(play(&s, 0.8, 0.3), ATOLL_RIVAL_SCORE_ENOUGH);
    assert_int_equal(s.pair_count, 16); /* wide to the last */
    expect_close(s.ratio, 0.8, 0.1);
    assert_true(s.ratio_lo < s.ratio && s.ratio < s.ratio_hi && s.ratio_hi - s.ratio_lo > 0.01);

    atoll_rival_score_init(&s, 1, 0);
    assert_int_equal(s.pair_limit, ATOLL_BLOCK_PAIR_LEAST);
    atoll_rival_score_init(&s, 100000, 0);
    assert_int_equal(s.pair_limit, ATOLL_DUEL_PAIR_LIMIT);
    assert_int_equal(play(&s, 1, 0.1), ATOLL_RIVAL_SCORE_ENOUGH);
    assert_int_equal(s.pair_count, ATOLL_DUEL_PAIR_LIMIT);
}

static void test_discarded(void **state)
{
    struct atoll_rival_score s;
    enum atoll_rival_score_state end = ATOLL_RIVAL_SCORE_MORE;
    (void)state;
    /* A few that do not count change nothing but their number. */
    atoll_rival_score_init(&s, 6, 0);
    for (int i = 0; i < 6; i++) {
        if (i < 3)
            assert_int_equal(atoll_rival_score_add(&s, 5, i ? ATOLL_PAIR_CLOCKS : ATOLL_PAIR_DISTURBED),
                             ATOLL_RIVAL_SCORE_MORE);
        end = atoll_rival_score_add(&s, log(2), ATOLL_PAIR_FINE);
    }
    assert_int_equal(end, ATOLL_RIVAL_SCORE_ENOUGH);
    expect_close(s.ratio, 2, 1e-9);
    assert_int_equal(s.disturbed, 1);
    assert_int_equal(s.clocks, 2);
    /* More than half is the end; a ratio that is none is one of them. */
    atoll_rival_score_init(&s, 6, 0);
    int n = 0;
    for (end = ATOLL_RIVAL_SCORE_MORE; end == ATOLL_RIVAL_SCORE_MORE && n < 100; n++)
        end = atoll_rival_score_add(&s, n % 3 ? NAN : 0.1, ATOLL_PAIR_FINE);
    assert_int_equal(end, ATOLL_RIVAL_SCORE_UNSTABLE);
    assert_int_equal(n, 8);
    /* Half is not. */
    atoll_rival_score_init(&s, 10, 0);
    for (end = ATOLL_RIVAL_SCORE_MORE, n = 0; end == ATOLL_RIVAL_SCORE_MORE && n < 100; n++)
        end = atoll_rival_score_add(&s, 0.1, n % 2 ? ATOLL_PAIR_DISTURBED : ATOLL_PAIR_FINE);
    assert_int_equal(end, ATOLL_RIVAL_SCORE_ENOUGH);
    assert_int_equal(s.disturbed, 9);
}

static void test_clocks_apart(void **state)
{
    (void)state;
    /* By time the best is twice as fast; its clock is higher, and at one clock it would be less: that counts. */
    struct atoll_sample_block rival = {0}, best = {0};
    for (int i = 0; i < 3; i++) {
        atoll_sample_block_add(&rival, 200, 1.6e9, 0);
        atoll_sample_block_add(&best, 100, 2.0e9, 0);
    }
    assert_int_equal(atoll_pair_fault_of(&rival, &best), ATOLL_PAIR_CLOCKS);
    expect_close(exp(atoll_pair_log_ratio(&rival, &best)), 1.6, 1e-9);
    expect_close(exp(atoll_pair_log_ratio(&best, &rival)), 0.5, 1e-9);
    best.clocks_hz[0] = best.clocks_hz[1] = best.clocks_hz[2] = 1.61e9;
    expect_close(exp(atoll_pair_log_ratio(&rival, &best)), 2, 1e-9);
    /* The first ones are repeated; what keeps coming belongs to the kernels. */
    struct atoll_rival_score s;
    enum atoll_rival_score_state end = ATOLL_RIVAL_SCORE_MORE;
    atoll_rival_score_init(&s, 8, 0);
    for (int i = 0; end == ATOLL_RIVAL_SCORE_MORE && i < 100; i++)
        end = atoll_rival_score_add(&s, i < ATOLL_BLOCK_CLOCK_PAIRS ? 9 : log(1.5), ATOLL_PAIR_CLOCKS);
    assert_int_equal(end, ATOLL_RIVAL_SCORE_ENOUGH);
    expect_close(s.ratio, 1.5, 1e-9);
    assert_int_equal(s.clocks, 8 + ATOLL_BLOCK_CLOCK_PAIRS);
    assert_int_equal(atoll_rival_score_repeated(&s), ATOLL_BLOCK_CLOCK_PAIRS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_block), cmocka_unit_test(test_fault),
                                       cmocka_unit_test(test_enough), cmocka_unit_test(test_discarded),
                                       cmocka_unit_test(test_clocks_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
