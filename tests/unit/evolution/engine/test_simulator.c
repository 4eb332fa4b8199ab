/* With an argument, how many seeds per strategy and how many evaluations the long campaigns have, it is the soak test:
 * test_evolution_simulator SEEDS EVALUATIONS. */
#include "tests/simulator/simulator.h"

#include "tests/support/expect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/simulator/agenda.h"
#include "tests/simulator/orders.h"
#include "tests/simulator/witness.h"

static unsigned long seeds = RANDOM_CASES(16), evaluations = 2000;

/* ---- parts ---- */

static void the_earliest_comes_first(void **state)
{
    struct atoll_agenda agenda = {0};
    struct atoll_agenda_entry entry, last = {.when_ns = -1};
    struct atoll_random random = {7, 0};
    for (uint32_t i = 0; i < 1000; i++) {
        entry =
            (struct atoll_agenda_entry){.when_ns = (int64_t)(atoll_random_next(&random) % 50), .which = i};
        assert_int_equal(atoll_agenda_add(&agenda, &entry, NULL), 0);
    }
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(atoll_agenda_take(&agenda, &entry), 1);
        assert_true(entry.when_ns > last.when_ns ||
                    (entry.when_ns == last.when_ns && entry.which > last.which));
        last = entry;
    }
    assert_int_equal(atoll_agenda_take(&agenda, &entry), 0);
    atoll_agenda_fini(&agenda);
}

static struct atoll_decision order(uint64_t evaluation)
{
    struct atoll_decision d;
    memset(&d, 0, sizeof(d));
    d.type = ATOLL_DECIDE_EVALUATE;
    d.evaluation = evaluation;
    d.candidate.bytes[0] = (uint8_t)evaluation;
    return d;
}

static void orders_go_out_in_their_order(void **state)
{
    struct atoll_orders orders = {0};
    uint64_t next = 1, out = 1;
    for (unsigned round = 0; round < 200; round++) {
        for (unsigned i = 0; i < 3; i++, next++) {
            struct atoll_decision d = order(next);
            assert_int_equal(atoll_orders_add(&orders, &d, NULL), 0);
        }
        for (unsigned i = 0; i < 3; i++, out++) {
            struct atoll_order *o = atoll_orders_next(&orders);
            assert_non_null(o);
            assert_int_equal(o->decision.evaluation, out);
            o->rank = 1;
            if (out > 20)
                atoll_orders_remove(&orders, atoll_orders_find(&orders, out - 20));
        }
    }
    assert_null(atoll_orders_find(&orders, 1));
    assert_null(atoll_orders_next(&orders));
    assert_int_equal(orders.alive, 20);
    assert_true(orders.count < 100);
    atoll_orders_recall(&orders);
    assert_int_equal(atoll_orders_next(&orders)->decision.evaluation, out - 20);
    atoll_orders_fini(&orders);
}

static void points_are_texts(void **state)
{
    static const struct atoll_choice none = {0}, some = {2, {5, 7}};
    static const char *const bad[] = {"", "/* point", "/* point 4 0 0 0 0 0 0 0 0 1 */",
                                      "/* point 0 0 0 8 0 0 0 0 0 1 */", "/* point 0 0 x"};
    struct atoll_landscape_point p = {{3, 1, 2}, {7, 0, 1, 2, 3, 4}, 987654321}, q;
    struct atoll_buffer text;
    atoll_buffer_init(&text, 4096);
    atoll_landscape_print(&p, &text);
    atoll_buffer_put_u8(&text, 0);
    assert_int_equal(atoll_landscape_parse((const char *)text.data, &none, &q), 0);
    assert_memory_equal(p.levels, q.levels, sizeof(p.levels));
    assert_memory_equal(p.traits, q.traits, sizeof(p.traits));
    assert_int_equal(q.attempt, p.attempt);
    assert_int_equal(atoll_landscape_parse((const char *)text.data, &some, &q), 0);
    assert_int_equal(q.traits[0], 5);
    assert_int_equal(q.traits[1], 7);
    assert_int_equal(q.traits[2], 1);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(atoll_landscape_parse(bad[i], &none, &q), -1);
    atoll_buffer_fini(&text);
}

