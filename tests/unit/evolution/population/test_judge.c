/* Who is asked about, who waits, and what becomes of whom a judge calls a cheat. */
#include "tests/support/operator.h"

static struct atoll_buffer task;

static int set_up(void **state)
{
    static const struct sim_seed seeds[] = {{"k0", NULL, NULL}, {"k1", NULL, NULL}};
    atoll_buffer_init(&task, 1u << 24);
    sim_task("plain", seeds, 2, 1, &task);
    return 0;
}

static int tear_down(void **state)
{
    atoll_buffer_fini(&task);
    return 0;
}

static struct atoll_search settings(enum atoll_judge_mode mode)
{
    struct atoll_search search;
    atoll_search_defaults(&search);
    op_strategy_alone(&search);
    search.judge = mode;
    search.ask_share = 1;
    search.islands = 1;
    search.asks = 1;
    search.stagnation_limit = search.noop_interval = 0;
    return search;
}

static const double times[] = {4, 3, 2, 1, 0};

/* Of kernels 0 (the baseline) and 1 it asks for another; that is kernel 2, correct and the fastest. */
static struct sim *start(const struct atoll_search *search)
{
    struct sim *s = op_start(1, search, &task, 1);
    s->cells = 1;
    sim_capacity(s, 8);
    op_evaluate(s, times);
    assert_int_equal(op_count(s), 1);
    assert_int_equal(op_at(s, 0)->kind, ATOLL_ASK_WRITE);
    op_kernel(s, op_at(s, 0)->number, 2);
    op_evaluate(s, times);
    return s;
}

static uint32_t best_of(const struct sim *s)
{
    struct atoll_task_status status;
    atoll_engine_task_status(s->engine, 0, 0, &status);
    return op_number(s, 0, &status.best);
}

/* The ask about a candidate; NULL: there is none. */
static const struct atoll_ask *judge_ask(const struct sim *s)
{
    for (uint32_t i = 0; i < op_count(s); i++)
        if (op_at(s, i)->kind == ATOLL_ASK_JUDGE)
            return op_at(s, i);
    return NULL;
}

static void end(struct sim *s)
{
    sim_simple(s, ATOLL_EVENT_FINISH);
    for (unsigned i = 0; i < 200 && !s->counts[ATOLL_DECIDE_STOP]; i++) {
        op_evaluate(s, times);
        while (op_count(s) && !s->counts[ATOLL_DECIDE_STOP])
            op_status(s, op_at(s, 0)->number, ATOLL_REPLY_FAILED);
    }
    op_finish(s);
}

