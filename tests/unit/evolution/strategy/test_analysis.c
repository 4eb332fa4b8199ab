/* What an analyser finds in a task's best: when it is asked, and who is told. */
#include "tests/support/operator.h"

#include "evolution/strategy/analysis.h"

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

static struct atoll_search settings(enum atoll_strategy_kind strategy)
{
    struct atoll_search search;
    atoll_search_defaults(&search);
    op_strategy_alone(&search);
    search.strategy = strategy;
    search.ask_share = search.islands = 1;
    search.analyses = 2;
    search.stagnation_limit = search.noop_interval = 0;
    search.asks = 3;
    search.beam_width = search.beam_attempts = 1;
    search.beam_plans = 2;
    search.beam_iterations = 2;
    return search;
}

/* Ends what a test has begun. */
static void end(struct sim *s, const double *times)
{
    sim_simple(s, ATOLL_EVENT_FINISH);
    op_evaluate(s, times);
    op_finish(s);
}

/* The ask for an analysis that is under way, which is of this kernel; 0: there is none. */
static uint64_t analysis_of(const struct sim *s, uint32_t kernel)
{
    uint64_t found = 0;
    for (uint32_t i = 0; i < op_count(s); i++) {
        const struct atoll_ask *ask = op_at(s, i);
        if (ask->kind != ATOLL_ASK_ANALYSE)
            continue;
        assert_true(!found && ask->op == ATOLL_OPERATOR_PLAN && ask->count == 1 && !ask->plan);
        assert_int_equal(op_number(s, 0, &ask->parent), kernel);
        found = ask->number;
    }
    return found;
}

/* The newest ask of this kind. */
static struct atoll_ask newest(const struct sim *s, enum atoll_ask_kind kind)
{
    for (uint32_t i = op_count(s); i-- > 0;)
        if (op_at(s, i)->kind == kind)
            return *op_at(s, i);
    fail_msg("nothing of kind %s is asked", atoll_ask_kind_name(kind));
    return (struct atoll_ask){.number = 0};
}

/* Asks for kernels are answered in vain until one is from this kernel. */
static struct atoll_ask write_from(struct sim *s, uint32_t kernel)
{
    for (unsigned i = 0; i < 200; i++) {
        struct atoll_ask ask = newest(s, ATOLL_ASK_WRITE);
        if (op_number(s, 0, &ask.parent) == kernel)
            return ask;
        op_status(s, ask.number, ATOLL_REPLY_EMPTY);
    }
    fail_msg("nobody is asked about kernel %u", kernel);
    return (struct atoll_ask){.number = 0};
}

static const double times[] = {16, 8, 4, 2, 1, 0.5, 9, 9, 9, 0};

/* Not before the seeds are answered; the search goes on, and the best that comes meanwhile waits for its turn.  Two are all. */
static void a_best_is_read_once(void **state)
{
    struct atoll_search search = settings(ATOLL_STRATEGY_ISLANDS);
    struct sim *s = op_start(1, &search, &task, 1);
    sim_capacity(s, 8);
    struct atoll_decision baseline = sim_take(s, 0);
    sim_evaluated(s, &baseline, ATOLL_V_CORRECT, 16e6);
    assert_int_equal(op_count(s), 3); /* of the seed that is there */
    op_status(s, 1, ATOLL_REPLY_EMPTY);
    assert_int_equal(analysis_of(s, 0), 0);
    op_evaluate(s, times);
    op_status(s, 2, ATOLL_REPLY_EMPTY);
    uint64_t first = analysis_of(s, 1);
    assert_true(first && op_count(s) == 3);
    assert_int_equal(write_from(s, 1).plan, 0);
    op_kernel(s, write_from(s, 1).number, 2);
    op_evaluate(s, times);
    assert_int_equal(analysis_of(s, 1), first);
    sim_reload(s);
    op_issues(s, first, 2);
    uint64_t second = analysis_of(s, 2);
    assert_true(second > first);
    assert_int_equal(write_from(s, 2).plan, 0);
    op_issues(s, second, 1);
    assert_int_equal(analysis_of(s, 2), 0);
    op_status(s, write_from(s, 2).number, ATOLL_REPLY_EMPTY); /* it was asked before */
    op_status(s, write_from(s, 2).number, ATOLL_REPLY_EMPTY);
    op_status(s, write_from(s, 2).number, ATOLL_REPLY_EMPTY);
    assert_int_equal(write_from(s, 2).plan, second);
    op_kernel(s, write_from(s, 2).number, 3);
    op_evaluate(s, times);
    assert_int_equal(op_number(s, 0, &s->engine->individuals.items[s->engine->tasks[0].best].id), 3);
    op_status(s, newest(s, ATOLL_ASK_WRITE).number, ATOLL_REPLY_EMPTY);
    assert_int_equal(write_from(s, 3).plan, 0);
    assert_int_equal(analysis_of(s, 3), 0);
    end(s, times);
}