/* All points of a cell are too many: every trait by itself, from the best. */
static double descend(const struct atoll_landscape *l, struct atoll_landscape_point p)
{
    double best = atoll_landscape_time_ns(l, &p), before;
    do {
        before = best;
        for (unsigned k = 0; k < ATOLL_LANDSCAPE_TRAITS; k++) {
            struct atoll_landscape_point q = p;
            for (q.traits[k] = 0; q.traits[k] < ATOLL_LANDSCAPE_VALUES; q.traits[k]++) {
                if (atoll_landscape_time_ns(l, &q) < best) {
                    best = atoll_landscape_time_ns(l, &q);
                    p = q;
                }
            }
        }
    } while (best < before);
    return best;
}

/* From every cell and family; the optimum is where it is said to be, and never at the origin. */
static void optima_are_reached(void **state)
{
    for (unsigned kind = 0; kind < ATOLL_LANDSCAPE_KIND_COUNT; kind++) {
        for (uint64_t seed = 1; seed <= 5; seed++) {
            struct atoll_landscape l = {(enum atoll_landscape_kind)kind, seed, 1};
            struct atoll_landscape_point origin = {{0}, {0}, 0};
            double best = HUGE_VAL, optimum = atoll_landscape_optimum_ns(&l);
            for (unsigned cell = 0; cell < 64; cell++) {
                for (unsigned start = 0; start < 64; start++) {
                    struct atoll_landscape_point p = {
                        {(uint8_t)(cell / 16), (uint8_t)(cell / 4 % 4), (uint8_t)(cell % 4)}, {0}, 1};
                    p.traits[start % 6] = (uint8_t)(start / 8);
                    p.traits[(start + 1) % 6] = (uint8_t)(start % 8);
                    best = fmin(best, descend(&l, p));
                }
            }
            if (kind == ATOLL_LANDSCAPE_TEMPLATE) /* not all of its points are legal */
                assert_true(best <= optimum);
            else if (kind != ATOLL_LANDSCAPE_PLATEAU) /* pairs cannot be found one by one */
                expect_close(best, optimum, 1e-12);
            assert_true(atoll_landscape_time_ns(&l, &origin) > 1.5 * optimum);
            assert_int_equal(atoll_landscape_is_correct(&l, &origin), 1);
        }
    }
}

/* ---- the witness ---- */

static void the_witness_complains(void **state)
{
    struct atoll_witness w = {0};
    struct atoll_orders orders = {0};
    struct atoll_search search;
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_search_defaults(&search);
    struct atoll_decision first = order(5), same = order(6), lower = order(4), duel = order(7),
                          lost = order(9), move = {.type = ATOLL_DECIDE_MIGRATE},
                          stop = {.type = ATOLL_DECIDE_STOP};
    same.candidate = first.candidate;
    duel.type = ATOLL_DECIDE_DUEL;
    duel.elite = duel.candidate;
    lost.type = ATOLL_DECIDE_ABANDON;
    const struct {
        struct atoll_decision decision;
        const char *complaint; /* NULL: none */
    } cases[] = {{first, NULL},
                 {lower, "follows"},
                 {same, "evaluated before"},
                 {duel, "against itself"},
                 {lost, "not under way"},
                 {move, "a migrant"},
                 {stop, NULL},
                 {order(10), "follows the stop"}};
    SKIP_UNDER_SANITIZERS();
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int result = atoll_witness_decision(&w, &search, &orders, &cases[i].decision, &err);
        assert_int_equal(result, cases[i].complaint ? -1 : 0);
        if (cases[i].complaint)
            expect_err(&err, ATOLL_E_INTERNAL, cases[i].complaint);
        atoll_err_clear(&err);
    }
    atoll_witness_fini(&w);
    atoll_orders_fini(&orders);
}

/* ---- campaigns ---- */