/* It waits while the answer is under way, and becomes elite and best unless the answer says more than the limit. */
static void an_elite_to_be_is_judged(void **state)
{
    static const struct {
        double likelihood, limit; /* below 0: no answer */
        enum atoll_reply_status status;
        int stays;
    } rows[] = {
        {0.9, 0.5, ATOLL_REPLY_OK, 0},     {0.1, 0.5, ATOLL_REPLY_OK, 1},   {0.5, 0.5, ATOLL_REPLY_OK, 1},
        {0.51, 0.5, ATOLL_REPLY_OK, 0},    {0.9, 0.95, ATOLL_REPLY_OK, 1},  {-1, 0.5, ATOLL_REPLY_OK, 1},
        {-1, 0.5, ATOLL_REPLY_FAILED, 1},  {-1, 0.5, ATOLL_REPLY_EMPTY, 1}, {-1, 0.5, ATOLL_REPLY_SPENT, 1},
        {-1, 0.5, ATOLL_REPLY_BUILTIN, 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_search search = settings(ATOLL_JUDGE_ALL);
        search.judge_limit = rows[i].limit;
        struct sim *s = start(&search);
        const struct atoll_ask *ask = judge_ask(s);
        assert_non_null(ask);
        assert_int_equal(op_number(s, 0, &ask->parent), 2);
        uint64_t number = ask->number, elites = s->counts[ATOLL_DECIDE_ELITE];
        assert_int_equal(best_of(s), 1);
        sim_reload(s);
        sim_simple(s, ATOLL_EVENT_RESUME); /* asks again for the same, under its number */
        sim_capacity(s, 8);
        assert_int_equal(judge_ask(s)->number, number);
        if (rows[i].likelihood >= 0)
            op_judge(s, number, rows[i].likelihood);
        else
            op_status(s, number, rows[i].status);
        op_evaluate(s, times);
        assert_null(judge_ask(s));
        assert_int_equal(best_of(s), rows[i].stays ? 2 : 1);
        assert_int_equal(s->counts[ATOLL_DECIDE_ELITE], elites + (uint64_t)rows[i].stays);
        assert_int_equal(s->counts[ATOLL_DECIDE_DISCARD], !rows[i].stays);
        if (!rows[i].stays) {
            assert_int_equal(op_number(s, 0, &s->last[ATOLL_DECIDE_DISCARD].candidate), 2);
            assert_int_equal(s->last[ATOLL_DECIDE_DISCARD].answers_ask, number);
            assert_int_equal(s->counts[ATOLL_DECIDE_NOT_CONFIRMED], 0);
        }
        end(s);
    }
}

/* With `finals` nobody is asked about before the end; then the best is, and who comes in its place; with `off` nobody. */
static void a_finalist_is_judged(void **state)
{
    static const double verdicts[] = {0.1, 0.9};
    for (size_t i = 0; i < 3; i++) {
        struct atoll_search search = settings(i < 2 ? ATOLL_JUDGE_FINALS : ATOLL_JUDGE_OFF);
        struct sim *s = start(&search);
        assert_null(judge_ask(s));
        assert_int_equal(best_of(s), 2);
        sim_simple(s, ATOLL_EVENT_FINISH);
        for (uint32_t k = 0; k < op_count(s) && i < 2; k++) /* of what was asked before nothing comes */
            if (op_at(s, k)->kind != ATOLL_ASK_JUDGE)
                op_status(s, op_at(s, k--)->number, ATOLL_REPLY_FAILED);
        if (i < 2) {
            assert_int_equal(s->duels[ATOLL_DUEL_FINAL], 0);
            assert_non_null(judge_ask(s));
            assert_int_equal(op_number(s, 0, &judge_ask(s)->parent), 2);
            op_judge(s, judge_ask(s)->number, verdicts[i]);
            assert_int_equal(s->counts[ATOLL_DECIDE_DISCARD], i);
        }
        assert_null(judge_ask(s)); /* kernel 1 is the task's own */
        assert_int_equal(s->duels[ATOLL_DUEL_FINAL], 1);
        assert_int_equal(op_number(s, 0, &s->last[ATOLL_DECIDE_DUEL].candidate), i == 1 ? 1 : 2);
        end(s);
    }
}

/* ---- whatever happens, with every strategy ---- */

struct seen {
    uint64_t asks; /* up to here */
    uint32_t individuals;
};

static void check(const struct sim *s, struct seen *seen)
{
    const struct atoll_engine *e = s->engine;
    const struct atoll_individual *all = e->individuals.items;
    const struct atoll_task_state *t = &e->tasks[0];
    uint64_t last = seen->asks;
    for (uint32_t i = 0; i < e->search.islands; i++)
        for (uint64_t left = t->islands[i].occupied; left; left &= left - 1)
            assert_int_not_equal(all[t->islands[i].cells[__builtin_ctzll(left)].elite].state,
                                 ATOLL_INDIVIDUAL_DISCARDED);
    assert_true(t->best == ATOLL_NONE || all[t->best].state != ATOLL_INDIVIDUAL_DISCARDED);
    assert_true(t->finalist == ATOLL_NONE || all[t->finalist].state != ATOLL_INDIVIDUAL_DISCARDED);
    for (uint32_t i = 0; i < op_count(s); i++) {
        const struct atoll_asked *asked = &e->asks.items[i];
        if (asked->ask.number <= seen->asks)
            continue;
        assert_true(asked->parent == ATOLL_NONE || all[asked->parent].state != ATOLL_INDIVIDUAL_DISCARDED);
        if (asked->ask.kind == ATOLL_ASK_JUDGE) { /* once a source */
            const struct atoll_source *source = &e->sources.items[all[asked->parent].source];
            assert_int_equal(source->judge, asked->ask.number);
            assert_int_equal(source->judged, ATOLL_JUDGED_ASKED);
            assert_int_not_equal(source->op, ATOLL_OPERATOR_SEED);
            assert_int_not_equal(e->search.judge, ATOLL_JUDGE_OFF);
        }
        last = asked->ask.number > last ? asked->ask.number : last;
    }
    for (; seen->individuals < e->individuals.count; seen->individuals++) {
        const struct atoll_individual *r = &all[seen->individuals];
        assert_true(r->ask || r->parent == ATOLL_NONE || all[r->parent].state != ATOLL_INDIVIDUAL_DISCARDED);
    }
    seen->asks = last;
}

static void anything_may_happen(void **state)
{
    uint64_t discarded = 0, waited = 0;
    for (uint64_t seed = 1; seed <= 90; seed++) {
        struct atoll_search search = settings((enum atoll_judge_mode)(seed % ATOLL_JUDGE_MODE_COUNT));
        search.seed = seed;
        search.strategy = (enum atoll_strategy_kind)(seed / 3 % ATOLL_STRATEGY_COUNT);
        search.islands = 1 + (uint32_t)(seed % 3);
        search.migration_interval = 1;
        search.generation_size = 4;
        search.beam_iterations = 3;
        search.evaluation_budget = 80;
        struct sim *s = op_start(seed, &search, &task, 1);
        struct op_moods moods = op_random_moods(s, 2);
        struct seen seen = {0};
        s->cells = 4;
        sim_capacity(s, 8);
        for (unsigned i = 0; i < 200 && !s->counts[ATOLL_DECIDE_STOP]; i++) {
            op_happen(s, &moods);
            check(s, &seen);
            waited += s->engine->tasks[0].judging.count;
        }
        sim_simple(s, ATOLL_EVENT_FINISH);
        sim_capacity(s, 4);
        for (; !s->counts[ATOLL_DECIDE_STOP]; check(s, &seen))
            op_advance(s, &moods);
        discarded += s->counts[ATOLL_DECIDE_DISCARD];
        op_finish(s);
    }
    if (discarded < 20 || waited < 20)
        fail_msg("%llu discarded, %llu waited", (unsigned long long)discarded, (unsigned long long)waited);
}

static void snapshots_are_checked(void **state)
{
    struct atoll_search search = settings(ATOLL_JUDGE_ALL);
    struct sim *s = start(&search);
    assert_int_equal(s->engine->tasks[0].judging.count, 1);
    op_check_snapshot(s);
    end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_elite_to_be_is_judged),
        cmocka_unit_test(a_finalist_is_judged),
        cmocka_unit_test(snapshots_are_checked),
        cmocka_unit_test(anything_may_happen),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
