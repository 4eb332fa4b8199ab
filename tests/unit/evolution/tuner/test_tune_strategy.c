/* What every strategy owes, each alone and all together, over spaces without a plan. */
#include <math.h>
#include "tests/support/expect.h"

#include <stdlib.h>
#include <string.h>

#include "evolution/tuner/tune_trials.h"

#define ALL ((1u << ATOLL_TUNE_STRATEGIES) - 1)

static struct atoll_space grid(size_t count, size_t radix, atoll_space_legal *legal,
                               atoll_space_prefix *prefix)
{
    struct atoll_space s;
    memset(&s, 0, sizeof(s));
    s.count = count;
    s.legal = legal;
    s.prefix = prefix;
    for (size_t i = 0; i < count; i++) {
        s.params[i].value_count = radix;
        for (size_t v = 0; v < radix; v++)
            s.params[i].values[v] = (int64_t)v + 1;
    }
    return s;
}

static int all_legal(const void *context, const struct atoll_point *point)
{
    return 1;
}

static int odd_sum(const void *context, const struct atoll_point *point)
{
    unsigned sum = 0;
    for (size_t i = 0; i < ATOLL_SPACE_BYTES; i++)
        sum += point->digits[i];
    return sum % 3 != 2;
}

/* Neighbouring digits differ by at most one, and the first two are equal: one point in 10^23 of 16 x 64. */
static int chain_prefix(const void *context, const struct atoll_point *point, size_t known)
{
    int step = known < 2 ? 0 : point->digits[known - 1] - point->digits[known - 2];
    return known == 2 ? step == 0 : abs(step) <= 1;
}

static int chain(const void *context, const struct atoll_point *point)
{
    for (size_t known = 2; known <= 16; known++)
        if (!chain_prefix(NULL, point, known))
            return 0;
    return 1;
}

static double bowl(const struct atoll_choice *c)
{
    double time = 100;
    for (size_t i = 0; i < c->count; i++)
        time += (double)((c->values[i] - 4) * (c->values[i] - 4)) * (double)(1 + i % 3);
    return time;
}

enum answers { TIMES, FAILURES, MIXED };

/* Answers the nth proposal, or leaves it pending. */
static void answer(struct atoll_tune *tune, const struct atoll_choice *c, unsigned n, enum answers answers)
{
    struct atoll_tune_outcome o = {.time_ns = bowl(c), .lo_ns = bowl(c) * 0.9, .hi_ns = bowl(c) * 1.1};
    o.kind = answers == FAILURES ? ATOLL_TUNE_FAILED : ATOLL_TUNE_CORRECT;
    if (answers == MIXED && n % 7 == 3)
        return;
    if (answers == MIXED && n % 5 == 2)
        o.kind = ATOLL_TUNE_FAILED;
    if (answers == MIXED && n % 11 == 4)
        o.kind = ATOLL_TUNE_CENSORED;
    atoll_tune_record(tune, c, &o);
}

static struct atoll_tune *create(const struct atoll_space *space, unsigned strategies)
{
    struct atoll_tune *tune = atoll_tune_create_space(space, NULL);
    struct atoll_tune_settings settings = atoll_tune_settings_default();
    settings.strategies = strategies;
    atoll_tune_set(tune, &settings);
    return tune;
}

/* Proposes up to limit times; each must be legal and new.  Returns how many. */
static unsigned spend(const struct atoll_space *space, unsigned strategies, enum answers answers,
                      unsigned limit)
{
    struct atoll_tune *tune = create(space, strategies);
    struct atoll_random random = {7, 0};
    struct atoll_point *seen = calloc(limit, sizeof(*seen));
    struct atoll_choice c;
    unsigned count = 0;
    while (count < limit && atoll_tune_propose(tune, &random, count % 3 ? NULL : &c, &c, NULL) == 1) {
        assert_int_equal(atoll_space_point(space, &c, &seen[count]), 1);
        assert_true(space->legal(space->context, &seen[count]));
        for (unsigned i = 0; i < count; i++)
            assert_true(memcmp(&seen[i], &seen[count], sizeof(*seen)) != 0);
        answer(tune, &c, count++, answers);
    }
    if (count < limit) {
        assert_true(atoll_tune_exhausted(tune));
        assert_int_equal(atoll_tune_propose(tune, &random, NULL, &c, NULL), 0);
    }
    free(seen);
    atoll_tune_destroy(tune);
    return count;
}