static struct atoll_simulator *begin(const struct atoll_simulator_settings *settings)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_simulator *s = atoll_simulator_create(settings, &err);
    if (!s)
        fail_msg("%s", err.text);
    return s;
}

static int go_on(struct atoll_simulator *s, uint64_t events, const char *what, uint64_t seed)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    int result = atoll_simulator_run(s, events, &err);
    if (result < 0)
        fail_msg("%s, seed %llu: %s", what, (unsigned long long)seed, err.text);
    return result;
}

static struct atoll_simulator_outcome run(const struct atoll_simulator_settings *settings, const char *what)
{
    static struct atoll_simulator_outcome outcome;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_simulator *s = begin(settings);
    assert_int_equal(go_on(s, 0, what, settings->seed), 1);
    if (settings->is_recorded && atoll_simulator_replay(s, &err))
        fail_msg("%s, seed %llu: %s", what, (unsigned long long)settings->seed, err.text);
    atoll_simulator_outcome(s, &outcome);
    atoll_simulator_destroy(s);
    return outcome;
}

static void the_same_seed_is_the_same_campaign(void **state)
{
    static struct atoll_simulator_settings settings;
    atoll_simulator_defaults(&settings);
    settings.is_witnessed = 1;
    settings.rank_count = 4;
    settings.search.evaluation_budget = 300;
    uint64_t digest = run(&settings, "once").digest;
    assert_true(digest == run(&settings, "twice").digest);
    settings.seed++;
    assert_true(digest != run(&settings, "another").digest);
}

/* One disturbance at a time, and what it must leave behind. */
struct disturbance {
    const char *name;
    size_t offset; /* of a double of the settings */
    double value;
    size_t trace; /* a counter of the outcome that it moves; 0: none */
};
#define SETTING(m) offsetof(struct atoll_simulator_settings, m)
#define TRACE(m)   offsetof(struct atoll_simulator_outcome, m)

static const struct disturbance disturbances[] = {
    {"noise", SETTING(referee.noise), 0.3, TRACE(duels)},
    {"noise in pairs", SETTING(referee.pair_noise), 0.3, TRACE(duels)},
    {"ranks differ", SETTING(referee.spread), 0.5, 0},
    {"drift", SETTING(referee.drift), 2, 0},
    {"infrastructure", SETTING(referee.infrastructure), 0.3, TRACE(retries)},
    {"crashes", SETTING(referee.crash), 0.5, 0},
    {"duels prove wrong", SETTING(referee.wrong_duel), 0.5, TRACE(duels)},
    {"duels are unstable", SETTING(referee.unstable), 0.5, TRACE(duels)},
    {"answers overtake", SETTING(latency_ns), 1e10, 0},
    {"slow operators", SETTING(reply_ns), 1e11, TRACE(replies)},
    {"refused", SETTING(author.refused), 0.4, TRACE(replies)},
    {"failed", SETTING(author.failed), 0.4, TRACE(replies)},
    {"empty", SETTING(author.empty), 0.4, TRACE(replies)},
    {"garbled", SETTING(author.garbled), 0.4, TRACE(replies)},
    {"ranks vanish", SETTING(vanish_per_hour), 2000, TRACE(retries)},
    {"attempts", SETTING(resume_per_hour), 100, 0},
    {"twice", SETTING(twice), 0.3, TRACE(ignored)},
    {"snapshots", SETTING(reload), 0.02, TRACE(reloads)},
};

static void disturb(struct atoll_simulator_settings *settings, const struct disturbance *d)
{
    memcpy((char *)settings + d->offset, &d->value, sizeof(d->value));
}

