/* Times are given answer by answer, so that who meets whom is known. */
#include "tests/support/simulation.h"

#include <math.h>

#define WIDE "\"A\": [1, 2, 3, 4, 5, 6, 7, 8], \"B\": [1, 2, 3, 4, 5, 6, 7, 8]"

static const struct sim_seed seeds[] = {{"naive", NULL, NULL}, {"other", WIDE, NULL}, {"wide", WIDE, NULL}};

static int set_up(void **state)
{
    struct atoll_buffer *task = malloc(sizeof(*task));
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
static struct sim *start_under(void **state, enum atoll_error_rule rule, uint32_t islands,
                               uint32_t noop_interval, uint32_t migration_interval)
{
    struct atoll_search search;
    struct sim *s = malloc(sizeof(*s));
    assert_non_null(s);
    atoll_search_defaults(&search);
    search.error_control = rule;
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

static struct sim *start(void **state, uint32_t islands, uint32_t noop_interval, uint32_t migration_interval)
{
    return start_under(state, ATOLL_ERROR_RECYCLING, islands, noop_interval, migration_interval);
}

static void end(struct sim *s)
{
    sim_check_replay(s);
    sim_reload(s);
    sim_fini(s);
    free(s);
}

/* Where cells are many, a correct candidate is taken that has one to itself. */
static int is_crowded(const struct sim *s, const struct atoll_decision *order)
{
    unsigned cell = atoll_behaviour_cell(sim_cell(s, &order->candidate));
    for (size_t i = 0; i < s->candidate_count && s->cells == 64; i++)
        if (s->candidates[i].time_ns > 0 && atoll_behaviour_cell(sim_cell(s, &s->candidates[i].id)) == cell)
            return 1;
    return 0;
}

/* Answers one evaluation of a source (0 other, 1 wide) on an island (any: UINT32_MAX). */
static struct atoll_decision give(struct sim *s, unsigned source, uint32_t island, double time_ns)
{
    const char *language, *text;
    for (size_t at = 0; at < s->order_count; at++) {
        const struct atoll_decision *o = &s->orders[at];
        if (o->type != ATOLL_DECIDE_EVALUATE || o->op == ATOLL_OPERATOR_NULL_CONTROL ||
            (island != UINT32_MAX && o->island != island) || (time_ns > 0 && is_crowded(s, o))) {
            continue;
        }
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

/* Answers the evaluation of a null control. */
static struct atoll_decision give_noop(struct sim *s, enum atoll_verdict verdict, double time_ns)
{
    size_t at = 0;
    while (at < s->order_count &&
           (s->orders[at].type != ATOLL_DECIDE_EVALUATE || s->orders[at].op != ATOLL_OPERATOR_NULL_CONTROL)) {
        at++;
    }
    if (at == s->order_count)
        fail_msg("no mutant under way");
    struct atoll_decision order = sim_take(s, at);
    sim_evaluated(s, &order, verdict, time_ns);
    return order;
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
    atoll_engine_task_status(s->engine, 0, 0, &t);
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
    assert_int_equal(s->retries, 1);
    duel = take_duel(s, ATOLL_DUEL_PROMOTION);
    sim_duelled(s, &duel, ATOLL_V_CORRECT, 0, 0.9);
    assert_int_equal(s->duels[ATOLL_DUEL_PROMOTION], 2);
    end(s);
}

static void wrong_in_a_duel_is_out(void **state)
{
    struct sim *s = start(state, 1, 1, 0);
    struct atoll_decision winner = give(s, 0, UINT32_MAX, 500), mutant, duel;
    duel = take_duel(s, ATOLL_DUEL_PROMOTION);
    sim_duelled(s, &duel, ATOLL_V_CORRECT, 1, 2);
    expect_close(best_ns(s), 500, 1e-9);
    mutant = give_noop(s, ATOLL_V_CORRECT, 400); /* every promotion here */
    expect_close(best_ns(s), 500, 1e-9);
    duel = take_duel(s, ATOLL_DUEL_NULL_CONTROL);
    assert_true(atoll_id_equal(&duel.candidate, &mutant.candidate));
    assert_true(atoll_id_equal(&duel.elite, &winner.candidate));
    sim_duelled(s, &duel, ATOLL_V_WRONG, 0, 0);
    assert_int_equal(s->counts[ATOLL_DECIDE_NOT_CONFIRMED], 1);
    assert_true(atoll_id_equal(&s->last[ATOLL_DECIDE_NOT_CONFIRMED].candidate, &winner.candidate));
    expect_close(best_ns(s), 1000, 1e-9); /* the baseline is the best again, though no elite */
    struct atoll_decision next = give(s, 0, UINT32_MAX, 950);
    assert_true(atoll_id_equal(&s->last[ATOLL_DECIDE_ELITE].candidate, &next.candidate));
    expect_duel(s, 2, &next);
    duel = take_duel(s, ATOLL_DUEL_PROMOTION);
    sim_duelled(s, &duel, ATOLL_V_CORRECT, 1, 1.05);
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
    assert_int_equal(s->duels[ATOLL_DUEL_NULL_CONTROL], 0);
    for (unsigned i = 0; i < 3; i++)
        give_noop(s, ATOLL_V_CORRECT, i ? 100 : 2000); /* faster or not */
    assert_int_equal(s->duels[ATOLL_DUEL_NULL_CONTROL], 3);
    double best = best_ns(s);
    uint64_t elites = s->counts[ATOLL_DECIDE_ELITE];
    for (unsigned i = 0; i < 3; i++) {
        struct atoll_decision duel = take_duel(s, ATOLL_DUEL_NULL_CONTROL);
        sim_duelled(s, &duel, ATOLL_V_CORRECT, i == 0, 1.0);
    }
    atoll_engine_task_status(s->engine, 0, 0, &t);
    assert_true(t.challenges == 6 && t.promotions == 6 && t.noop_challenges == 3 && t.noop_promotions == 1);
    assert_int_equal(s->counts[ATOLL_DECIDE_ELITE], elites);
    expect_close(best_ns(s), best, 1e-9);
    end(s);
}

static struct atoll_decision promote(struct sim *s, double time_ns)
{
    give(s, 0, UINT32_MAX, time_ns);
    struct atoll_decision duel = take_duel(s, ATOLL_DUEL_PROMOTION);
    sim_duelled(s, &duel, ATOLL_V_CORRECT, 1, 1.1);
    return duel;
}

/* The text of a mutant is its original's and a comment; where it fails, its original stays. */
static void a_mutant_is_its_original(void **state)
{
    struct sim *s = start(state, 1, 1, 0);
    const char *language, *text, *original;
    give(s, 0, UINT32_MAX, 0); /* the template's first instance */
    struct atoll_decision winner = promote(s, 900), mutant;
    assert_int_equal(atoll_engine_source(s->engine, &winner.source, &language, &original), 0);
    mutant = give_noop(s, ATOLL_V_WRONG, 0);
    assert_int_equal(atoll_engine_source(s->engine, &mutant.source, &language, &text), 0);
    assert_true(strncmp(text, original, strlen(original)) == 0 && strlen(text) > strlen(original));
    assert_memory_equal(&mutant.choice, &winner.choice, sizeof(mutant.choice));
    assert_true(atoll_id_equal(&mutant.parent, &winner.candidate));
    assert_int_equal(s->duels[ATOLL_DUEL_NULL_CONTROL], 0);
    expect_close(best_ns(s), 900, 1e-9);
    end(s);
}

static void no_mutant_challenges_at_the_end(void **state)
{
    struct sim *s = start(state, 1, 1, 0);
    promote(s, 900);
    sim_simple(s, ATOLL_EVENT_FINISH);
    give_noop(s, ATOLL_V_CORRECT, 900);
    assert_int_equal(s->duels[ATOLL_DUEL_NULL_CONTROL], 0);
    end(s);
}

/* Where rejections earn, a lost challenge does not. */
static void only_wins_earn(void **state)
{
    static const double times[] = {900, 800, 700, 600, 500, 400, 300};
    struct sim *s = start_under(state, ATOLL_ERROR_LORD, 1, 0, 0);
    double level = 1;
    for (unsigned i = 0; i < sizeof(times) / sizeof(*times); i++) {
        int wins = i == 4;
        give(s, 0, UINT32_MAX, times[i]);
        struct atoll_decision duel = take_duel(s, ATOLL_DUEL_PROMOTION);
        assert_int_equal(duel.alpha > level, i == 5);
        level = duel.alpha;
        sim_duelled(s, &duel, ATOLL_V_CORRECT, wins, wins ? 1.1 : 0.99);
    }
    end(s);
}

/* Mutants, challenges that nobody could carry out and such as ended clearly leave the error as it was. */
static void what_leaves_the_error_as_it_was(void **state)
{
    struct sim *s = start(state, 1, 1, 0);
    double level = promote(s, 900).alpha;
    give_noop(s, ATOLL_V_CORRECT, 900);
    struct atoll_decision duel = take_duel(s, ATOLL_DUEL_NULL_CONTROL);
    expect_close(duel.alpha / level, 1, 1e-12);
    give(s, 0, UINT32_MAX, 800);
    expect_close(s->last[ATOLL_DECIDE_DUEL].alpha / level, 1, 1e-12);
    for (unsigned i = 0; i < 4; i++) /* sent again three times */
        sim_infrastructure(s, find_duel(s, ATOLL_DUEL_PROMOTION));
    assert_int_equal(s->retries, 3);
    give(s, 0, UINT32_MAX, 700);
    duel = take_duel(s, ATOLL_DUEL_PROMOTION);
    expect_close(duel.alpha / level, 1, 1e-12);
    sim_duelled(s, &duel, ATOLL_V_WRONG, 0, 0);
    give(s, 0, UINT32_MAX, 600);
    duel = take_duel(s, ATOLL_DUEL_PROMOTION);
    expect_close(duel.alpha / level, 1, 1e-12);
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

/* An original that proved wrong elsewhere has nothing to defend: its mutant would win for that. */
static void no_mutant_challenges_what_is_wrong(void **state)
{
    struct sim *s = start(state, 2, 1, 1);
    give(s, 0, 0, 500);
    struct atoll_decision duel = take_duel(s, ATOLL_DUEL_PROMOTION);
    sim_duelled(s, &duel, ATOLL_V_CORRECT, 1, 2);
    give(s, 0, 0, 0); /* the winner goes to island 1 */
    duel = take_duel(s, ATOLL_DUEL_PROMOTION);
    sim_duelled(s, &duel, ATOLL_V_WRONG, 0, 0);
    give_noop(s, ATOLL_V_CORRECT, 500);
    assert_int_equal(s->duels[ATOLL_DUEL_NULL_CONTROL], 0);
    end(s);
}

static void finish_all(struct sim *s)
{
    sim_simple(s, ATOLL_EVENT_FINISH);
    for (size_t at = s->order_count; at-- > 0;) {
        if (s->orders[at].type == ATOLL_DECIDE_EVALUATE) {
            struct atoll_decision order = sim_take(s, at);
            sim_evaluated(s, &order, ATOLL_V_WRONG, 0);
        }
    }
}

static struct atoll_task_status status_of(const struct sim *s)
{
    struct atoll_task_status t;
    assert_int_equal(atoll_engine_task_status(s->engine, 0, 0, &t), 0);
    return t;
}

/* Of the baseline's cell no other candidate is the elite. */
static struct sim *start_apart(void **state)
{
    struct sim *s = start(state, 1, 0, 0);
    s->cells = 64;
    return s;
}

static void the_best_changes_by_a_duel(void **state)
{
    static const struct {
        int better;
        double time_ns, ratio, best_ns;
    } cases[] = {{1, 900, 1.1, 900}, {0, 900, 1.005, 1000}, {0, 700, 0.5, 1000}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct sim *s = start_apart(state);
        struct atoll_decision next = give(s, 0, UINT32_MAX, cases[i].time_ns), duel;
        assert_true(atoll_id_equal(&s->last[ATOLL_DECIDE_ELITE].candidate, &next.candidate));
        assert_true(atoll_id_is_zero(&s->last[ATOLL_DECIDE_ELITE].elite)); /* the cell was empty */
        expect_duel(s, 1, &next);
        duel = take_duel(s, ATOLL_DUEL_PROMOTION);
        struct atoll_task_status t = status_of(s);
        assert_true(atoll_id_equal(&duel.elite, &t.baseline));
        expect_close(best_ns(s), 1000, 1e-9);
        sim_duelled(s, &duel, ATOLL_V_CORRECT, cases[i].better, cases[i].ratio);
        expect_close(best_ns(s), cases[i].best_ns, 1e-9);
        assert_int_equal(status_of(s).promotions, cases[i].better);
        assert_int_equal(s->counts[ATOLL_DECIDE_NOT_CONFIRMED], !cases[i].better);
        finish_all(s); /* who lost promises no more */
        assert_int_equal(s->duels[ATOLL_DUEL_FINAL], cases[i].better);
        end(s);
    }
}

/* Under the number of its retry it is still the duel over the best. */
static void a_failed_duel_over_the_best_goes_on(void **state)
{
    struct sim *s = start_apart(state);
    give(s, 0, UINT32_MAX, 900);
    uint64_t number = s->orders[find_duel(s, ATOLL_DUEL_PROMOTION)].evaluation;
    for (unsigned i = 1; i <= 3; i++) {
        sim_infrastructure(s, find_duel(s, ATOLL_DUEL_PROMOTION));
        assert_int_equal(s->retries, i);
        assert_true(s->orders[find_duel(s, ATOLL_DUEL_PROMOTION)].evaluation > number);
        sim_reload(s);
    }
    struct atoll_decision duel = take_duel(s, ATOLL_DUEL_PROMOTION), next;
    sim_duelled(s, &duel, ATOLL_V_CORRECT, 1, 1.1);
    expect_close(best_ns(s), 900, 1e-9);
    for (unsigned i = 0; i < 8; i++)
        give(s, 1, UINT32_MAX, 0);
    next = give(s, 1, UINT32_MAX, 800); /* the way is free for another one */
    expect_duel(s, 2, &next);
    end(s);
}

static void a_clear_difference_needs_no_duel(void **state)
{
    struct sim *s = start_apart(state);
    give(s, 0, UINT32_MAX, 660);
    assert_int_equal(s->duels[ATOLL_DUEL_PROMOTION], 0);
    expect_close(best_ns(s), 660, 1e-9);
    end(s);
    s = start_apart(state);
    s->spread = 0.6; /* the intervals overlap */
    give(s, 0, UINT32_MAX, 660);
    assert_int_equal(s->duels[ATOLL_DUEL_PROMOTION], 1);
    expect_close(best_ns(s), 1000, 1e-9);
    end(s);
}

/* One duel over the best in eight evaluations: the next waits. */
static void duels_over_the_best_are_rationed(void **state)
{
    struct sim *s = start_apart(state);
    give(s, 0, UINT32_MAX, 950);
    struct atoll_decision duel = take_duel(s, ATOLL_DUEL_PROMOTION), next;
    sim_duelled(s, &duel, ATOLL_V_CORRECT, 0, 1);
    next = give(s, 1, UINT32_MAX, 900);
    for (unsigned i = 4; i < 8; i++) {
        assert_int_equal(s->duels[ATOLL_DUEL_PROMOTION], 1);
        give(s, 1, UINT32_MAX, 0);
    }
    assert_int_equal(s->duels[ATOLL_DUEL_PROMOTION], 1);
    sim_reload(s);
    give(s, 1, UINT32_MAX, 0);
    expect_duel(s, 2, &next);
    duel = take_duel(s, ATOLL_DUEL_PROMOTION);
    sim_duelled(s, &duel, ATOLL_V_CORRECT, 1, 1.1);
    expect_close(best_ns(s), 900, 1e-9);
    end(s);
}

struct finalist {
    double promise; /* speedup by its single time */
    int better;
    double ratio; /* of its final duel; 0: wrong there; -1: it has none */
};

/* Candidates in cells of their own, the most promising first; each is the best by a clear difference or not
 * at all, so that only the finals compare. */
static void run_finals(struct sim *s, const struct finalist *finalists, size_t count)
{
    struct atoll_decision candidates[4];
    for (size_t i = 0; i < count; i++)
        candidates[i] = give(s, (unsigned)i % 2, UINT32_MAX, 1000 / finalists[i].promise);
    finish_all(s);
    for (size_t i = 0; i < count && finalists[i].ratio >= 0; i++) {
        struct atoll_decision duel = take_duel(s, ATOLL_DUEL_FINAL);
        assert_true(atoll_id_equal(&duel.candidate, &candidates[i].candidate));
        sim_duelled(s, &duel, finalists[i].ratio > 0 ? ATOLL_V_CORRECT : ATOLL_V_WRONG, finalists[i].better,
                    finalists[i].ratio);
    }
    assert_int_equal(s->counts[ATOLL_DECIDE_STOP], 1);
}

static void finals_say_what_is_true(void **state)
{
    static const struct {
        struct finalist finalists[4];
        size_t count;
        double best_ns, ratio;
    } cases[] = {
        {{{2, 1, 1.9}, {1.9, 0, -1}}, 2, 500, 1.9},               /* it held */
        {{{2, 0, 0.94}, {1.9, 1, 1.8}}, 2, 1000 / 1.9, 1.8},      /* it was luck */
        {{{2, 1, 1.2}, {1.9, 1, 1.7}}, 2, 1000 / 1.9, 1.7},       /* it fell short */
        {{{2, 1, 1.2}, {1.9, 1, 1.1}, {1.8, 0, 1}}, 3, 500, 1.2}, /* so did the others */
        {{{2, 1, 1.5}, {1.8, 1, 1.6}}, 2, 1000 / 1.8, 1.6},       /* though little more is promised */
        {{{2, 1, 1.7}, {1.8, 0, -1}}, 2, 500, 1.7},               /* it held well enough */
        {{{2, 1, 1.5}, {1.4, 0, -1}}, 2, 500, 1.5},               /* nobody promises more */
        {{{2, 0, 0}, {1.9, 1, 1.6}}, 2, 1000 / 1.9, 1.6},         /* wrong at a hidden shape */
        {{{2, 0, 1}, {1.9, 0, 1}, {1.8, 0, 1}, {1.7, 0, -1}}, 4, 1000, 1},          /* three tries */
        {{{2, 0, 0}, {1.9, 0, 1}, {1.8, 0, 1}, {1.7, 1, 1.5}}, 4, 1000 / 1.7, 1.5}, /* a wrong one is none */
        {{{1.005, 0, -1}}, 1, 1000, 1},                                             /* no promise, no final */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct sim *s = start_apart(state);
        run_finals(s, cases[i].finalists, cases[i].count);
        struct atoll_task_status t = status_of(s);
        expect_close(t.final_ratio, cases[i].ratio, 1e-9);
        expect_close(t.best_ns, cases[i].best_ns, 1e-9);
        assert_true(atoll_id_equal(&s->last[ATOLL_DECIDE_BEST].candidate, &t.best));
        assert_int_equal(s->last[ATOLL_DECIDE_STOP].reason, ATOLL_REASON_ASKED);
        end(s);
    }
}

static void an_unstable_final_is_tried_again(void **state)
{
    struct sim *s = start_apart(state);
    struct atoll_decision first = give(s, 0, UINT32_MAX, 500), duel;
    finish_all(s);
    for (unsigned i = 0; i < 3; i++) {
        duel = take_duel(s, ATOLL_DUEL_FINAL);
        assert_true(atoll_id_equal(&duel.candidate, &first.candidate));
        sim_duelled(s, &duel, i < 2 ? ATOLL_V_UNSTABLE : ATOLL_V_CORRECT, i == 2, 1.9);
    }
    expect_close(status_of(s).final_ratio, 1.9, 1e-9);
    assert_true(atoll_id_equal(&s->last[ATOLL_DECIDE_BEST].candidate, &first.candidate));
    end(s);
}

/* The error of challenges shrinks with their number, that of the finals does not. */
static void a_refused_challenger_has_a_final(void **state)
{
    struct sim *s = start(state, 1, 0, 0);
    struct atoll_decision refused = give(s, 0, UINT32_MAX, 900), duel;
    duel = take_duel(s, ATOLL_DUEL_PROMOTION);
    sim_duelled(s, &duel, ATOLL_V_CORRECT, 0, 1.1);
    expect_close(best_ns(s), 1000, 1e-9);
    finish_all(s);
    duel = take_duel(s, ATOLL_DUEL_FINAL);
    assert_true(atoll_id_equal(&duel.candidate, &refused.candidate));
    expect_close(duel.alpha, 0.05 / 2 / 3, 1e-12); /* half is kept for an extension */
    sim_duelled(s, &duel, ATOLL_V_CORRECT, 1, 1.1);
    expect_close(status_of(s).final_ratio, 1.1, 1e-9);
    expect_close(best_ns(s), 1000 / 1.1, 1e-9); /* by its lost duel */
    end(s);
}

/* The baseline's single time was twice too long: what was promised is half of it. */
static void an_unlucky_baseline_promises_less(void **state)
{
    struct sim *s = start_apart(state);
    s->defender_ns = 500;
    run_finals(s, (const struct finalist[]){{4, 1, 1.9}, {3.9, 0, -1}}, 2);
    expect_close(status_of(s).final_ratio, 1.9, 1e-9);
    end(s);
}

/* A comparison that cannot be carried out confirms nothing, and denies nothing. */
static void finals_that_fail_say_nothing(void **state)
{
    struct sim *s = start_apart(state);
    give(s, 0, UINT32_MAX, 500);
    finish_all(s);
    for (unsigned i = 0; i < 4; i++)
        sim_infrastructure(s, find_duel(s, ATOLL_DUEL_FINAL));
    assert_int_equal(s->counts[ATOLL_DECIDE_STOP], 1);
    expect_close(status_of(s).final_ratio, 0, 0);
    expect_close(best_ns(s), 500, 1e-9);
    end(s);
}

/* The wall ends the finals: what was confirmed counts. */
static void a_late_final_is_given_up(void **state)
{
    struct atoll_search search;
    struct sim *s = malloc(sizeof(*s));
    assert_non_null(s);
    atoll_search_defaults(&search);
    search.wall_budget_ns = 1e10;
    search.islands = 1;
    sim_start(s, 1, &search);
    s->cells = 1;
    sim_add_task(s, 0, *state);
    sim_capacity(s, 8);
    struct atoll_decision order = sim_take(s, 0);
    sim_evaluated(s, &order, ATOLL_V_CORRECT, 1000);
    s->cells = 64;
    struct atoll_decision first = give(s, 0, UINT32_MAX, 500);
    give(s, 1, UINT32_MAX, 510);
    finish_all(s);
    order = take_duel(s, ATOLL_DUEL_FINAL);
    sim_duelled(s, &order, ATOLL_V_CORRECT, 1, 1.2);
    find_duel(s, ATOLL_DUEL_FINAL);
    s->now_ns = 10000000000;
    sim_simple(s, ATOLL_EVENT_TICK);
    assert_int_equal(s->counts[ATOLL_DECIDE_STOP], 1);
    expect_close(status_of(s).final_ratio, 1.2, 1e-9);
    assert_true(atoll_id_equal(&s->last[ATOLL_DECIDE_BEST].candidate, &first.candidate));
    end(s);
}

static void nothing_better_has_no_final(void **state)
{
    struct sim *s = start(state, 1, 0, 0);
    struct atoll_task_status t;
    finish_all(s);
    assert_int_equal(s->duels[ATOLL_DUEL_FINAL], 0);
    assert_int_equal(s->counts[ATOLL_DECIDE_STOP], 1);
    atoll_engine_task_status(s->engine, 0, 0, &t);
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
        cmocka_unit_test(a_mutant_is_its_original),
        cmocka_unit_test(no_mutant_challenges_at_the_end),
        cmocka_unit_test(no_mutant_challenges_what_is_wrong),
        cmocka_unit_test(only_wins_earn),
        cmocka_unit_test(what_leaves_the_error_as_it_was),
        cmocka_unit_test(a_refused_migrant_stays_away),
        cmocka_unit_test(the_best_changes_by_a_duel),
        cmocka_unit_test(a_failed_duel_over_the_best_goes_on),
        cmocka_unit_test(a_clear_difference_needs_no_duel),
        cmocka_unit_test(duels_over_the_best_are_rationed),
        cmocka_unit_test(finals_say_what_is_true),
        cmocka_unit_test(an_unstable_final_is_tried_again),
        cmocka_unit_test(a_refused_challenger_has_a_final),
        cmocka_unit_test(an_unlucky_baseline_promises_less),
        cmocka_unit_test(finals_that_fail_say_nothing),
        cmocka_unit_test(a_late_final_is_given_up),
        cmocka_unit_test(nothing_better_has_no_final),
        cmocka_unit_test(the_tuner_learns),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