static void every_strategy_exhausts_exactly(void **state)
{
    static const struct {
        size_t count, radix;
        atoll_space_legal *legal;
        unsigned points;
    } cases[] = {{3, 6, odd_sum, 144},   {1, 1, all_legal, 1}, {4, 1, all_legal, 1},
                 {1, 12, all_legal, 12}, {0, 0, all_legal, 1}, {2, 2, odd_sum, 3}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_space s = grid(cases[i].count, cases[i].radix, cases[i].legal, NULL);
        for (unsigned strategies = 0; strategies <= ALL; strategies = strategies ? strategies * 2 : 1)
            for (enum answers a = TIMES; a <= MIXED; a++)
                assert_int_equal(spend(&s, strategies, a, 200), cases[i].points);
        assert_int_equal(spend(&s, ALL, MIXED, 200), cases[i].points);
    }
}

static void every_strategy_lives_in_a_vast_space(void **state)
{
    struct atoll_space rare = grid(16, 64, chain, chain_prefix), open = grid(16, 64, all_legal, NULL);
    for (unsigned strategies = 1; strategies <= ALL; strategies *= 2) {
        for (enum answers a = TIMES; a <= MIXED; a++) {
            assert_int_equal(spend(&rare, strategies, a, 40), 40);
            assert_int_equal(spend(&open, strategies, a, 40), 40);
        }
    }
    assert_int_equal(spend(&rare, ALL, MIXED, 60), 60);
}

/* More trials than the model has rows: it lives on a selection. */
static void the_model_outlives_its_rows(void **state)
{
    struct atoll_space s = grid(5, 7, odd_sum, NULL);
    assert_int_equal(spend(&s, 1u << ATOLL_TUNE_MODEL, MIXED, 400), 400);
}

static void any_number_may_be_pending(void **state)
{
    struct atoll_space s = grid(4, 8, all_legal, NULL);
    struct atoll_tune *tune = create(&s, 1u << ATOLL_TUNE_MODEL);
    struct atoll_random random = {7, 0};
    struct atoll_choice c;
    for (unsigned i = 0; i < 400; i++) {
        assert_int_equal(atoll_tune_propose(tune, &random, NULL, &c, NULL), 1);
        if (i < 12)
            answer(tune, &c, i, TIMES);
    }
    atoll_tune_destroy(tune);
}

/* Where the bowl is lowest half of the points fail: the model learns where not to look. */
static void failures_are_avoided(void **state)
{
    struct atoll_space s = grid(5, 8, all_legal, NULL);
    unsigned failed = 0;
    SKIP_UNDER_SANITIZERS();
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct atoll_tune *tune = create(&s, 1u << ATOLL_TUNE_MODEL);
        struct atoll_random random = {seed, 0};
        struct atoll_choice c;
        for (unsigned i = 0; i < 60; i++) {
            assert_int_equal(atoll_tune_propose(tune, &random, NULL, &c, NULL), 1);
            int fails = c.values[0] <= 4;
            failed += i >= 30 && fails;
            atoll_tune_result(tune, &c, fails ? 0 : bowl(&c));
        }
        atoll_tune_destroy(tune);
    }
    if (failed > 70) /* of one that ignores them it is 102 */
        fail_msg("%u of 120 failed", failed);
}

static double best_of(const struct atoll_space *space, unsigned strategies, uint64_t seed, unsigned budget)
{
    struct atoll_tune *tune = create(space, strategies);
    struct atoll_random random = {seed, 0};
    struct atoll_choice c;
    double best = HUGE_VAL;
    for (unsigned i = 0; i < budget; i++) {
        assert_int_equal(atoll_tune_propose(tune, &random, NULL, &c, NULL), 1);
        best = fmin(best, bowl(&c));
        answer(tune, &c, i, TIMES);
    }
    atoll_tune_destroy(tune);
    return best;
}

