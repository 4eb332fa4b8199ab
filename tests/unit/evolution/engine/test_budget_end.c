/* How budgets end a search, and how an extension opens it again. */
#include "evolution/engine/budget.h"
#include "tests/unit/evolution/engine/engine_scene.h"

static void wall_budget_leaves_time_for_finals(void **state)
{
    struct fixture *f = *state;
    struct atoll_search search = settings();
    search.wall_budget_ns = 1e9;
    search.finals_share = 0.2;
    struct sim *s = malloc(sizeof(*s));
    sim_start(s, 3, &search);
    sim_add_task(s, 0, &f->tasks[0]);
    sim_capacity(s, 1);
    for (unsigned i = 0; i < 6; i++)
        sim_answer(s);
    s->now_ns = 800000000;
    sim_simple(s, ATOLL_EVENT_TICK);
    uint64_t sent = s->counts[ATOLL_DECIDE_EVALUATE];
    drain(s);
    assert_int_equal(s->counts[ATOLL_DECIDE_EVALUATE], sent);
    assert_int_equal(s->duels[ATOLL_DUEL_FINAL], 1);
    check_end(s);
    assert_int_equal(s->last[ATOLL_DECIDE_STOP].reason, ATOLL_REASON_WALL_TIME);
    sim_fini(s);
    free(s);
}

/* A duel of six pairs takes 60 ms; a final of it as many pairs as narrow the interval to 4 %, six at least and 32 at most. */
static void finals_are_kept_time_as_finals(void **state)
{
    static const struct {
        enum atoll_duel_purpose purpose;
        double ratio, lo, hi, ms;
    } rows[] = {{ATOLL_DUEL_PROMOTION, 2, 1.84, 2.16, 240}, {ATOLL_DUEL_PROMOTION, 0.5, 0.46, 0.54, 240},
                {ATOLL_DUEL_PROMOTION, 2, 1.98, 2.02, 60},  {ATOLL_DUEL_PROMOTION, 2, 1, 3, 320},
                {ATOLL_DUEL_PROMOTION, 2, 0, 0, 60},        {ATOLL_DUEL_RIVAL, 2, 1, 3, 60}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_engine *e = calloc(1, sizeof(*e));
        struct atoll_task_state *t = calloc(1, sizeof(*t));
        struct atoll_duel duel = {.purpose = rows[i].purpose,
                                  .pair_count = 6,
                                  .ratio = rows[i].ratio,
                                  .ratio_lo = rows[i].lo,
                                  .ratio_hi = rows[i].hi,
                                  .occupied_ns = 60e6};
        atoll_budget_learn_final(e, t, &duel, 16);
        if (fabs(e->duels_ns - rows[i].ms * 1e6) > 1 || fabs(t->duels_ns - e->duels_ns) > 0 || t->duels != 1)
            fail_msg("row %zu: %.1f ms", i, e->duels_ns / 1e6);
        free(e);
        free(t);
    }
}

static void wall_time_over_abandons(void **state)
{
    struct fixture *f = *state;
    struct atoll_search search = settings();
    search.wall_budget_ns = 1e9;
    struct sim *s = malloc(sizeof(*s));
    sim_start(s, 3, &search);
    sim_add_task(s, 0, &f->tasks[0]);
    sim_capacity(s, 2);
    for (unsigned i = 0; i < 6; i++)
        sim_answer(s);
    uint64_t held = s->order_count;
    assert_true(held > 0);
    s->now_ns = 1000000000;
    sim_simple(s, ATOLL_EVENT_TICK);
    assert_int_equal(s->counts[ATOLL_DECIDE_ABANDON], held);
    check_end(s);
    size_t length = s->decisions.length;
    sim_simple(s, ATOLL_EVENT_TICK);
    sim_simple(s, ATOLL_EVENT_FINISH);
    assert_int_equal(s->decisions.length, length);
    sim_fini(s);
    free(s);
}

/* ---- extensions ---- */

static void an_extension_reopens(void **state)
{
    struct fixture *f = *state;
    struct atoll_search search = settings();
    struct atoll_engine_status status;
    search.evaluation_budget = 5;
    search.noop_interval = 0;
    struct sim *s = malloc(sizeof(*s));
    sim_start(s, 3, &search);
    sim_add_task(s, 0, &f->tasks[0]);
    sim_capacity(s, 1);
    drain(s);
    check_end(s);
    assert_int_equal(s->last[ATOLL_DECIDE_STOP].reason, ATOLL_REASON_EVALUATIONS);
    sim_extend(s, &(struct atoll_extension){.evaluations = 4}, 1);
    atoll_engine_status(s->engine, &status);
    assert_false(status.stopped || status.finishing);
    assert_int_equal(status.evaluation_budget, 9);
    drain(s);
    check_end(s);
    atoll_engine_status(s->engine, &status);
    assert_int_equal(status.evaluated, 9);
    assert_int_equal(s->last[ATOLL_DECIDE_STOP].reason, ATOLL_REASON_EVALUATIONS);
    /* The budget that ended it is lifted where another one is extended. */
    sim_extend(s, &(struct atoll_extension){.wall_ns = 1e12}, 1);
    atoll_engine_status(s->engine, &status);
    assert_int_equal(status.evaluation_budget, 0);
    expect_close(status.wall_budget_ns, 1e12 + (double)s->now_ns, 1);
    drain(s);
    check_end(s);
    assert_int_equal(s->last[ATOLL_DECIDE_STOP].reason, ATOLL_REASON_EXHAUSTED);
    assert_int_equal(s->counts[ATOLL_DECIDE_EVALUATE], 16); /* each of them once */
    sim_check_replay(s);
    sim_fini(s);
    free(s);
}

