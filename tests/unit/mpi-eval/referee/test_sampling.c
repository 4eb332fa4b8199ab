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
    double incumbent_ns;
} cases[] = {
    {{.interval_target = 0.005, .device_limit_ns = 1e9, .wall_limit_ns = 1e9, .sample_min = 7},
     1e6,
     0.0,
     2e6,
     ATOLL_SAMPLING_ENOUGH,
     7,
     7,
     0},
    {{.interval_target = 0.005, .device_limit_ns = 1e9, .wall_limit_ns = 1e10, .sample_min = 7},
     1e6,
     0.04,
     2e6,
     ATOLL_SAMPLING_ENOUGH,
     20,
     900,
     0},
    {{.interval_target = 0.0005, .device_limit_ns = 1e8, .wall_limit_ns = 1e10, .sample_min = 7},
     1e6,
     0.5,
     2e6,
     ATOLL_SAMPLING_LIMIT,
     80,
     130,
     0},
    {{.interval_target = 0.0005, .device_limit_ns = 1e9, .wall_limit_ns = 1e8, .sample_min = 7},
     1e6,
     0.5,
     1e7,
     ATOLL_SAMPLING_LIMIT,
     10,
     10,
     0},
    {{.interval_target = 0.0005, .device_limit_ns = 1e9, .wall_limit_ns = 1, .sample_min = 7},
     1e6,
     0.5,
     1e7,
     ATOLL_SAMPLING_LIMIT,
     7,
     7,
     0},
    {{.interval_target = 0.005, .device_limit_ns = 1e9, .wall_limit_ns = 1e9, .sample_min = 7},
     1e6,
     0.1,
     2e6,
     ATOLL_SAMPLING_DROPPED,
     3,
     3,
     5e5},
    {{.interval_target = 0.005, .device_limit_ns = 1e9, .wall_limit_ns = 1e9, .sample_min = 7},
     1e6,
     0.01,
     2e6,
     ATOLL_SAMPLING_DROPPED,
     4,
     4,
     7e5},
    {{.interval_target = 0.0005, .device_limit_ns = 1e9, .wall_limit_ns = 1e9, .sample_min = 7},
     1e6,
     0.01,
     2e6,
     ATOLL_SAMPLING_DROPPED,
     7,
     7,
     9e5},
    {{.interval_target = 0.005, .device_limit_ns = 1e9, .wall_limit_ns = 1e9, .sample_min = 7},
     1e6,
     0.0,
     2e6,
     ATOLL_SAMPLING_ENOUGH,
     7,
     7,
     1e6},
    /* a seed of 270 ms beside a rival of 1 ms: the wall limit would let it have seven */
    {{.interval_target = 0.005, .device_limit_ns = 1e9, .wall_limit_ns = 4e9, .sample_min = 7},
     270e6,
     0.02,
     400e6,
     ATOLL_SAMPLING_DROPPED,
     2,
     2,
     1e6},
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
     100,
     0},
};

static int is_behind(const struct atoll_sampling *s, double incumbent_ns)
{
    static const double weight = 1;
    return atoll_sampling_is_behind(&s, &weight, 1, incumbent_ns);
}

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
            if (is_behind(&s, cases[i].incumbent_ns))
                st = ATOLL_SAMPLING_DROPPED;
        }
        /* Of few samples no interval is known, and nobody is told one. */
        assert_int_equal(isfinite(s.summary.relative_half_width) != 0, s.count >= 6);
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