static void every_strategy_beats_random(void **state)
{
    struct atoll_space s = grid(6, 8, odd_sum, NULL);
    SKIP_UNDER_SANITIZERS();
    for (unsigned strategy = 0; strategy < ATOLL_TUNE_RANDOM; strategy++) {
        unsigned wins = 0;
        for (uint64_t seed = 1; seed <= 12; seed++)
            wins += best_of(&s, 1u << strategy, seed, 120) < best_of(&s, 1u << ATOLL_TUNE_RANDOM, seed, 120);
        if (wins < 10)
            fail_msg("%s won %u of 12", atoll_tune_strategy_name(strategy), wins);
    }
}

static void save(struct atoll_tune *tune, struct atoll_buffer *ret_bytes)
{
    atoll_buffer_init(ret_bytes, 1u << 20);
    struct atoll_codec out = {.out = ret_bytes};
    assert_int_equal(atoll_tune_codec(tune, &out, NULL), 0);
}

/* 0, or -1 where the bytes are refused. */
static int load(struct atoll_tune *tune, const void *bytes, size_t length)
{
    struct atoll_reader reader;
    atoll_reader_init(&reader, bytes, length);
    struct atoll_codec in = {.in = &reader};
    assert_int_equal(atoll_tune_codec(tune, &in, NULL), 0);
    return atoll_reader_finish(&reader, "tuner", NULL);
}

/* Saved in the middle, with hints, pending ones, failures: the loaded tuner saves the same bytes and goes on alike. */
static void continue_alike(const struct atoll_space *space, unsigned strategies, unsigned middle)
{
    struct atoll_tune *a = create(space, strategies), *b = create(space, strategies);
    struct atoll_random random = {5, 0}, other;
    struct atoll_choice c, d;
    struct atoll_buffer first, second;
    for (unsigned i = 0; i < middle; i++) {
        assert_int_equal(atoll_tune_propose(a, &random, NULL, &c, NULL), 1);
        answer(a, &c, i, MIXED);
        if (i % 9 == 0) {
            assert_int_equal(
                atoll_tune_hint(a, &c, &(struct atoll_tune_outcome){.time_ns = 3 * bowl(&c)}, NULL), 0);
        }
    }
    save(a, &first);
    assert_int_equal(load(b, first.data, first.length), 0);
    save(b, &second);
    assert_int_equal(first.length, second.length);
    assert_memory_equal(first.data, second.data, first.length);
    other = random;
    for (unsigned i = 0; i < 30; i++) {
        int more = atoll_tune_propose(a, &random, NULL, &c, NULL);
        assert_int_equal(atoll_tune_propose(b, &other, NULL, &d, NULL), more);
        if (!more)
            break;
        assert_memory_equal(&c, &d, sizeof(c));
        answer(a, &c, i, MIXED);
        answer(b, &d, i, MIXED);
    }
    atoll_buffer_fini(&first);
    atoll_buffer_fini(&second);
    atoll_tune_destroy(a);
    atoll_tune_destroy(b);
}

static void every_strategy_goes_on_after_loading(void **state)
{
    struct atoll_space small = grid(3, 5, odd_sum, NULL), large = grid(6, 8, odd_sum, NULL),
                       vast = grid(16, 64, chain, chain_prefix), open = grid(16, 64, all_legal, NULL);
    for (unsigned strategies = 1; strategies <= ALL; strategies *= 2) {
        continue_alike(&small, strategies, 40);
        continue_alike(&large, strategies, 55);
        continue_alike(&vast, strategies, 30);
    }
    continue_alike(&large, ALL, RANDOM_CASES(330));
    continue_alike(&open, 1u << ATOLL_TUNE_MODEL, 55);
}