static void nothing_disturbs_the_rules(void **state)
{
    static struct atoll_simulator_settings settings;
    for (size_t i = 0; i < sizeof(disturbances) / sizeof(*disturbances); i++) {
        for (unsigned strategy = 0; strategy < ATOLL_STRATEGY_COUNT; strategy++) {
            const struct disturbance *d = &disturbances[i];
            atoll_simulator_defaults(&settings);
            settings.seed = 1 + i;
            settings.search.strategy = (enum atoll_strategy_kind)strategy;
            settings.search.evaluation_budget = 150;
            settings.rank_count = 3;
            settings.away_ns = 3e9;
            settings.is_recorded = settings.is_witnessed = 1;
            disturb(&settings, d);
            struct atoll_simulator_outcome outcome = run(&settings, d->name);
            uint64_t trace = 1;
            if (d->trace)
                memcpy(&trace, (const char *)&outcome + d->trace, sizeof(trace));
            if (!trace)
                fail_msg("%s left no trace under strategy %u", d->name, strategy);
        }
    }
}

static double share(struct atoll_random *r, double most)
{
    return atoll_random_next(r) % 3 ? 0 : most * atoll_random_unit(atoll_random_next(r));
}

static uint32_t any(struct atoll_random *r, uint32_t low, uint32_t high)
{
    return low + (uint32_t)atoll_random_below(atoll_random_next(r), high - low + 1);
}

static void randomise_search(struct atoll_search *s, struct atoll_random *r)
{
    s->seed = atoll_random_next(r);
    s->islands = any(r, 1, 4);
    s->generation_size = any(r, 1, 6);
    s->migration_interval = any(r, 0, 3);
    s->selection_share[ATOLL_SELECT_CURIOSITY] = any(r, 0, 1);
    s->selection_share[ATOLL_SELECT_ISLAND] = any(r, 0, 1);
    s->fitness_form = any(r, 0, 1) ? ATOLL_FITNESS_LOG : ATOLL_FITNESS_CLIPPED;
    s->evaluation_budget = any(r, 0, 1) ? 0 : any(r, 1, 80);
    s->device_budget_ns = share(r, 5e10);
    s->wall_budget_ns = share(r, 5e10);
    s->finals_tries = any(r, 1, 4);
    s->queue_depth = any(r, 1, 3);
    s->noop_interval = any(r, 0, 3);
    s->stagnation_limit = any(r, 0, 1) * 20;
    s->grid = any(r, 0, 1);
    s->gradients = any(r, 0, 1);
    s->roles = any(r, 0, 1);
    s->inspirations = any(r, 0, 4);
    s->topology = (enum atoll_topology)any(r, 0, ATOLL_TOPOLOGY_COUNT - 1);
    s->stagnation_migration = share(r, 1);
    s->stagnation_generations = any(r, 1, 4);
    s->sharing = (enum atoll_sharing)any(r, 0, 1);
    s->token_budget = any(r, 0, 3) ? 0 : any(r, 1, 100000);
    s->money_budget_usd = share(r, 0.5);
    s->floor_goal = share(r, 100);
    s->ask_share = 0.5 * any(r, 0, 2);
    s->asks = any(r, 1, 5);
    s->beam_width = any(r, 1, 3);
    s->beam_plans = any(r, 1, 4);
    s->beam_attempts = any(r, 1, 3);
    s->beam_iterations = any(r, 1, 4);
    s->tree_drafts = any(r, 1, 5);
    s->tree_policy = (enum atoll_tree_policy)any(r, 0, 1);
    s->tree_children = any(r, 1, 4);
    s->stage_rounds = any(r, 1, 3);
    s->staged_runs = any(r, 1, 2);
    s->samples = any(r, 0, 1) * any(r, 1, 30);
    s->repeated_parent = any(r, 0, 1);
}