/* Disturbed samples are thrown away, whatever they say; when they are more than half of all, the numbers say nothing. */
static void test_disturbed(void **state)
{
    static const struct {
        double lost_ns; /* of every k-th sample of 1 ms */
        size_t every, first, discarded;
        enum atoll_sampling_fault fault;
    } rows[] = {{-1, 1, 0, 0, ATOLL_SAMPLING_FINE},   {0, 1, 0, 0, ATOLL_SAMPLING_FINE},
                {19e3, 1, 0, 0, ATOLL_SAMPLING_FINE}, {30e3, 1, 0, 28, ATOLL_SAMPLING_BUSY},
                {21e3, 4, 0, 7, ATOLL_SAMPLING_FINE}, {30e3, 2, 1, 14, ATOLL_SAMPLING_FINE}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_sampling s;
        struct atoll_sampling_rules rules = base;
        enum atoll_sampling_state now = ATOLL_SAMPLING_MORE;
        rules.interval_target = 0;
        assert_int_equal(atoll_sampling_init(&s, &rules, NULL), 0);
        for (size_t k = rows[i].first; k < 28 + rows[i].first && now == ATOLL_SAMPLING_MORE; k++) {
            struct atoll_sampling_sample sample = {1e6 + (double)k, k % rows[i].every ? 0 : rows[i].lost_ns,
                                                   0, 0};
            now = atoll_sampling_take(&s, &sample, 1);
        }
        assert_int_equal(s.discarded, rows[i].discarded);
        assert_int_equal(s.count, 28 - rows[i].discarded);
        assert_int_equal(atoll_sampling_fault_of(&s), rows[i].fault);
        assert_int_equal(now, rows[i].fault ? ATOLL_SAMPLING_UNSTABLE : ATOLL_SAMPLING_MORE);
        atoll_sampling_fini(&s);
    }
}

/* Enough samples were kept, but more were thrown away: that is no result; past the limit nothing goes on for ever. */
static void test_disturbed_ends(void **state)
{
    static const struct {
        size_t kept, discarded;
        double wall_ns;
        enum atoll_sampling_state ends;
    } rows[] = {{7, 7, 1, ATOLL_SAMPLING_ENOUGH},  {7, 8, 1, ATOLL_SAMPLING_UNSTABLE},
                {7, 7, 2e9, ATOLL_SAMPLING_LIMIT}, {3, 11, 2e9, ATOLL_SAMPLING_UNSTABLE},
                {6, 6, 2e9, ATOLL_SAMPLING_MORE},  {0, 28, 1, ATOLL_SAMPLING_UNSTABLE}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_sampling s;
        struct atoll_sampling_rules rules = base;
        struct atoll_sampling_sample bad = {1e6, 1e5, 0, 0};
        enum atoll_sampling_state now = ATOLL_SAMPLING_MORE;
        rules.interval_target = rows[i].wall_ns > 1e9 ? 0 : 0.005;
        assert_int_equal(atoll_sampling_init(&s, &rules, NULL), 0);
        for (size_t k = 0; k < rows[i].discarded && now == ATOLL_SAMPLING_MORE; k++)
            now = atoll_sampling_take(&s, &bad,
                                      k + 1 < rows[i].discarded || rows[i].kept ? 1 : rows[i].wall_ns);
        for (size_t k = 0; k < rows[i].kept && now == ATOLL_SAMPLING_MORE; k++)
            now = atoll_sampling_add(&s, 1e6 + (double)k, 1);
        if (rows[i].wall_ns > 1e9 && now == ATOLL_SAMPLING_MORE) {
            s.discarded--; /* the last one comes late */
            now = atoll_sampling_take(&s, &bad, rows[i].wall_ns);
        }
        if (now != rows[i].ends)
            fail_msg("row %zu: state %d after %zu kept, %zu discarded", i, (int)now, s.count, s.discarded);
        atoll_sampling_fini(&s);
    }
}

/* Two threads of a candidate made its slow samples look preempted, so that 10 ms stood for 12 to 25 ms.  Others take time from
 * a sample and add no work to it: disturbed samples that worked longer than the rest were not disturbed by chance. */