/* Every cut and every changed byte is refused, or leaves a tuner that works. */
static void hostile_states(void **state)
{
    struct atoll_space s = grid(3, 5, odd_sum, NULL);
    struct atoll_tune *tune = create(&s, ALL);
    struct atoll_random random = {5, 0};
    struct atoll_buffer bytes;
    struct atoll_choice c;
    for (unsigned i = 0; i < 18;
         i++) { /* the last ones pending: what was loaded is used before it is chosen anew */
        assert_int_equal(atoll_tune_propose(tune, &random, NULL, &c, NULL), 1);
        if (i < 14)
            answer(tune, &c, i, MIXED);
    }
    save(tune, &bytes);
    for (size_t i = 0; i < bytes.length; i += EVERY_BYTE) {
        struct atoll_tune *cut = create(&s, ALL), *changed = create(&s, ALL);
        assert_int_equal(load(cut, bytes.data, i), -1);
        uint8_t *byte = (uint8_t *)bytes.data + i, held = *byte;
        *byte = (uint8_t)(held ^ 0xa5);
        if (load(changed, bytes.data, bytes.length) == 0)
            assert_in_range(atoll_tune_propose(changed, &random, NULL, &c, NULL), 0, 1);
        *byte = held;
        atoll_tune_destroy(cut);
        atoll_tune_destroy(changed);
    }
    atoll_buffer_fini(&bytes);
    atoll_tune_destroy(tune);
}

static void hints_are_tried_first_and_never_count(void **state)
{
    struct atoll_space s = grid(4, 8, all_legal, NULL);
    struct atoll_tune *tune = create(&s, ALL);
    struct atoll_random random = {5, 0};
    struct atoll_choice c, good = {.count = 4, .values = {4, 4, 4, 5}},
                           bad = {.count = 4, .values = {1, 1, 1, 1}},
                           odd = {.count = 4, .values = {77, 1, 1, 1}}, few = {.count = 2, .values = {1, 1}};
    struct atoll_tune_outcome fast = {.time_ns = 5}, slow = {.time_ns = 9},
                              failed = {.kind = ATOLL_TUNE_FAILED}, nonsense = {.time_ns = NAN};
    assert_int_equal(atoll_tune_hint(tune, &bad, &slow, NULL), 0);
    assert_int_equal(atoll_tune_hint(tune, &good, &fast, NULL), 0);
    assert_int_equal(atoll_tune_hint(tune, &odd, &fast, NULL), 0);
    assert_int_equal(atoll_tune_hint(tune, &few, &fast, NULL), 0);
    assert_int_equal(atoll_tune_hint(tune, &bad, &failed, NULL), 0);
    assert_int_equal(atoll_tune_hint(tune, &good, &nonsense, NULL), 0);
    assert_true(atoll_tune_bar_ns(tune) == HUGE_VAL);
    assert_int_equal(atoll_tune_propose(tune, &random, NULL, &c, NULL), 1);
    assert_memory_equal(c.values, good.values, 4 * sizeof(*c.values));
    assert_int_equal(atoll_tune_propose(tune, &random, NULL, &c, NULL), 1);
    assert_memory_equal(c.values, bad.values, 4 * sizeof(*c.values));
    atoll_tune_destroy(tune);
}

/* Of the same kernel on a device half as fast: the model needs fewer evaluations. */
static double best_with_hints(const struct atoll_space *space, uint64_t seed, unsigned hints, int useful)
{
    struct atoll_tune *tune = create(space, ALL);
    struct atoll_random random = {seed, 0}, spread = {99 + seed, 0};
    double best = HUGE_VAL;
    struct atoll_choice c = {.count = space->count};
    for (unsigned i = 0; i < hints; i++) {
        for (size_t k = 0; k < c.count; k++)
            c.values[k] = 1 + (int64_t)atoll_random_below(atoll_random_next(&spread), 8);
        double time = useful ? 2 * bowl(&c) : 1 + (double)(atoll_random_next(&spread) % 1000);
        atoll_tune_hint(tune, &c, &(struct atoll_tune_outcome){.time_ns = time}, NULL);
    }
    for (unsigned i = 0; i < 25; i++) {
        assert_int_equal(atoll_tune_propose(tune, &random, NULL, &c, NULL), 1);
        best = fmin(best, bowl(&c));
        answer(tune, &c, i, TIMES);
    }
    atoll_tune_destroy(tune);
    return best;
}

