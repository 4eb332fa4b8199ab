#include "tests/unit/bench/recorded.h"

#include <math.h>

#include "bench/replay.h"
#include "evolution/tuner/tune.h"

#define SIDE  6
#define LEGAL (SIDE * SIDE - 1)
#define BEST  11e6 /* ns */

static struct atoll_curves searched(const struct atoll_replay *replay, uint64_t seed, size_t budget)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_curves curves;
    assert_int_equal(atoll_curves_init(&curves, 1, budget, NULL), 0);
    if (atoll_replay_tuner(replay, seed, &curves, 0, &err) != 0)
        fail_msg("%s", err.text);
    return curves;
}

static void falls(const struct atoll_curves *curves)
{
    for (size_t i = 1; i < curves->budget; i++)
        assert_true(curves->best[i] <= curves->best[i - 1]);
}

/* More evaluations than configurations: the search ends, and has seen them all. */
static void everything_is_found_once(void **state)
{
    struct atoll_t4 *t4 = recorded_grid(SIDE);
    for (size_t pending = 1; pending <= 8; pending += 7) {
        struct atoll_curves curves = searched(&(struct atoll_replay){t4, pending, 0, 0, 0}, 3, LEGAL + 5);
        falls(&curves);
        expect_close(curves.best[LEGAL - 1], BEST, 1e-12);
        expect_close(curves.best[LEGAL + 4], BEST, 1e-12);
        atoll_curves_fini(&curves);
    }
    atoll_t4_destroy(t4);
}

/* Mean over seeds of the best after all of the budget, one strategy alone. */
static double found_by(const struct atoll_t4 *t4, unsigned strategy)
{
    enum { BUDGET = 60, SEEDS = 10 };
    struct atoll_replay replay = {t4, 1, 0, 1u << strategy, 0};
    double sum = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct atoll_curves curves = searched(&replay, seed, BUDGET);
        sum += curves.best[BUDGET - 1];
        atoll_curves_fini(&curves);
    }
    return sum / SEEDS;
}

/* A strategy alone is another search: in a grid that falls to one corner a model finds more than chance. */
static void strategies_alone(void **state)
{
    struct atoll_t4 *t4 = recorded_grid(20);
    double model = found_by(t4, ATOLL_TUNE_MODEL), random = found_by(t4, ATOLL_TUNE_RANDOM);
    if (!(model < random))
        fail_msg("the model finds %.3f ms in the mean, random search %.3f", model / 1e6, random / 1e6);
    print_message("model %.3f ms, random %.3f\n", model / 1e6, random / 1e6);
    atoll_t4_destroy(t4);
}

static void a_seed_says_everything(void **state)
{
    struct atoll_t4 *t4 = recorded_grid(SIDE);
    struct atoll_replay replay = {t4, 4, 1, 0, 0};
    struct atoll_curves a = searched(&replay, 7, 20), b = searched(&replay, 7, 20),
                        c = searched(&replay, 8, 20);
    assert_memory_equal(a.best, b.best, 20 * sizeof(*a.best));
    assert_memory_not_equal(a.best, c.best, 20 * sizeof(*a.best));
    atoll_curves_fini(&a);
    atoll_curves_fini(&b);
    atoll_curves_fini(&c);
    atoll_t4_destroy(t4);
}

/* Recorded runs are 1.25 ms beside the time: in some searches the second best looks best.  The curve has the recorded
 * times, whole milliseconds. */
static void noise_chooses_and_the_truth_is_shown(void **state)
{
    struct atoll_t4 *t4 = recorded_grid(SIDE);
    unsigned first = 0, other = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct atoll_curves curves = searched(&(struct atoll_replay){t4, 1, 1, 0, 0}, seed, LEGAL);
        double last = curves.best[LEGAL - 1];
        assert_true(fabs(fmod(last, 1e6)) < 1);
        first += fabs(last - BEST) < 1;
        other += fabs(last - BEST - 1e6) < 1;
        atoll_curves_fini(&curves);
    }
    assert_true(first > 10 && other > 5);
    atoll_t4_destroy(t4);
}

static void random_search_repeats_nothing(void **state)
{
    struct atoll_t4 *t4 = recorded_grid(SIDE);
    struct atoll_replay replay = {t4, 1, 0, 0, 0};
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct atoll_curves curves;
        assert_int_equal(atoll_curves_init(&curves, 1, LEGAL, NULL), 0);
        assert_int_equal(atoll_replay_random(&replay, seed, &curves, 0, NULL), 0);
        falls(&curves);
        expect_close(curves.best[LEGAL - 1], BEST, 1e-12);
        atoll_curves_fini(&curves);
    }
    atoll_t4_destroy(t4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_found_once),
        cmocka_unit_test(strategies_alone),
        cmocka_unit_test(a_seed_says_everything),
        cmocka_unit_test(noise_chooses_and_the_truth_is_shown),
        cmocka_unit_test(random_search_repeats_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
