/* Adaptive stop and the pure part of duels. */
#include "tests/support/expect.h"

#include <math.h>

#include "core/evaluation.h"
#include "base/random.h"
#include "mpi-eval/referee/duel.h"
#include "mpi-eval/referee/sampling.h"

static const struct atoll_sampling_rules base = {
    .interval_target = 0.005, .device_limit_ns = 1e9, .wall_limit_ns = 1e9, .sample_min = 7};

/* Feeds level * (1 + noise * u), u in -1..1, until it stops. */
static struct {
    struct atoll_sampling_rules rules;
    double level_ns, noise, wall_step_ns;
    enum atoll_sampling_state ends;
    size_t least, most;
} cases[] = {
    {{.interval_target = 0.005, .device_limit_ns = 1e9, .wall_limit_ns = 1e9, .sample_min = 7},
     1e6,
     0.0,
     2e6,
     ATOLL_SAMPLING_ENOUGH,
     7,
     7},
    {{.interval_target = 0.005, .device_limit_ns = 1e9, .wall_limit_ns = 1e10, .sample_min = 7},
     1e6,
     0.04,
     2e6,
     ATOLL_SAMPLING_ENOUGH,
     20,
     900},
    {{.interval_target = 0.0005, .device_limit_ns = 1e8, .wall_limit_ns = 1e10, .sample_min = 7},
     1e6,
     0.5,
     2e6,
     ATOLL_SAMPLING_LIMIT,
     80,
     130},
    {{.interval_target = 0.0005, .device_limit_ns = 1e9, .wall_limit_ns = 1e8, .sample_min = 7},
     1e6,
     0.5,
     1e7,
     ATOLL_SAMPLING_LIMIT,
     10,
     10},
    {{.interval_target = 0.0005, .device_limit_ns = 1e9, .wall_limit_ns = 1, .sample_min = 7},
     1e6,
     0.5,
     1e7,
     ATOLL_SAMPLING_LIMIT,
     7,
     7},
    {{.interval_target = 0.005,
      .device_limit_ns = 1e9,
      .wall_limit_ns = 1e9,
      .sample_min = 7,
      .incumbent_ns = 5e5},
     1e6,
     0.1,
     2e6,
     ATOLL_SAMPLING_DROPPED,
     4,
     4},
    {{.interval_target = 0.0005,
      .device_limit_ns = 1e9,
      .wall_limit_ns = 1e9,
      .sample_min = 7,
      .incumbent_ns = 9e5},
     1e6,
     0.01,
     2e6,
     ATOLL_SAMPLING_DROPPED,
     7,
     7},
    {{.interval_target = 0.005,
      .device_limit_ns = 1e9,
      .wall_limit_ns = 1e9,
      .sample_min = 7,
      .incumbent_ns = 1e6},
     1e6,
     0.0,
     2e6,
     ATOLL_SAMPLING_ENOUGH,
     7,
     7},
    /* a short kernel: the resolution keeps the interval wide until the limit */
    {{.interval_target = 0.005,
      .device_limit_ns = 1e6,
      .wall_limit_ns = 1e10,
      .sample_min = 7,
      .resolution_ns = 200},
     1e4,
     0.0,
     2e4,
     ATOLL_SAMPLING_LIMIT,
     100,
     100},
};

static void test_stops(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_sampling s;
        struct atoll_random random = {42 + i, 0};
        enum atoll_sampling_state st = ATOLL_SAMPLING_MORE;
        assert_int_equal(atoll_sampling_init(&s, &cases[i].rules, NULL), 0);
        while (st == ATOLL_SAMPLING_MORE) {
            double u = 2 * atoll_random_unit(atoll_random_next(&random)) - 1;
            st = atoll_sampling_add(&s, cases[i].level_ns * (1 + cases[i].noise * u),
                                    cases[i].wall_step_ns * (double)(s.count + 1));
        }
        if (st != cases[i].ends || s.count < cases[i].least || s.count > cases[i].most)
            fail_msg("case %zu: state %d after %zu samples", i, (int)st, s.count);
        atoll_sampling_fini(&s);
    }
}

static void test_sample_limit(void **state)
{
    struct atoll_sampling s;
    struct atoll_sampling_rules rules = base;
    enum atoll_sampling_state st = ATOLL_SAMPLING_MORE;
    (void)state;
    rules.interval_target = 0;
    rules.device_limit_ns = rules.wall_limit_ns = 1e18;
    assert_int_equal(atoll_sampling_init(&s, &rules, NULL), 0);
    for (int i = 0; st == ATOLL_SAMPLING_MORE; i++)
        st = atoll_sampling_add(&s, i & 1 ? 100000 : 120000, 1);
    assert_int_equal(st, ATOLL_SAMPLING_LIMIT);
    assert_int_equal(s.count, ATOLL_SAMPLES_LIMIT);
    atoll_sampling_fini(&s);
}

/* At most one more is thrown away than is kept; then disturbed samples count, and when nearly all are, the
 * numbers say nothing. */