static void hints_help_and_nonsense_does_little_harm(void **state)
{
    struct atoll_space s = grid(6, 8, all_legal, NULL);
    double without = 0, helped = 0, misled = 0;
    SKIP_UNDER_SANITIZERS();
    for (uint64_t seed = 1; seed <= 10; seed++) {
        without += best_with_hints(&s, seed, 0, 0) - 100;
        helped += best_with_hints(&s, seed, 60, 1) - 100;
        misled += best_with_hints(&s, seed, 60, 0) - 100;
    }
    assert_true(helped < 0.5 * without);
    assert_true(misled < 3 * without);
}

static void outcomes_are_revised(void **state)
{
    struct atoll_space s = grid(2, 8, all_legal, NULL);
    struct atoll_tune *tune = create(&s, ALL);
    struct atoll_random random = {5, 0};
    struct atoll_choice c[4];
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(atoll_tune_propose(tune, &random, NULL, &c[i], NULL), 1);
    assert_true(atoll_tune_bar_ns(tune) == HUGE_VAL);
    for (unsigned i = 0; i < 4; i++)
        atoll_tune_result(tune, &c[i], 10 + i);
    assert_true(atoll_tune_bar_ns(tune) == 20);
    atoll_tune_result(tune, &c[0], 40); /* raised */
    assert_true(atoll_tune_bar_ns(tune) == 22);
    atoll_tune_result(tune, &c[1], 0); /* withdrawn */
    assert_true(atoll_tune_bar_ns(tune) == 24);
    atoll_tune_record(tune, &c[2], &(struct atoll_tune_outcome){ATOLL_TUNE_CENSORED, 50, 0, 0});
    assert_true(atoll_tune_bar_ns(tune) == 26);
    atoll_tune_record(tune, &c[3], &(struct atoll_tune_outcome){ATOLL_TUNE_CORRECT, 13, 12, 15});
    assert_true(atoll_tune_bar_ns(tune) == 30);
    atoll_tune_record(tune, &c[3], &(struct atoll_tune_outcome){ATOLL_TUNE_CORRECT, -13, 12, 15});
    assert_true(atoll_tune_bar_ns(tune) == 80);
    struct atoll_tune_settings settings = atoll_tune_settings_default();
    settings.racing = 0;
    atoll_tune_set(tune, &settings);
    assert_true(atoll_tune_bar_ns(tune) == HUGE_VAL);
    for (unsigned i = 0; i < 60; i++)
        assert_int_equal(atoll_tune_propose(tune, &random, NULL, &c[0], NULL), 1);
    assert_int_equal(atoll_tune_propose(tune, &random, NULL, &c[0], NULL), 0);
    atoll_tune_destroy(tune);
}

/* The model starts; where it finds nothing, others come forward; what improves stays. */
static void the_bandit_follows_success(void **state)
{
    struct atoll_space s = grid(3, 8, all_legal, NULL);
    struct atoll_tune *tune = create(&s, ALL);
    uint8_t order[ATOLL_TUNE_STRATEGIES];
    struct atoll_trial trial = {
        .state = TRIAL_CORRECT, .time_ns = 50, .strategy = ATOLL_TUNE_MODEL, .centre = UINT32_MAX};
    assert_int_equal(atoll_tune_bandit(tune, order), ATOLL_TUNE_STRATEGIES);
    assert_int_equal(order[0], ATOLL_TUNE_MODEL);
    for (uint8_t i = 0; i < 40; i++) {
        trial.point.digits[0] = i % 8;
        trial.point.digits[1] = i / 8;
        trial.time_ns = 50 + i;
        assert_int_equal(atoll_tune_append(tune, &trial, NULL), 0);
    }
    atoll_tune_bandit(tune, order);
    assert_int_equal(order[0], ATOLL_TUNE_LOCAL);
    trial.strategy = ATOLL_TUNE_GENETIC;
    trial.time_ns = 10;
    trial.point.digits[2] = 1;
    assert_int_equal(atoll_tune_append(tune, &trial, NULL), 0);
    atoll_tune_bandit(tune, order);
    assert_int_equal(order[0], ATOLL_TUNE_GENETIC);
    struct atoll_tune_settings settings = atoll_tune_settings_default();
    settings.strategies = 1u << ATOLL_TUNE_DIFFERENTIAL | 1u << ATOLL_TUNE_RANDOM;
    atoll_tune_set(tune, &settings);
    assert_int_equal(atoll_tune_bandit(tune, order), 2);
    assert_int_equal(order[0], ATOLL_TUNE_DIFFERENTIAL);
    assert_string_equal(atoll_tune_strategy_name(order[0]), "differential");
    assert_string_equal(atoll_tune_strategy_name(ATOLL_TUNE_STRATEGIES), "none");
    atoll_tune_destroy(tune);
}

