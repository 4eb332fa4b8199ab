/* An unstable baseline is tried again later, and its task goes on as soon as one try was stable. */
#include "tests/support/simulation.h"

#define FIRST_TRIES 21 /* the first one, and twenty at once */
#define MORE_TRIES  4  /* of every further round */
#define PAUSE_NS    INT64_C(15000000000)
#define ROUNDS      5

static struct atoll_buffer tasks[2];

static int set_up(void **state)
{
    static const struct sim_seed seeds[] = {{"naive", NULL, NULL}, {"plain", NULL, NULL}};
    static const char *const names[] = {"alpha", "beta"};
    for (size_t i = 0; i < 2; i++) {
        atoll_buffer_init(&tasks[i], 1u << 24);
        sim_task(names[i], seeds, 2, 1, &tasks[i]);
    }
    return 0;
}

static int tear_down(void **state)
{
    for (size_t i = 0; i < 2; i++)
        atoll_buffer_fini(&tasks[i]);
    return 0;
}

static struct sim *start(uint32_t rounds, uint32_t task_count)
{
    struct atoll_search search;
    struct sim *s = malloc(sizeof(*s));
    assert_non_null(s);
    atoll_search_defaults(&search);
    search.noop_interval = 0;
    search.baseline_rounds = rounds;
    sim_start(s, 1, &search);
    for (uint32_t i = 0; i < task_count; i++)
        sim_add_task(s, i, &tasks[i]);
    sim_capacity(s, 1);
    return s;
}

static void end(struct sim *s)
{
    for (unsigned i = 0; i < 1000 && s->order_count; i++)
        sim_answer(s);
    sim_check_replay(s);
    sim_fini(s);
    free(s);
}

static struct atoll_task_status status_of(const struct sim *s, uint32_t task)
{
    struct atoll_task_status t;
    assert_int_equal(atoll_engine_task_status(s->engine, task, 0, &t), 0);
    return t;
}

/* Everything that is under way of task 0 is unstable; returns its last order. */
static struct atoll_decision fail_round(struct sim *s, unsigned tries)
{
    struct atoll_decision last = s->orders[0];
    for (unsigned i = 0; i < tries; i++) {
        assert_int_equal(s->order_count, 1);
        last = s->orders[0];
        sim_fail(s, 0, ATOLL_V_UNSTABLE);
        sim_reload(s);
    }
    assert_int_equal(s->order_count, 0);
    return last;
}

/* Time passes; the last order may go out again, as it was. */
static void wait(struct sim *s, const struct atoll_decision *last, int64_t ns)
{
    s->failed = *last;
    s->now_ns += ns;
    sim_simple(s, ATOLL_EVENT_TICK);
    s->failed.type = (enum atoll_decision_type)0;
    sim_reload(s);
}

/* Round after round, each twice as far away as the one before; 0: the first one is stable. */
static void rounds_grow_apart(void **state)
{
    for (uint32_t bad = 0; bad <= ROUNDS + 1; bad++) {
        struct sim *s = start(ROUNDS, 1);
        struct atoll_task_status t;
        for (uint32_t round = 0; round < bad; round++) {
            struct atoll_decision last = fail_round(s, round ? MORE_TRIES : FIRST_TRIES);
            t = status_of(s, 0);
            assert_int_equal(t.unstable_rounds, round);
            assert_int_equal(t.unstable_limit, ROUNDS);
            assert_int_equal(t.done, round == ROUNDS);
            if (round == ROUNDS)
                break;
            wait(s, &last, (PAUSE_NS << round) - 1);
            assert_int_equal(s->order_count, 0);
            wait(s, &last, 1);
            assert_int_equal(s->order_count, 1);
            assert_true(s->orders[0].evaluation > last.evaluation);
        }
        end(s);
    }
}

/* The task is measured by it from then on, as by one that was stable at once. */
static void a_stable_try_opens_the_task(void **state)
{
    struct sim *s = start(ROUNDS, 1);
    struct atoll_decision last = fail_round(s, FIRST_TRIES);
    wait(s, &last, PAUSE_NS);
    sim_answer(s);
    struct atoll_task_status t = status_of(s, 0);
    expect_close(t.baseline_ns, sim_time(&last.candidate), 1e-12);
    assert_true(atoll_id_equal(&t.baseline, &last.candidate));
    assert_int_equal(t.unstable_limit, 0);
    assert_int_equal(s->counts[ATOLL_DECIDE_BASELINE], 1);
    assert_int_equal(s->order_count, 1); /* the other seed */
    end(s);
}

/* A task that waits keeps no other from its device. */
static void others_go_on_meanwhile(void **state)
{
    struct sim *s = start(ROUNDS, 2);
    for (unsigned i = 0; i < 200 && status_of(s, 0).unstable_limit == 0; i++)
        for (size_t k = 0; k < s->order_count; k++)
            if (s->orders[k].task == 0)
                sim_fail(s, k, ATOLL_V_UNSTABLE);
    assert_int_equal(status_of(s, 0).unstable_limit, ROUNDS);
    while (s->order_count)
        sim_answer(s);
    assert_int_equal(status_of(s, 1).done, 1);
    assert_int_equal(s->counts[ATOLL_DECIDE_STOP], 0); /* for the other one waits */
    assert_int_equal(status_of(s, 0).done, 0);
    end(s);
}

/* All of its rounds are over, or it has none: it is unstable for good, until the search is extended. */
static void an_extended_search_tries_again(void **state)
{
    static const struct atoll_extension by = {.evaluations = 100};
    for (uint32_t rounds = 0; rounds < 2; rounds++) {
        struct sim *s = start(rounds, 1);
        struct atoll_decision last = fail_round(s, FIRST_TRIES);
        if (rounds) {
            wait(s, &last, PAUSE_NS);
            last = fail_round(s, MORE_TRIES);
        }
        assert_int_equal(s->counts[ATOLL_DECIDE_STOP], 1);
        assert_int_equal(status_of(s, 0).reason, ATOLL_REASON_NO_BASELINE);
        s->failed = last;
        sim_extend(s, &by, 1);
        s->failed.type = (enum atoll_decision_type)0;
        sim_reload(s);
        assert_int_equal(s->order_count, rounds);
        while (s->order_count)
            sim_answer(s);
        assert_int_equal(status_of(s, 0).reason, rounds ? ATOLL_REASON_EXHAUSTED : ATOLL_REASON_NO_BASELINE);
        assert_int_equal(status_of(s, 0).correct, rounds ? 2 : 0);
        end(s);
    }
}

/* Whoever ends the search ends the wait. */
static void an_end_ends_the_wait(void **state)
{
    struct sim *s = start(ROUNDS, 1);
    struct atoll_decision last = fail_round(s, FIRST_TRIES);
    sim_simple(s, ATOLL_EVENT_FINISH);
    assert_int_equal(s->counts[ATOLL_DECIDE_STOP], 1);
    wait(s, &last, PAUSE_NS);
    assert_int_equal(s->order_count, 0);
    end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_grow_apart),      cmocka_unit_test(a_stable_try_opens_the_task),
        cmocka_unit_test(others_go_on_meanwhile), cmocka_unit_test(an_extended_search_tries_again),
        cmocka_unit_test(an_end_ends_the_wait),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