/* Without anything in words nobody is told, and the kernel is not asked about once more. */
static void an_answer_without_words_is_the_last(void **state)
{
    static const enum atoll_reply_status statuses[] = {ATOLL_REPLY_OK, ATOLL_REPLY_EMPTY, ATOLL_REPLY_REFUSED,
                                                       ATOLL_REPLY_FAILED, ATOLL_REPLY_BUILTIN};
    for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++) {
        struct atoll_search search = settings(ATOLL_STRATEGY_ISLANDS);
        struct sim *s = op_start(1, &search, &task, 1);
        sim_capacity(s, 8);
        op_evaluate(s, times);
        op_status(s, 1, ATOLL_REPLY_EMPTY);
        uint64_t analysis = analysis_of(s, 1);
        assert_true(analysis);
        op_status(s, analysis, statuses[i]);
        for (unsigned more = 0; more < 12; more++) {
            assert_true(!analysis_of(s, 1) && op_count(s) == 3);
            op_status(s, newest(s, ATOLL_ASK_WRITE).number, ATOLL_REPLY_EMPTY);
            assert_int_equal(newest(s, ATOLL_ASK_WRITE).plan, 0);
        }
        end(s, times);
    }
}

/* It is none of the candidates that a task may have, and takes one of the asks that it may have under way. */
static void an_analysis_is_no_sample(void **state)
{
    struct atoll_search search = settings(ATOLL_STRATEGY_ISLANDS);
    search.samples = 4;
    struct sim *s = op_start(1, &search, &task, 1);
    sim_capacity(s, 8);
    op_evaluate(s, times);
    op_status(s, 1, ATOLL_REPLY_EMPTY);
    assert_true(analysis_of(s, 1) && op_count(s) == 3);
    op_status(s, 2, ATOLL_REPLY_EMPTY);
    assert_true(analysis_of(s, 1) && op_count(s) == 3); /* the fourth sample */
    op_status(s, 3, ATOLL_REPLY_EMPTY);
    assert_int_equal(op_count(s), 2);
    end(s, times);
}

/* A beam's planner names it, whose plan the executor names; so do templates at the end, which are asked for behind it. */
static void planners_and_templates_are_told(void **state)
{
    struct atoll_search search = settings(ATOLL_STRATEGY_BEAM);
    search.asks = 4;
    search.template_rounds = 1;
    struct sim *s = op_start(1, &search, &task, 1);
    sim_capacity(s, 8);
    op_evaluate(s, times);
    uint64_t analysis = analysis_of(s, 1);
    assert_true(analysis && op_count(s) == 3);
    uint64_t untold = newest(s, ATOLL_ASK_PLAN).number;
    op_issues(s, analysis, 1);
    op_plans(s, untold - 1, 0);
    op_plans(s, untold, 1);
    struct atoll_ask attempt = newest(s, ATOLL_ASK_WRITE);
    assert_true(attempt.op == ATOLL_OPERATOR_EXECUTE && attempt.plan == untold);
    op_kernel(s, attempt.number, 6); /* slower: the best stays */
    op_evaluate(s, times);
    struct atoll_ask plan = newest(s, ATOLL_ASK_PLAN);
    for (uint32_t i = 0; i < op_count(s); i++)
        assert_int_equal(op_at(s, i)->plan, op_number(s, 0, &op_at(s, i)->parent) == 1 ? analysis : 0);
    op_plans(s, plan.number - 1, 0);
    op_plans(s, plan.number, 1);
    attempt = newest(s, ATOLL_ASK_WRITE);
    assert_int_equal(attempt.plan, plan.number);
    op_kernel(s, attempt.number, 2);
    op_evaluate(s, times);
    uint64_t last = analysis_of(s, 2); /* goes before the templates that are to know it */
    assert_true(last && op_count(s) == 1);
    op_issues(s, last, 1);
    struct atoll_ask templates = newest(s, ATOLL_ASK_WRITE);
    assert_true(templates.op == ATOLL_OPERATOR_TEMPLATE && templates.plan == last);
    op_status(s, templates.number, ATOLL_REPLY_EMPTY);
    op_evaluate(s, times);
    op_finish(s);
}