static void test_chosen_samples(void **state)
{
    static const struct {
        double slow_own_ns; /* processor time of the disturbed ones; the others take 10 to 10.6 ms */
        size_t slow;
        enum atoll_sampling_fault fault;
    } rows[] = {{30e6, 6, ATOLL_SAMPLING_CHOSEN}, {30e6, 3, ATOLL_SAMPLING_FINE},
                {10.5e6, 6, ATOLL_SAMPLING_FINE}, {12.5e6, 6, ATOLL_SAMPLING_FINE},
                {0, 6, ATOLL_SAMPLING_FINE},      {14e6, 6, ATOLL_SAMPLING_CHOSEN}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_sampling s;
        struct atoll_sampling_rules rules = base;
        enum atoll_sampling_state now = ATOLL_SAMPLING_MORE;
        rules.interval_target = 0;
        rules.device_limit_ns = 69e6;
        assert_int_equal(atoll_sampling_init(&s, &rules, NULL), 0);
        for (size_t k = 0; k < 7; k++) {
            struct atoll_sampling_sample slow = {35e6, 5e6, rows[i].slow_own_ns, 0};
            if (k < rows[i].slow)
                assert_int_equal(atoll_sampling_take(&s, &slow, 1), ATOLL_SAMPLING_MORE);
            struct atoll_sampling_sample usual = {10e6 + 1e5 * (double)k, 0, 10e6 + 1e5 * (double)k, 0};
            now = atoll_sampling_take(&s, &usual, 1);
        }
        assert_int_equal(atoll_sampling_fault_of(&s), rows[i].fault);
        assert_int_equal(now, rows[i].fault ? ATOLL_SAMPLING_UNSTABLE : ATOLL_SAMPLING_LIMIT);
        atoll_sampling_fini(&s);
    }
}

/* What others took of the samples is no reason to drop a candidate. */
static void test_disturbed_drop(void **state)
{
    struct atoll_sampling s;
    struct atoll_sampling_rules rules = base;
    struct atoll_sampling_sample bad = {2e6, 1e6, 0, 0};
    (void)state;
    rules.interval_target = 1e-9;
    assert_int_equal(atoll_sampling_init(&s, &rules, NULL), 0);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(atoll_sampling_take(&s, &bad, 1), ATOLL_SAMPLING_MORE);
        assert_false(is_behind(&s, 1e6));
    }
    assert_int_equal(s.discarded, 20);
    assert_true(s.least_ns == 1e6);
    atoll_sampling_fini(&s);
}

/* Two variants in turn: what counts is their weighted mean, however far one of them is behind, and each must have samples
 * enough. */