/* Log times; the slowest quarter drawn together; foreign ones about their own mean. */
static void targets_of_the_model(void **state)
{
    struct atoll_space s = grid(2, 8, all_legal, NULL);
    struct atoll_tune *tune = create(&s, ALL);
    static const struct {
        uint8_t state;
        double time;
        enum atoll_gp_known known;
        double value;
    } cases[] = {{TRIAL_CORRECT, 1, ATOLL_GP_EXACT, 0},         {TRIAL_CORRECT, 2, ATOLL_GP_EXACT, 1},
                 {TRIAL_CORRECT, 4, ATOLL_GP_EXACT, 2},         {TRIAL_CORRECT, 8, ATOLL_GP_EXACT, 3},
                 {TRIAL_CORRECT, 128, ATOLL_GP_EXACT, 3.4},     {TRIAL_CENSORED, 2, ATOLL_GP_AT_LEAST, 1},
                 {TRIAL_CENSORED, 128, ATOLL_GP_AT_LEAST, 3.4}, {TRIAL_FAILED, 0, ATOLL_GP_UNKNOWN, 0},
                 {TRIAL_PENDING, 0, ATOLL_GP_UNKNOWN, 0}};
    struct atoll_surrogate_row rows[11] = {{0}};
    struct atoll_gp_target targets[11];
    uint32_t count = sizeof(cases) / sizeof(*cases);
    for (uint32_t i = 0; i < count; i++) {
        struct atoll_trial trial = {.point = {{(uint8_t)(i % 8), (uint8_t)(i / 8)}},
                                    .state = cases[i].state,
                                    .centre = UINT32_MAX,
                                    .time_ns = cases[i].time};
        assert_int_equal(atoll_tune_append(tune, &trial, NULL), 0);
        rows[i].index = i;
    }
    for (uint32_t i = 0; i < 2; i++) {
        struct atoll_trial hint = {.state = TRIAL_CORRECT, .time_ns = i ? 4000 : 1000};
        assert_int_equal(atoll_tune_append_hint(tune, &hint, NULL), 0);
        rows[count + i] = (struct atoll_surrogate_row){i, 1, 0};
    }
    assert_true(atoll_surrogate_targets(tune, rows, count + 2, targets) == 0);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(targets[i].known, cases[i].known);
        assert_true(cases[i].known == ATOLL_GP_UNKNOWN ||
                    fabs(targets[i].value - cases[i].value * log(2)) < 1e-9);
    }
    assert_true(fabs(targets[count].value + targets[count + 1].value) < log(2) * 2);
    assert_true(targets[count].value < 0 && targets[count + 1].value > 0);
    atoll_tune_destroy(tune);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_strategy_exhausts_exactly),
        cmocka_unit_test(every_strategy_lives_in_a_vast_space),
        cmocka_unit_test(the_model_outlives_its_rows),
        cmocka_unit_test(any_number_may_be_pending),
        cmocka_unit_test(failures_are_avoided),
        cmocka_unit_test(targets_of_the_model),
        cmocka_unit_test(every_strategy_beats_random),
        cmocka_unit_test(every_strategy_goes_on_after_loading),
        cmocka_unit_test(hostile_states),
        cmocka_unit_test(hints_are_tried_first_and_never_count),
        cmocka_unit_test(hints_help_and_nonsense_does_little_harm),
        cmocka_unit_test(outcomes_are_revised),
        cmocka_unit_test(the_bandit_follows_success),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