static void randomise(struct atoll_simulator_settings *settings, unsigned strategy, uint64_t seed)
{
    struct atoll_random r = {atoll_random_at(seed, strategy), 0};
    atoll_simulator_defaults(settings);
    settings->seed = seed;
    randomise_search(&settings->search, &r);
    settings->search.strategy = (enum atoll_strategy_kind)strategy;
    settings->task_count = any(&r, 1, 3);
    for (uint32_t i = 0; i < settings->task_count; i++) {
        settings->landscapes[i] = (struct atoll_landscape){
            (enum atoll_landscape_kind)any(&r, 0, ATOLL_LANDSCAPE_KIND_COUNT - 1), atoll_random_next(&r), 1};
    }
    settings->rank_count = any(&r, 1, 5);
    settings->away_ns = 1e10;
    settings->late = share(&r, 1);
    for (size_t i = 0; i < sizeof(disturbances) / sizeof(*disturbances); i++) {
        struct disturbance d = disturbances[i];
        d.value = share(&r, d.value);
        if (d.value > 0)
            disturb(settings, &d);
    }
    settings->referee.rivals =
        any(&r, 0, 1) ? ATOLL_RIVALS_NONE : (enum atoll_simulated_rivals)any(&r, 1, ATOLL_RIVALS_COUNT - 1);
    settings->referee.wrong_origin = settings->referee.rivals && any(&r, 0, 1);
    settings->is_recorded = settings->is_witnessed = 1;
}

/* What rivals do to a campaign, disturbed or not. */
static void rivals_of_every_kind(void **state)
{
    static const struct {
        enum atoll_simulated_rivals rivals;
        int wrong_origin;
        double rival_ns, tolerance; /* of the fastest; 0: none is known */
        enum atoll_reason reason;
        int is_beaten; /* -1: by nobody, 1: in the end */
    } cases[] = {
        {ATOLL_RIVALS_FAST, 0, 1.1e6, 0.05, ATOLL_REASON_EVALUATIONS, -1},
        {ATOLL_RIVALS_SLOW, 0, 0, 0, ATOLL_REASON_EVALUATIONS, 1},
        {ATOLL_RIVALS_WRONG, 0, 1.1e6, 0.05, ATOLL_REASON_EVALUATIONS, -1},
        {ATOLL_RIVALS_FAILING, 0, 0, 0, ATOLL_REASON_EVALUATIONS, 0},
        {ATOLL_RIVALS_FAST, 1, 1.1e6, 0.05, ATOLL_REASON_EVALUATIONS, -1},
        {ATOLL_RIVALS_SLOW, 1, 0, 0, ATOLL_REASON_EVALUATIONS, 1},
        {ATOLL_RIVALS_FAILING, 1, 0, 0, ATOLL_REASON_NO_BASELINE, 0},
    };
    static struct atoll_simulator_settings settings;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        for (int is_disturbed = 0; is_disturbed < 2; is_disturbed++) {
            struct atoll_err err = ATOLL_ERR_INIT;
            struct atoll_simulator_outcome outcome;
            struct atoll_task_status status;
            atoll_simulator_defaults(&settings);
            settings.seed = 1 + i;
            settings.search.evaluation_budget = 120;
            settings.referee.rivals = cases[i].rivals;
            settings.referee.wrong_origin = cases[i].wrong_origin;
            settings.is_recorded = settings.is_witnessed = 1;
            settings.rank_count = 2;
            if (is_disturbed) {
                settings.vanish_per_hour = 300;
                settings.away_ns = 3e9;
                settings.resume_per_hour = 60;
                settings.reload = 0.02;
                settings.twice = 0.2;
                settings.late = 0.5;
            }
            struct atoll_simulator *s = begin(&settings);
            assert_int_equal(go_on(s, 0, "rivals", i), 1);
            if (atoll_simulator_replay(s, &err))
                fail_msg("case %zu: %s", i, err.text);
            atoll_simulator_outcome(s, &outcome);
            assert_int_equal(atoll_engine_task_status(atoll_simulator_engine(s), 0, 0, &status), 0);
            assert_int_equal(status.reason, cases[i].reason);
            if (!is_disturbed)
                assert_int_equal(outcome.rivals, 3);
            if (cases[i].tolerance > 0 && !is_disturbed)
                expect_close(status.rival_ns / cases[i].rival_ns, 1, cases[i].tolerance);
            assert_int_equal(status.rival_ns > 0, cases[i].rivals != ATOLL_RIVALS_FAILING);
            assert_int_equal(atoll_id_is_zero(&status.baseline), cases[i].wrong_origin);
            if (!is_disturbed && cases[i].is_beaten)
                assert_true(cases[i].is_beaten > 0 ? status.rival_ratio > 1.5
                                                   : status.rival_ratio > 0 && status.rival_ratio < 1.1);
            assert_true(cases[i].is_beaten || status.rival_ratio == 0);
            atoll_simulator_destroy(s);
        }
    }
}

