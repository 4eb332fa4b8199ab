/* Times are given answer by answer, so that who meets whom is known. */
#include "tests/support/simulation.h"

#include <math.h>

#define WIDE "\"A\": [1, 2, 3, 4, 5, 6, 7, 8], \"B\": [1, 2, 3, 4, 5, 6, 7, 8]"

static const struct sim_seed seeds[] = {{"naive", NULL, NULL}, {"other", WIDE, NULL}, {"wide", WIDE, NULL}};

static int set_up(void **state)
{
    struct atoll_buffer *task = malloc(sizeof *task);
    atoll_buffer_init(task, 1u << 24);
    sim_task("duels", seeds, 3, 1, task);
    *state = task;
    return 0;
}

static int tear_down(void **state)
{
    atoll_buffer_fini(*state);
    free(*state);
    return 0;
}

/* One task whose baseline is measured (1,000 ns) and whose queue is full. */
static struct sim *start(void **state, uint32_t islands, uint32_t noop_interval, uint32_t migration_interval)
{
    struct atoll_search search;
    struct sim *s = malloc(sizeof *s);
    assert_non_null(s);
    atoll_search_defaults(&search);
    search.islands = islands;
    search.noop_interval = noop_interval;
    search.generation_size = 1;
    search.migration_interval = migration_interval;
    search.stagnation_limit = 0;
    sim_start(s, 1, &search);
    s->cells = 1;
    sim_add_task(s, 0, *state);
    sim_capacity(s, 8);
    struct atoll_decision baseline = sim_take(s, 0);
    sim_evaluated(s, &baseline, ATOLL_V_CORRECT, 1000);
    assert_int_equal(s->order_count, 24);
    return s;
}

static void end(struct sim *s)
{
    sim_check_replay(s);
    sim_fini(s);
    free(s);
}

/* Answers one evaluation of a source (0 other, 1 wide) on an island (any: UINT32_MAX). */
static struct atoll_decision give(struct sim *s, unsigned source, uint32_t island, double time_ns)
{
    const char *language, *text;
    for (size_t at = 0; at < s->order_count; at++) {
        const struct atoll_decision *o = &s->orders[at];
        if (o->type != ATOLL_DECIDE_EVALUATE || (island != UINT32_MAX && o->island != island))
            continue;
        assert_int_equal(atoll_engine_source(s->engine, &o->source, &language, &text), 0);
        if (!strstr(text, source ? "/* wide */" : "/* other */"))
            continue;
        struct atoll_decision order = sim_take(s, at);
        sim_evaluated(s, &order, time_ns > 0 ? ATOLL_V_CORRECT : ATOLL_V_WRONG, time_ns);
        return order;
    }
    fail_msg("no evaluation of source %u under way", source);
    return s->orders[0];
}

static size_t find_duel(const struct sim *s, enum atoll_duel_purpose purpose)
{
    for (size_t at = 0; at < s->order_count; at++)
        if (s->orders[at].type == ATOLL_DECIDE_DUEL && s->orders[at].purpose == purpose)
            return at;
    fail_msg("no duel of purpose %d under way", (int)purpose);
    return 0;
}

static struct atoll_decision take_duel(struct sim *s, enum atoll_duel_purpose purpose)
{
    return sim_take(s, find_duel(s, purpose));
}

static void expect_duel(const struct sim *s, uint64_t count, const struct atoll_decision *candidate)
{
    assert_int_equal(s->duels[ATOLL_DUEL_PROMOTION], count);
    assert_true(atoll_id_equal(&s->last[ATOLL_DECIDE_DUEL].candidate, &candidate->candidate));
}

static double best_ns(const struct sim *s)
{
    struct atoll_task_status t;
    atoll_engine_task_status(s->engine, 0, &t);
    return t.best_ns;
}

static void the_fastest_waits(void **state)
{
    struct sim *s = start(state, 1, 0, 0);
    struct atoll_decision first = give(s, 0, UINT32_MAX, 900), fastest, duel;
    expect_duel(s, 1, &first);
    fastest = give(s, 1, UINT32_MAX, 700);
    give(s, 0, UINT32_MAX, 800);
    assert_int_equal(s->duels[ATOLL_DUEL_PROMOTION], 1);
    duel = take_duel(s, ATOLL_DUEL_PROMOTION);
    sim_duelled(s, &duel, ATOLL_V_CORRECT, 1, 1.1);
    expect_close(best_ns(s), 900, 1e-9);
    expect_duel(s, 2, &fastest);
    duel = take_duel(s, ATOLL_DUEL_PROMOTION);
    sim_duelled(s, &duel, ATOLL_V_CORRECT, 0, 1.0);
    assert_int_equal(s->counts[ATOLL_DECIDE_NOT_CONFIRMED], 1);
    expect_close(best_ns(s), 900, 1e-9);
    end(s);
}

