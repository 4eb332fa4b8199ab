#include <math.h>

#include "mpi-eval/referee/duel.h"
#include "tests/support/expect.h"

/* A machine that gets slower at a steady rate must not favour a side over whole blocks of two pairs. */
static void drift_falls_on_both_sides(void **state)
{
    double sum = 0, sum_of_one_order = 0;
    double clock = 0;

    (void)state;
    for (size_t pair = 0; pair < 16; pair++) {
        double first = 1e6 * exp(0.01 * clock), second = 1e6 * exp(0.01 * (clock + 1));
        int swapped = atoll_duel_challenger_first(pair);

        clock += 2;
        sum += log(swapped ? second / first : first / second);
        sum_of_one_order += log(first / second);
    }
    assert_true(fabs(sum) < 1e-9);
    assert_true(fabs(sum_of_one_order) > 0.1); /* what AABB or always the same order would have shown */
}

static void variants_count_by_their_weight(void **state)
{
    static const double weights[] = {0.75, 0.25}, elite[] = {2e6, 1e6}, challenger[] = {1e6, 4e6};

    (void)state;
    expect_close(atoll_duel_log_ratio(weights, elite, challenger, 2), 0.75 * log(2) - 0.25 * log(4), 1e-12);
    expect_close(atoll_duel_log_ratio(weights, elite, elite, 2), 0, 1e-12);
    expect_close(atoll_duel_log_ratio(weights, elite, challenger, 0), 0, 1e-12);
    assert_true(isfinite(atoll_duel_log_ratio(weights, (const double[]){0, 1}, challenger, 2)));
}

static void scores_decide_at_looks_alone(void **state)
{
    struct atoll_duel_score score;

    (void)state;
    atoll_duel_score_init(&score, log(1.01), 0.01, 16);
    for (int pair = 1; pair <= 6; pair++) {
        enum atoll_comparison now = atoll_duel_score_add(&score, log(2) + 0.001 * pair);

        assert_int_equal(now, pair < 6 ? ATOLL_COMPARE_MORE : ATOLL_COMPARE_BETTER);
    }
    atoll_duel_score_init(&score, log(1.01), 0.01, 16);
    for (int pair = 1; pair <= 16 && score.state == ATOLL_COMPARE_MORE; pair++)
        atoll_duel_score_add(&score, pair & 1 ? 0.01 : -0.01);
    assert_int_equal(score.state, ATOLL_COMPARE_NOT_BETTER);
}

/* A won final goes on until it tells by how much, for twice its pairs at most; nothing of that changes the decision. */
static void won_finals_tell_by_how_much(void **state)
{
    static const struct {
        double gain, apart; /* ln of the ratio; every other pair is so much higher, and as much lower */
        enum atoll_comparison decided;
        size_t pairs;
    } rows[] = {{0.7, 0.01, ATOLL_COMPARE_BETTER, 6},
                {0.7, 0.08, ATOLL_COMPARE_BETTER, 26},
                {0.7, 0.2, ATOLL_COMPARE_BETTER, 32},
                {0.15, 0.2, ATOLL_COMPARE_NOT_BETTER, 16},
                {-0.1, 0.2, ATOLL_COMPARE_NOT_BETTER, 6}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_duel_score score;

        atoll_duel_score_init(&score, log(1.01), 0.01, 16);
        for (int pair = 0; score.state == ATOLL_COMPARE_MORE || atoll_duel_score_is_wide(&score); pair++)
            atoll_duel_score_add(&score, rows[i].gain + (pair & 1 ? rows[i].apart : -rows[i].apart));
        if (score.state != rows[i].decided || score.pair_count != rows[i].pairs)
            fail_msg("row %zu: state %d after %zu pairs", i, (int)score.state, score.pair_count);
        if (rows[i].decided == ATOLL_COMPARE_BETTER)
            expect_close(log(score.ratio), rows[i].gain, 0.01);
    }
}

/* A disturbed round counts for nothing, whatever it says; a machine that disturbs more than half of all samples, or never
 * lets the rounds become enough, decides nothing. */
static void disturbed_rounds_are_replaced(void **state)
{
    static const struct {
        unsigned rounds, disturbed, each; /* rounds of two samples; so many with `each` disturbed samples */
        enum atoll_duel_fault fault;
    } rows[] = {{6, 0, 0, ATOLL_DUEL_FINE},  {7, 7, 2, ATOLL_DUEL_FINE},   {8, 4, 2, ATOLL_DUEL_FINE},
                {8, 5, 2, ATOLL_DUEL_BUSY},  {16, 16, 1, ATOLL_DUEL_FINE}, {60, 48, 1, ATOLL_DUEL_BUSY},
                {60, 47, 1, ATOLL_DUEL_FINE}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_duel_balance balance = {0};
        unsigned counted = 0;

        for (unsigned k = 0; k < rows[i].rounds; k++)
            counted +=
                (unsigned)atoll_duel_balance_add(&balance, 2, k < rows[i].disturbed ? rows[i].each : 0, NAN);
        assert_int_equal(counted, rows[i].rounds - rows[i].disturbed);
        assert_int_equal(balance.replaced, rows[i].disturbed);
        if (atoll_duel_balance_fault(&balance, 16) != rows[i].fault)
            fail_msg("row %zu", i);
    }
}

/* Who has its slow rounds replaced is found by what all rounds say by processor time. */
static void chosen_rounds_are_found(void **state)
{
    static const struct {
        double kept, replaced; /* ratios by processor time */
        unsigned count;        /* of replaced rounds */
        enum atoll_duel_fault fault;
    } rows[] = {{2.0, 0.7, 4, ATOLL_DUEL_CHOSEN},
                {2.0, 0.7, 3, ATOLL_DUEL_FINE},
                {2.0, 1.8, 6, ATOLL_DUEL_FINE},
                {2.0, 3.0, 6, ATOLL_DUEL_CHOSEN},
                {2.0, NAN, 6, ATOLL_DUEL_FINE}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_duel_balance balance = {0};

        for (unsigned k = 0; k < 10; k++)
            atoll_duel_balance_add(&balance, 2, 0, log(rows[i].kept));
        for (unsigned k = 0; k < rows[i].count; k++)
            atoll_duel_balance_add(&balance, 2, 1, log(rows[i].replaced));
        if (atoll_duel_balance_fault(&balance, 16) != rows[i].fault)
            fail_msg("row %zu", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drift_falls_on_both_sides),     cmocka_unit_test(variants_count_by_their_weight),
        cmocka_unit_test(scores_decide_at_looks_alone),  cmocka_unit_test(won_finals_tell_by_how_much),
        cmocka_unit_test(disturbed_rounds_are_replaced), cmocka_unit_test(chosen_rounds_are_found)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