/* The engine's state after a replay is its state before, byte for byte, whatever happened. */
static void random_campaigns_replay(void **state)
{
    static struct atoll_simulator_settings settings;
    for (unsigned strategy = 0; strategy < ATOLL_STRATEGY_COUNT; strategy++) {
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            struct atoll_err err = ATOLL_ERR_INIT;
            char name[32];
            snprintf(name, sizeof(name), "strategy %u", strategy);
            randomise(&settings, strategy, seed);
            struct atoll_simulator *s = begin(&settings);
            go_on(s, 20 + seed % 300, name, seed);
            if (atoll_simulator_replay(s, &err) || atoll_simulator_reload(s, &err) ||
                atoll_simulator_finish(s, &err)) {
                fail_msg("%s, seed %llu: %s", name, (unsigned long long)seed, err.text);
            }
            assert_int_equal(go_on(s, 0, name, seed), 1);
            if (atoll_simulator_replay(s, &err))
                fail_msg("%s, seed %llu, to the end: %s", name, (unsigned long long)seed, err.text);
            atoll_simulator_destroy(s);
        }
    }
}

/* Snapshots on the way change nothing. */
static void a_snapshot_goes_on_alike(void **state)
{
    static struct atoll_simulator_settings settings;
    for (unsigned strategy = 0; strategy < ATOLL_STRATEGY_COUNT; strategy++) {
        atoll_simulator_defaults(&settings);
        settings.search.strategy = (enum atoll_strategy_kind)strategy;
        settings.search.evaluation_budget = 200;
        settings.is_witnessed = 1;
        struct atoll_simulator *with = begin(&settings), *without = begin(&settings);
        struct atoll_simulator_outcome a, b;
        while (!go_on(with, 7, "with", strategy))
            assert_int_equal(atoll_simulator_reload(with, NULL), 0);
        go_on(without, 0, "without", strategy);
        atoll_simulator_outcome(with, &a);
        atoll_simulator_outcome(without, &b);
        assert_true(a.digest == b.digest);
        atoll_simulator_destroy(with);
        atoll_simulator_destroy(without);
    }
}

static void long_campaigns(void **state)
{
    static struct atoll_simulator_settings settings;
    for (unsigned strategy = 0; strategy < ATOLL_STRATEGY_COUNT; strategy++) {
        atoll_simulator_defaults(&settings);
        settings.search.strategy = (enum atoll_strategy_kind)strategy;
        settings.search.evaluation_budget = evaluations;
        settings.search.islands = 4;
        settings.task_count = 2;
        settings.landscapes[1] = (struct atoll_landscape){ATOLL_LANDSCAPE_DECEPTIVE, 1, 1};
        settings.rank_count = 16;
        settings.reload = 3.0 / (double)evaluations;
        settings.is_witnessed = 1;
        struct atoll_simulator_outcome outcome = run(&settings, "long");
        assert_true(outcome.evaluated <= evaluations);
        assert_true(outcome.tasks[0].best_ns < 5e6);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_earliest_comes_first),
        cmocka_unit_test(orders_go_out_in_their_order),
        cmocka_unit_test(points_are_texts),
        cmocka_unit_test(optima_are_reached),
        cmocka_unit_test(the_witness_complains),
        cmocka_unit_test(the_same_seed_is_the_same_campaign),
        cmocka_unit_test(nothing_disturbs_the_rules),
        cmocka_unit_test(rivals_of_every_kind),
        cmocka_unit_test(random_campaigns_replay),
        cmocka_unit_test(a_snapshot_goes_on_alike),
        cmocka_unit_test(long_campaigns),
    };
    seeds = argc > 1 ? strtoul(argv[1], NULL, 10) : seeds;
    evaluations = argc > 2 ? strtoul(argv[2], NULL, 10) : evaluations;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