static void test_disturbed(void **state)
{
    static const struct {
        double lost_ns; /* of every k-th sample of 1 ms */
        size_t every, discarded, disturbed;
        int unstable;
    } rows[] = {{-1, 1, 0, 0, 0},     {0, 1, 0, 0, 0},     {19e3, 1, 0, 0, 0},
                {30e3, 1, 20, 20, 1}, {30e3, 4, 10, 0, 0}, {30e3, 2, 20, 0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_sampling s;
        assert_int_equal(atoll_sampling_init(&s, &base, NULL), 0);
        for (size_t k = 0; k < 40; k++) {
            double lost = k % rows[i].every ? 0 : rows[i].lost_ns;
            if (!atoll_sampling_discards(&s, 1e6, lost, 0))
                atoll_sampling_add(&s, 1e6, 1);
        }
        assert_int_equal(s.discarded, rows[i].discarded);
        assert_int_equal(s.disturbed, rows[i].disturbed);
        assert_int_equal(s.count, 40 - rows[i].discarded);
        assert_int_equal(atoll_sampling_is_unstable(&s), rows[i].unstable);
        atoll_sampling_fini(&s);
    }
}

/* What others took of the samples is no reason to drop a candidate. */
static void test_disturbed_drop(void **state)
{
    struct atoll_sampling s;
    struct atoll_sampling_rules rules = base;
    (void)state;
    rules.incumbent_ns = 1e6;
    rules.interval_target = 1e-9;
    assert_int_equal(atoll_sampling_init(&s, &rules, NULL), 0);
    for (int i = 0; i < 20; i++)
        if (!atoll_sampling_discards(&s, 2e6 + i, 1e6, 0))
            assert_int_equal(atoll_sampling_add(&s, 2e6 + i, 1), ATOLL_SAMPLING_MORE);
    assert_true(s.disturbed >= 9);
    atoll_sampling_fini(&s);
}

/* A device that is slowed down all the time: half is thrown away, nothing is dropped, and the numbers say nothing. */
static void test_slowed(void **state)
{
    struct atoll_sampling s;
    struct atoll_sampling_rules rules = base;
    (void)state;
    rules.incumbent_ns = 1e6;
    rules.interval_target = 1e-9;
    assert_int_equal(atoll_sampling_init(&s, &rules, NULL), 0);
    assert_int_equal(atoll_sampling_discards(&s, 2e6, -1, 1), 1);
    for (int i = 0; i < 39; i++)
        if (!atoll_sampling_discards(&s, 2e6 + i, -1, 1))
            assert_int_equal(atoll_sampling_add(&s, 2e6 + i, 1), ATOLL_SAMPLING_MORE);
    assert_int_equal(s.slowed, 40);
    assert_int_equal(s.discarded, 20);
    assert_int_equal(s.slowed_kept, 20);
    assert_true(atoll_sampling_is_unstable(&s));
    atoll_sampling_fini(&s);
}

static void test_duel_clocks(void **state)
{
    static const struct {
        double one_hz, other_hz;
        int differ;
    } rows[] = {{0, 0, 0},           {1.98e9, 0, 0},     {0, 1.98e9, 0},     {1.98e9, 1.98e9, 0},
                {1.98e9, 1.95e9, 0}, {1.98e9, 1.9e9, 1}, {1.9e9, 1.98e9, 1}, {2e9, 1.961e9, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_int_equal(atoll_duel_clocks_differ(rows[i].one_hz, rows[i].other_hz), rows[i].differ);
}

static void test_duel_plan(void **state)
{
    static const struct {
        unsigned pair_limit, looks, last;
    } plans[] = {{0, 3, 16},
                 {16, 3, 16},
                 {10, 2, 10},
                 {6, 1, 6},
                 {8, 2, 8},
                 {1, 1, 4},
                 {1000, 4, ATOLL_DUEL_PAIR_LIMIT}};
    struct atoll_duel_score s;
    (void)state;
    for (size_t i = 0; i < sizeof(plans) / sizeof(*plans); i++) {
        atoll_duel_score_init(&s, 0.01, 0.01, plans[i].pair_limit);
        assert_int_equal(s.test.looks, plans[i].looks);
        assert_int_equal(s.look_pairs[plans[i].looks - 1], plans[i].last);
    }
}

static enum atoll_comparison play(double level, double noise, uint64_t seed, struct atoll_duel_score *s)
{
    struct atoll_random random = {seed, 0};
    enum atoll_comparison st = ATOLL_COMPARE_MORE;
    atoll_duel_score_init(s, log(1.01), 0.01, 16);
    while (st == ATOLL_COMPARE_MORE)
        st = atoll_duel_score_add(s, level + noise * (2 * atoll_random_unit(atoll_random_next(&random)) - 1));
    return st;
}

static void test_duel_decides(void **state)
{
    struct atoll_duel_score s;
    int promoted = 0;
    (void)state;
    assert_int_equal(play(log(1.5), 0.02, 1, &s), ATOLL_COMPARE_BETTER);
    assert_int_equal(s.pair_count, 6);
    assert_true(s.ratio > 1.4 && s.p_value < 0.01);
    assert_int_equal(play(log(0.8), 0.02, 1, &s), ATOLL_COMPARE_NOT_BETTER);
    assert_true(s.pair_count <= 16);
    for (uint64_t seed = 0; seed < 300; seed++)
        promoted += play(0, 0.05, seed, &s) == ATOLL_COMPARE_BETTER;
    assert_in_range(promoted, 0, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stops),     cmocka_unit_test(test_sample_limit),
        cmocka_unit_test(test_disturbed), cmocka_unit_test(test_disturbed_drop),
        cmocka_unit_test(test_slowed),    cmocka_unit_test(test_duel_clocks),
        cmocka_unit_test(test_duel_plan), cmocka_unit_test(test_duel_decides)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