static void test_drop_of_several(void **state)
{
    static const struct {
        double level_ns[2], weights[2];
        size_t counts[2];
        int is_behind;
    } rows[] = {{{4e6, 4e6}, {1, 1}, {2, 2}, 1},      {{4e6, 4e6}, {1, 1}, {7, 1}, 0},
                {{1e6, 16e6}, {1, 1}, {2, 2}, 1},     {{0.2e6, 4e6}, {1, 1}, {7, 7}, 0},
                {{0.2e6, 4e6}, {1, 3}, {3, 3}, 1},    {{0.2e6, 4e6}, {3, 1}, {7, 7}, 0},
                {{1.2e6, 1.2e6}, {1, 1}, {4, 4}, 1},  {{1.2e6, 1.2e6}, {1, 1}, {3, 4}, 0},
                {{1.1e6, 1.1e6}, {1, 1}, {6, 7}, 0},  {{1.1e6, 1.1e6}, {1, 1}, {7, 7}, 1},
                {{1.02e6, 1.02e6}, {1, 1}, {9, 9}, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_sampling both[2];
        const struct atoll_sampling *series[2] = {&both[0], &both[1]};
        for (size_t v = 0; v < 2; v++) {
            assert_int_equal(atoll_sampling_init(&both[v], &base, NULL), 0);
            for (size_t k = 0; k < rows[i].counts[v]; k++)
                atoll_sampling_add(&both[v], rows[i].level_ns[v], 1);
        }
        if (atoll_sampling_is_behind(series, rows[i].weights, 2, 1e6) != rows[i].is_behind)
            fail_msg("row %zu", i);
        assert_false(atoll_sampling_is_behind(series, rows[i].weights, 2, 0));
        assert_false(atoll_sampling_is_behind(series, rows[i].weights, 0, 1e6));
        for (size_t v = 0; v < 2; v++)
            atoll_sampling_fini(&both[v]);
    }
}

/* A busy machine is seen in the samples of all variants together, as soon as in those of one. */
static void test_busy_of_several(void **state)
{
    static const struct {
        size_t kept[2], discarded[2];
        double wall_ns;
        size_t busiest;
    } rows[] = {
        {{0, 0}, {7, 7}, 1e9, 0}, {{0, 0}, {6, 8}, 1e9, 1}, {{0, 0}, {6, 7}, 1e9, 2},
        {{0, 0}, {7, 7}, 9e8, 2}, {{0, 0}, {14, 14}, 1, 0}, {{0, 0}, {13, 14}, 1, 2},
        {{7, 0}, {0, 7}, 1e9, 2}, {{6, 0}, {0, 8}, 1e9, 1}, {{20, 2}, {1, 20}, 1e9, 2},
        {{7, 7}, {0, 0}, 2e9, 2}, {{0, 0}, {0, 0}, 2e9, 2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_sampling both[2];
        const struct atoll_sampling *series[2] = {&both[0], &both[1]};
        struct atoll_sampling_sample bad = {2e6, 1e6, 0, 0};
        for (size_t v = 0; v < 2; v++) {
            assert_int_equal(atoll_sampling_init(&both[v], &base, NULL), 0);
            for (size_t k = 0; k < rows[i].kept[v]; k++)
                atoll_sampling_add(&both[v], 1e6, 1);
            for (size_t k = 0; k < rows[i].discarded[v]; k++)
                atoll_sampling_take(&both[v], &bad, 1);
        }
        if (atoll_sampling_busiest(series, 2, rows[i].wall_ns) != rows[i].busiest)
            fail_msg("row %zu", i);
        for (size_t v = 0; v < 2; v++)
            atoll_sampling_fini(&both[v]);
    }
}

/* A device that is slowed down all the time: nothing is dropped, and the numbers say nothing. */
static void test_slowed(void **state)
{
    struct atoll_sampling s;
    struct atoll_sampling_rules rules = base;
    struct atoll_sampling_sample slow = {2e6, -1, 0, 1};
    enum atoll_sampling_state now = ATOLL_SAMPLING_MORE;
    (void)state;
    rules.interval_target = 1e-9;
    assert_int_equal(atoll_sampling_init(&s, &rules, NULL), 0);
    for (int i = 0; i < 28; i++) {
        assert_int_equal(now, ATOLL_SAMPLING_MORE);
        assert_false(is_behind(&s, 1e6));
        now = atoll_sampling_take(&s, &slow, 1);
    }
    assert_int_equal(now, ATOLL_SAMPLING_UNSTABLE);
    assert_int_equal(s.slowed, 28);
    assert_int_equal(atoll_sampling_fault_of(&s), ATOLL_SAMPLING_SLOWED);
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
        assert_int_equal(atoll_duel_differ(rows[i].one_hz, rows[i].other_hz, 0.02), rows[i].differ);
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
        cmocka_unit_test(test_stops),           cmocka_unit_test(test_sample_limit),
        cmocka_unit_test(test_disturbed),       cmocka_unit_test(test_disturbed_ends),
        cmocka_unit_test(test_chosen_samples),  cmocka_unit_test(test_disturbed_drop),
        cmocka_unit_test(test_drop_of_several), cmocka_unit_test(test_busy_of_several),
        cmocka_unit_test(test_slowed),          cmocka_unit_test(test_duel_clocks),
        cmocka_unit_test(test_duel_plan),       cmocka_unit_test(test_duel_decides)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