static void only_by_the_margin(void **state)
{
    struct sim *s = start(state, 1, 0, 0);
    give(s, 0, UINT32_MAX, 991); /* 0.9 % */
    assert_int_equal(s->duels[ATOLL_DUEL_PROMOTION], 0);
    give(s, 1, UINT32_MAX, 985);
    assert_int_equal(s->duels[ATOLL_DUEL_PROMOTION], 1);
    end(s);
}

/* The paired time, not the lucky one, is what other instances must beat. */
static void a_lucky_instance_blocks_nobody(void **state)
{
    struct sim *s = start(state, 1, 0, 0);
    give(s, 0, UINT32_MAX, 500);
    struct atoll_decision duel = take_duel(s, ATOLL_DUEL_PROMOTION), next;
    sim_duelled(s, &duel, ATOLL_V_CORRECT, 0, 1.001);
    next = give(s, 0, UINT32_MAX, 900);
    expect_duel(s, 2, &next);
    give(s, 0, UINT32_MAX, 950); /* not the best instance of its template */
    sim_infrastructure(s, find_duel(s, ATOLL_DUEL_PROMOTION));
    assert_int_equal(s->counts[ATOLL_DECIDE_REDISPATCH], 1);
    duel = take_duel(s, ATOLL_DUEL_PROMOTION);
    sim_duelled(s, &duel, ATOLL_V_CORRECT, 0, 0.9);
    assert_int_equal(s->duels[ATOLL_DUEL_PROMOTION], 2);
    end(s);
}

static void wrong_in_a_duel_is_out(void **state)
{
    struct sim *s = start(state, 1, 1, 0);
    struct atoll_decision winner = give(s, 0, UINT32_MAX, 500), duel;
    duel = take_duel(s, ATOLL_DUEL_PROMOTION);
    sim_duelled(s, &duel, ATOLL_V_CORRECT, 1, 2);
    expect_close(best_ns(s), 500, 1e-9);
    duel = take_duel(s, ATOLL_DUEL_NOOP); /* every promotion here */
    assert_true(atoll_id_equal(&duel.candidate, &winner.candidate));
    sim_duelled(s, &duel, ATOLL_V_WRONG, 0, 0);
    assert_int_equal(s->counts[ATOLL_DECIDE_NOT_CONFIRMED], 1);
    expect_close(best_ns(s), 0, 1e-9); /* its cell was the only one */
    struct atoll_decision next = give(s, 0, UINT32_MAX, 950);
    assert_true(atoll_id_equal(&s->last[ATOLL_DECIDE_ELITE].candidate, &next.candidate));
    expect_close(best_ns(s), 950, 1e-9);
    end(s);
}

static void noops_are_counted_apart(void **state)
{
    struct sim *s = start(state, 1, 2, 0);
    struct atoll_task_status t;
    double time = 900;
    for (unsigned i = 0; i < 6; i++) {
        give(s, i % 2, UINT32_MAX, time);
        struct atoll_decision duel = take_duel(s, ATOLL_DUEL_PROMOTION);
        sim_duelled(s, &duel, ATOLL_V_CORRECT, 1, 1.1);
        time *= 0.9;
    }
    assert_int_equal(s->duels[ATOLL_DUEL_NOOP], 3);
    uint64_t elites = s->counts[ATOLL_DECIDE_ELITE];
    for (unsigned i = 0; i < 3; i++) {
        struct atoll_decision duel = take_duel(s, ATOLL_DUEL_NOOP);
        sim_duelled(s, &duel, ATOLL_V_CORRECT, i == 0, 1.0);
    }
    atoll_engine_task_status(s->engine, 0, &t);
    assert_true(t.challenges == 6 && t.promotions == 6 && t.noop_challenges == 3 && t.noop_promotions == 1);
    assert_int_equal(s->counts[ATOLL_DECIDE_ELITE], elites);
    end(s);
}