/* A beam goes on from what is fastest by its own time, islands from what has won: so they are asked about. */
static void a_beam_waits_for_no_comparison(void **state)
{
    struct atoll_search search = settings(ATOLL_STRATEGY_BEAM);
    search.beam_attempts = 2;
    search.analyses = 3;
    struct sim *s = op_start(1, &search, &task, 1);
    sim_capacity(s, 8);
    op_evaluate(s, times);
    op_issues(s, analysis_of(s, 1), 1);
    op_plans(s, newest(s, ATOLL_ASK_PLAN).number, 1);
    op_kernels(s, newest(s, ATOLL_ASK_WRITE).number, (const uint32_t[]){2, 3}, 2);
    assert_int_equal(s->order_count, 2);
    struct atoll_decision order = sim_take(s, 0);
    sim_evaluated(s, &order, ATOLL_V_CORRECT, 7.5e6);
    assert_true(s->order_count == 2 && s->orders[1].type == ATOLL_DECIDE_DUEL);
    op_issues(s, analysis_of(s, 2), 1);
    order = sim_take(s, 0);
    sim_evaluated(s, &order, ATOLL_V_CORRECT, 7.49e6);
    assert_int_equal(analysis_of(s, 3), 0); /* not so much faster */
    end(s, (const double[]){16, 8, 7.5, 7.49});

    search = settings(ATOLL_STRATEGY_ISLANDS);
    search.asks = 2;
    s = op_start(1, &search, &task, 1);
    sim_capacity(s, 8);
    op_evaluate(s, times);
    op_status(s, 1, ATOLL_REPLY_EMPTY);
    op_issues(s, analysis_of(s, 1), 1);
    op_kernel(s, newest(s, ATOLL_ASK_WRITE).number, 2);
    order = sim_take(s, 0);
    sim_evaluated(s, &order, ATOLL_V_CORRECT, 7.5e6);
    op_status(s, newest(s, ATOLL_ASK_WRITE).number, ATOLL_REPLY_EMPTY);
    assert_int_equal(analysis_of(s, 2), 0);
    op_evaluate(s, (const double[]){16, 8, 7.5});
    op_status(s, newest(s, ATOLL_ASK_WRITE).number, ATOLL_REPLY_EMPTY);
    assert_true(analysis_of(s, 2));
    end(s, (const double[]){16, 8, 7.5});
}

/* Independent samples have none; what a stage asks is known of its kernel, too. */
static void some_strategies_ask_none(void **state)
{
    struct atoll_search search = settings(ATOLL_STRATEGY_REPEATED);
    search.repeated_parent = 1;
    struct sim *s = op_start(1, &search, &task, 1);
    sim_capacity(s, 8);
    op_evaluate(s, times);
    for (unsigned i = 0; i < 6; i++) {
        op_kernel(s, newest(s, ATOLL_ASK_WRITE).number, 2 + i);
        op_evaluate(s, times);
        for (uint32_t k = 0; k < op_count(s); k++)
            assert_true(op_at(s, k)->kind == ATOLL_ASK_WRITE && !op_at(s, k)->plan);
    }
    end(s, times);

    search = settings(ATOLL_STRATEGY_STAGED);
    search.stage_rounds = search.template_rounds = 1;
    s = op_start(1, &search, &task, 1);
    sim_capacity(s, 8);
    op_evaluate(s, times);
    struct atoll_ask analysis = newest(s, ATOLL_ASK_ANALYSE);
    assert_true(op_count(s) == 1 && analysis.op == ATOLL_OPERATOR_STAGED);
    op_issues(s, analysis.number, 1);
    while (op_count(s) && op_at(s, 0)->op != ATOLL_OPERATOR_TEMPLATE) {
        assert_int_equal(op_count(s), 1);
        struct atoll_ask ask = *op_at(s, 0);
        assert_true(ask.op == ATOLL_OPERATOR_STAGED || ask.op == ATOLL_OPERATOR_EXTRACT);
        op_status(s, ask.number, ask.kind == ATOLL_ASK_ANALYSE ? ATOLL_REPLY_OK : ATOLL_REPLY_EMPTY);
    }
    assert_int_equal(newest(s, ATOLL_ASK_WRITE).plan, analysis.number);
    end(s, times);
}