/* What a stop cut off is answered after the extension, under its number, and nothing is lost or evaluated twice. */
static void an_extension_sends_again_what_a_stop_cut_off(void **state)
{
    struct fixture *f = *state;
    struct atoll_search search = settings();
    search.wall_budget_ns = 1e9;
    for (unsigned answers = 0; answers < 12; answers++) {
        struct sim *s = malloc(sizeof(*s));
        sim_start(s, 3, &search);
        sim_add_task(s, 0, &f->tasks[0]);
        sim_capacity(s, 2);
        for (unsigned i = 0; i < answers; i++)
            sim_answer(s);
        size_t held = s->order_count;
        s->now_ns = 1000000000;
        sim_simple(s, ATOLL_EVENT_TICK);
        check_end(s);
        sim_extend(s, &(struct atoll_extension){.wall_ns = 1e12}, 2);
        assert_int_equal(s->counts[ATOLL_DECIDE_REDISPATCH], held);
        assert_true(s->order_count >= held);
        sim_reload(s);
        drain(s);
        check_end(s);
        assert_true(s->counts[ATOLL_DECIDE_EVALUATE] >= 16);
        sim_check_replay(s);
        sim_fini(s);
        free(s);
    }
}

/* However often it is extended, the finals of a task spend no more than the declared error together. */
static void finals_share_one_error_budget(void **state)
{
    static const struct sim_seed wide[] = {
        {"naive", NULL, NULL},
        {"wide", "\"A\": [1, 2, 3, 4, 5, 6, 7, 8], \"B\": [1, 2, 3, 4, 5, 6, 7, 8]", NULL},
    };
    struct atoll_buffer bytes;
    struct atoll_search search = settings();
    double spent = 0;
    atoll_buffer_init(&bytes, 1u << 24);
    sim_task("wide", wide, 2, 1, &bytes);
    search.evaluation_budget = 4;
    search.stagnation_limit = 0;
    struct sim *s = malloc(sizeof(*s));
    sim_start(s, 11, &search);
    s->noise = 0.9; /* promises that do not hold: several finals each time */
    sim_add_task(s, 0, &bytes);
    sim_capacity(s, 1);
    for (unsigned round = 0; round < 12; round++) {
        double left = search.alpha - spent;
        for (uint64_t finals = s->duels[ATOLL_DUEL_FINAL]; s->order_count;) {
            if (s->duels[ATOLL_DUEL_FINAL] > finals) {
                expect_close(s->last[ATOLL_DECIDE_DUEL].alpha / (left / 2 / search.finals_tries), 1, 1e-9);
                spent += s->last[ATOLL_DECIDE_DUEL].alpha;
                finals = s->duels[ATOLL_DUEL_FINAL];
            }
            sim_answer(s);
        }
        check_end(s);
        assert_true(spent < search.alpha);
        sim_reload(s);
        sim_extend(s, &(struct atoll_extension){.evaluations = 4}, 1);
    }
    assert_true(s->duels[ATOLL_DUEL_FINAL] > 4);
    sim_check_replay(s);
    sim_fini(s);
    free(s);
    atoll_buffer_fini(&bytes);
}

static void an_extension_by_nothing_is_ignored(void **state)
{
    struct atoll_event event;
    struct atoll_engine_status status;
    struct atoll_search search = settings();
    struct sim *s = malloc(sizeof(*s));
    struct atoll_engine *early = atoll_engine_create(NULL);
    atoll_event_init(&event, ATOLL_EVENT_EXTEND);
    event.extension.evaluations = 10;
    assert_int_equal(atoll_engine_step(early, &event, NULL, NULL, NULL), 0); /* before the start */
    atoll_engine_status(early, &status);
    assert_int_equal(status.ignored, 1);
    atoll_engine_destroy(early);
    sim_start(s, 1, &search);
    event.extension.evaluations = 0;
    sim_step(s, &event);
    atoll_engine_status(s->engine, &status);
    assert_int_equal(status.ignored, 1);
    assert_int_equal(status.evaluation_budget, 0);
    sim_fini(s);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wall_budget_leaves_time_for_finals),
        cmocka_unit_test(finals_are_kept_time_as_finals),
        cmocka_unit_test(wall_time_over_abandons),
        cmocka_unit_test(an_extension_reopens),
        cmocka_unit_test(an_extension_sends_again_what_a_stop_cut_off),
        cmocka_unit_test(finals_share_one_error_budget),
        cmocka_unit_test(an_extension_by_nothing_is_ignored),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