static void a_refused_migrant_stays_away(void **state)
{
    struct sim *s = start(state, 2, 0, 1); /* every evaluation migrates */
    /* The baseline went to island 1 at once and is its elite there. */
    assert_int_equal(s->counts[ATOLL_DECIDE_MIGRATE], 1);
    assert_int_equal(s->counts[ATOLL_DECIDE_ELITE], 2);
    assert_int_equal(s->last[ATOLL_DECIDE_ELITE].island, 1);
    struct atoll_decision winner = give(s, 0, 0, 500), duel;
    duel = take_duel(s, ATOLL_DUEL_PROMOTION);
    sim_duelled(s, &duel, ATOLL_V_CORRECT, 1, 2);
    give(s, 0, 0, 0); /* a wrong one ends island 0's next generation */
    expect_duel(s, 2, &winner);
    assert_int_equal(s->last[ATOLL_DECIDE_DUEL].island, 1);
    duel = take_duel(s, ATOLL_DUEL_PROMOTION);
    sim_duelled(s, &duel, ATOLL_V_CORRECT, 0, 1);
    give(s, 0, 0, 0);
    assert_int_equal(s->duels[ATOLL_DUEL_PROMOTION], 2);
    end(s);
}

static void finish_all(struct sim *s)
{
    sim_simple(s, ATOLL_EVENT_FINISH);
    for (size_t at = s->order_count; at-- > 0;)
        if (s->orders[at].type == ATOLL_DECIDE_EVALUATE) {
            struct atoll_decision order = sim_take(s, at);
            sim_evaluated(s, &order, ATOLL_V_WRONG, 0);
        }
}

static void a_wrong_finalist_is_followed(void **state)
{
    struct sim *s = start(state, 1, 0, 0);
    s->cells = 64; /* the others have cells of their own */
    struct atoll_task_status t;
    struct atoll_decision slow = give(s, 0, UINT32_MAX, 600), fast = give(s, 1, UINT32_MAX, 500), duel;
    finish_all(s);
    duel = take_duel(s, ATOLL_DUEL_FINAL);
    assert_true(atoll_id_equal(&duel.candidate, &fast.candidate));
    sim_duelled(s, &duel, ATOLL_V_WRONG, 0, 0); /* on the hidden shapes */
    duel = take_duel(s, ATOLL_DUEL_FINAL);
    assert_true(atoll_id_equal(&duel.candidate, &slow.candidate));
    assert_int_equal(s->counts[ATOLL_DECIDE_STOP], 0);
    sim_duelled(s, &duel, ATOLL_V_CORRECT, 1, 1.6);
    assert_int_equal(s->counts[ATOLL_DECIDE_STOP], 1);
    atoll_engine_task_status(s->engine, 0, &t);
    expect_close(t.final_ratio, 1.6, 1e-9);
    expect_close(t.best_ns, 600, 1e-9);
    assert_true(atoll_id_equal(&t.best, &slow.candidate));
    assert_int_equal(s->last[ATOLL_DECIDE_STOP].reason, ATOLL_REASON_ASKED);
    end(s);
}

static void nothing_better_has_no_final(void **state)
{
    struct sim *s = start(state, 1, 0, 0);
    struct atoll_task_status t;
    finish_all(s);
    assert_int_equal(s->duels[ATOLL_DUEL_FINAL], 0);
    assert_int_equal(s->counts[ATOLL_DECIDE_STOP], 1);
    atoll_engine_task_status(s->engine, 0, &t);
    assert_true(t.final_ratio == 1);
    expect_close(t.best_ns, 1000, 1e-9);
    assert_int_equal(t.reason, ATOLL_REASON_ASKED);
    end(s);
}

/* The tuner is told what it proposed: it finds the bottom of a bowl. */
static void the_tuner_learns(void **state)
{
    double sum = 0;
    for (unsigned round = 0; round < 10; round++) {
        struct sim *s = start(state, 1, 0, 0);
        sim_capacity(s, 1);
        double best = HUGE_VAL;
        for (unsigned i = 0; i < 50; i++) {
            size_t at = sim_below(s, s->order_count + round) % s->order_count;
            struct atoll_decision order = sim_take(s, at);
            if (order.type == ATOLL_DECIDE_DUEL) {
                sim_duelled(s, &order, ATOLL_V_CORRECT, 0, 1);
                continue;
            }
            double a = (double)order.choice.values[0] - 5, b = (double)order.choice.values[1] - 3;
            double time = 100 + 10 * (a * a + b * b);
            best = fmin(best, time);
            sim_evaluated(s, &order, ATOLL_V_CORRECT, time);
        }
        sum += best;
        end(s);
    }
    assert_true(sum / 10 < 104);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fastest_waits),
        cmocka_unit_test(only_by_the_margin),
        cmocka_unit_test(a_lucky_instance_blocks_nobody),
        cmocka_unit_test(wrong_in_a_duel_is_out),
        cmocka_unit_test(noops_are_counted_apart),
        cmocka_unit_test(a_refused_migrant_stays_away),
        cmocka_unit_test(a_wrong_finalist_is_followed),
        cmocka_unit_test(nothing_better_has_no_final),
        cmocka_unit_test(the_tuner_learns),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