/* ---- whatever happens, with every strategy ---- */

struct seen {
    uint64_t asks; /* up to here */
    uint32_t analyses, told;
    uint32_t last; /* individual that one was about, from 1; 0: none */
};

static const struct atoll_source *source_of(const struct sim *s, const struct atoll_id *candidate)
{
    uint32_t at = atoll_individuals_find(&s->engine->individuals, 0, candidate);
    assert_int_not_equal(at, ATOLL_NONE);
    return &s->engine->sources.items[s->engine->individuals.items[at].source];
}

static void look(const struct sim *s, void *context)
{
    struct seen *seen = context;
    uint64_t last = seen->asks, under_way = 0;
    for (uint32_t i = 0; i < op_count(s); i++) {
        const struct atoll_ask *ask = op_at(s, i);
        int is_own = ask->kind == ATOLL_ASK_ANALYSE && ask->op == ATOLL_OPERATOR_PLAN;
        under_way = is_own ? ask->number : under_way;
        last = ask->number > last ? ask->number : last;
        if (ask->number <= seen->asks)
            continue;
        if (is_own) {
            assert_true(source_of(s, &ask->parent)->analysis == ask->number);
            seen->analyses++;
            const struct atoll_individual *all = s->engine->individuals.items;
            uint32_t about = s->engine->tasks[0].analysed;
            assert_true(!seen->last || all[seen->last - 1].state != ATOLL_V_CORRECT ||
                        all[about].time_ns * (1 + s->search.margin) < all[seen->last - 1].time_ns);
            seen->last = about + 1;
        }
        if (ask->op == ATOLL_OPERATOR_UNIVERSAL && ask->plan) {
            assert_true(source_of(s, &ask->parent)->analysed == ATOLL_ANALYSED_TOLD);
            assert_true(ask->plan < ask->number && source_of(s, &ask->parent)->analysis == ask->plan);
            seen->told++;
        }
    }
    assert_int_equal(s->engine->tasks[0].analysis, under_way);
    assert_int_equal(s->engine->tasks[0].analyses, seen->analyses);
    assert_true(op_count(s) - s->engine->tasks[0].lesson_asks <= s->search.asks);
    seen->asks = last;
}

static void the_rule_holds_whatever_happens(void **state)
{
    unsigned analyses = 0, told = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct atoll_search search = settings((enum atoll_strategy_kind)(seed % ATOLL_STRATEGY_COUNT));
        search.islands = 1 + (uint32_t)(seed % 3);
        search.analyses = 1 + (uint32_t)(seed % 4);
        search.asks = 1 + (uint32_t)(seed % 4);
        search.tree_drafts = 2;
        search.seed = seed;
        search.evaluation_budget = 60;
        struct seen seen = {.asks = 0};
        op_live(&search, &task, look, &seen);
        assert_true(seen.analyses <= search.analyses);
        analyses += seen.analyses;
        told += seen.told;
    }
    assert_true(analyses > 40 && told > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_best_is_read_once),
        cmocka_unit_test(an_answer_without_words_is_the_last),
        cmocka_unit_test(an_analysis_is_no_sample),
        cmocka_unit_test(planners_and_templates_are_told),
        cmocka_unit_test(a_beam_waits_for_no_comparison),
        cmocka_unit_test(some_strategies_ask_none),
        cmocka_unit_test(the_rule_holds_whatever_happens),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
