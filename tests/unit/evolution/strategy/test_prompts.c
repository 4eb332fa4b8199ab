/* Prompts that evolve: which version an ask is worded with, when a model is asked for edits, and what it is told. */
#include "tests/support/operator.h"

#include "evolution/strategy/prompts.h"
#include "evolution/strategy/wording.h"

static struct atoll_buffer task;

static int set_up(void **state)
{
    static const struct sim_seed seeds[] = {{"k0", NULL, NULL}};
    atoll_buffer_init(&task, 1u << 24);
    sim_task("plain", seeds, 1, 1, &task);
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
    search.prompt_evolution = 1;
    search.prompt_interval = 1;
    search.generation_size = 4;
    search.islands = 1;
    search.ask_share = 1;
    search.asks = 1;
    search.stagnation_limit = search.noop_interval = 0;
    search.selection_share[ATOLL_SELECT_UNIFORM] = search.selection_share[ATOLL_SELECT_FITNESS] = 0;
    search.selection_share[ATOLL_SELECT_ISLAND] = 1; /* the fittest version */
    return search;
}

static const struct atoll_prompt_archive *versions(const struct sim *s, uint32_t position)
{
    return &atoll_wording_pool(s->engine, &s->engine->tasks[position])->archives[ATOLL_LANGUAGE_C];
}

static void edit(struct sim *s, uint64_t ask, enum atoll_reply_status status)
{
    struct atoll_reply reply = {
        .ask = ask,
        .status = status,
        .item_count = 1,
        .items = {{.kind = ATOLL_ITEM_EDIT, .title = "pitfalls", .before = "a", .after = "b"}}};
    op_reply(s, &reply);
}

/* Kernels 1, 2, ... until something else is asked for. */
static const struct atoll_ask *write_until(struct sim *s, enum atoll_ask_kind kind, uint32_t *next,
                                           const double *times)
{
    for (unsigned i = 0; i < 64; i++) {
        for (uint32_t k = 0; k < op_count(s); k++)
            if (op_at(s, k)->kind == kind)
                return op_at(s, k);
        assert_int_not_equal(op_count(s), 0);
        assert_int_equal(op_at(s, 0)->kind, ATOLL_ASK_WRITE);
        op_kernel(s, op_at(s, 0)->number, (*next)++);
        op_evaluate(s, times);
    }
    fail_msg("nobody is asked");
    return NULL;
}

static const double times[64] = {8,   7,   0,   6,   9,   5,   0,   4,   3.5, 3,
                                 2.9, 2.8, 2.7, 2.6, 2.5, 2.4, 2.3, 2.2, 2.1, 2};

/* Behind a generation, with what there is to learn from; what comes back is used from then on. */
static void edits_are_asked_for(void **state)
{
    struct atoll_search search = settings(ATOLL_STRATEGY_ISLANDS);
    struct sim *s = op_start(1, &search, &task, 1);
    uint32_t next = 1;
    sim_capacity(s, 1);
    op_evaluate(s, times);
    const struct atoll_ask meta = *write_until(s, ATOLL_ASK_META, &next, times);
    assert_int_equal(next, 5); /* kernels 1 to 4 */
    assert_int_equal(meta.prompt, 0);
    assert_int_equal(meta.count, ATOLL_PROMPT_EDITS);
    assert_int_equal(meta.role, ATOLL_ISLAND_ROLE_COUNT);
    assert_int_equal(op_number(s, 0, &meta.parent), 3);
    assert_int_equal(meta.inspiration_count, 2);
    assert_int_equal(op_number(s, 0, &meta.inspirations[0]), 4);
    assert_int_equal(op_number(s, 0, &meta.inspirations[1]), 1);
    assert_int_equal(meta.failure_count, 1);
    assert_int_equal(op_number(s, 0, &meta.failures[0]), 2);
    sim_reload(s);
    assert_int_equal(s->engine->tasks[0].prompts.ask, meta.number);
    edit(s, meta.number, ATOLL_REPLY_OK);
    sim_reload(s);
    const struct atoll_prompt_archive *a = versions(s, 0);
    assert_int_equal(a->count, 2);
    assert_true(a->versions[1].version == meta.number && a->versions[1].parent == 0);
    assert_true(a->versions[0].uses == 5 && a->versions[0].answers == 4); /* one is being asked */
    /* what is asked from now on names a version, and its kernels are credited to it */
    const struct atoll_ask second = *write_until(s, ATOLL_ASK_META, &next, times);
    assert_int_equal(versions(s, 0)->versions[0].answers + versions(s, 0)->versions[1].answers, 8);
    /* no usable answer: nothing new, and it goes on */
    edit(s, second.number, ATOLL_REPLY_EMPTY);
    assert_int_equal(versions(s, 0)->count, 2);
    const struct atoll_ask third = *write_until(s, ATOLL_ASK_META, &next, times);
    op_status(s, third.number, ATOLL_REPLY_OK); /* without an edit */
    assert_int_equal(versions(s, 0)->count, 2);
    sim_simple(s, ATOLL_EVENT_FINISH);
    op_evaluate(s, times);
    op_finish(s);
}

/* Generations, counted from the last ask for edits on. */
static void the_interval_is_kept(void **state)
{
    struct atoll_search search = settings(ATOLL_STRATEGY_ISLANDS);
    search.prompt_interval = 3;
    struct sim *s = op_start(1, &search, &task, 1);
    uint32_t next = 1;
    sim_capacity(s, 1);
    op_evaluate(s, times);
    edit(s, write_until(s, ATOLL_ASK_META, &next, times)->number, ATOLL_REPLY_OK);
    assert_int_equal(next, 12); /* with the seed three times four */
    write_until(s, ATOLL_ASK_META, &next, times);
    assert_int_equal(next, 24);
    sim_simple(s, ATOLL_EVENT_FINISH);
    op_evaluate(s, times);
    op_finish(s);
}

/* Who carries out a plan is told what its author was told, whatever would be drawn now; who is told what an analyser found is
 * worded as is drawn now. */
static void a_plan_s_version_is_its_executor_s(void **state)
{
    struct atoll_search search = settings(ATOLL_STRATEGY_BEAM);
    search.asks = 8;
    search.beam_width = search.beam_attempts = 1;
    search.beam_plans = 4;
    search.analyses = 64;
    search.selection_share[ATOLL_SELECT_ISLAND] = 0;
    search.selection_share[ATOLL_SELECT_UNIFORM] = 1;
    struct sim *s = op_start(1, &search, &task, 1);
    uint64_t told[256] = {0};
    unsigned plans = 0, mixed = 0, other = 0;
    uint32_t next = 1;
    double falling[64];
    for (unsigned i = 0; i < 64; i++)
        falling[i] = 8 * exp(-0.05 * i) * (i % 4 == 1 ? 1 : 1.3); /* of an iteration the first is the best */
    sim_capacity(s, 4);
    op_evaluate(s, falling);
    while (op_count(s) && next < 60) {
        const struct atoll_ask ask = *op_at(s, 0);
        assert_true(ask.number < 256);
        switch (ask.kind) {
        case ATOLL_ASK_ANALYSE:
            told[ask.number] = ask.prompt + 1;
            op_issues(s, ask.number, 1);
            break;
        case ATOLL_ASK_PLAN:
            told[ask.number] = ask.prompt + 1;
            other += ask.plan && told[ask.plan] != ask.prompt + 1;
            op_plans(s, ask.number, 1);
            break;
        case ATOLL_ASK_META: edit(s, ask.number, ATOLL_REPLY_OK); break;
        default:
            assert_int_equal(ask.prompt + 1, told[ask.plan]);
            mixed += ask.prompt != 0;
            plans++;
            op_kernel(s, ask.number, next++);
            op_evaluate(s, falling);
        }
        if (next % 7 == 0)
            sim_reload(s);
    }
    assert_true(plans >= 40 && mixed > 5 && mixed < plans && other > 5);
    sim_simple(s, ATOLL_EVENT_FINISH);
    op_evaluate(s, falling);
    op_finish(s);
}

/* Versions of two tasks: each its own, or those of both. */
static void versions_are_shared_where_it_is_said(void **state)
{
    for (unsigned shared = 0; shared < 2; shared++) {
        struct atoll_search search = settings(ATOLL_STRATEGY_ISLANDS);
        search.prompt_share = shared ? ATOLL_PROMPT_SHARED : ATOLL_PROMPT_OWN;
        struct sim *s = op_start(1, &search, &task, 2);
        uint32_t next = 1;
        sim_capacity(s, 1);
        op_evaluate(s, times);
        const struct atoll_ask meta = *write_until(s, ATOLL_ASK_META, &next, times);
        edit(s, meta.number, ATOLL_REPLY_OK);
        assert_int_equal(versions(s, meta.task)->count, 2);
        assert_int_equal(versions(s, 1 - meta.task)->count > 1, shared);
        sim_simple(s, ATOLL_EVENT_FINISH);
        op_evaluate(s, times);
        op_finish(s);
    }
}

/* Frozen, or where samples must not learn from each other: nobody is asked, and no ask names a version. */
static void frozen_prompts_are_left_alone(void **state)
{
    static const struct {
        enum atoll_strategy_kind strategy;
        uint32_t evolution;
        double ask_share;
    } rows[] = {{ATOLL_STRATEGY_ISLANDS, 0, 1}, {ATOLL_STRATEGY_REPEATED, 1, 1}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_search search = settings(rows[i].strategy);
        search.prompt_evolution = rows[i].evolution;
        struct sim *s = op_start(1, &search, &task, 1);
        sim_capacity(s, 1);
        op_evaluate(s, times);
        for (uint32_t next = 1; next < 20; next++) {
            assert_int_equal(op_at(s, 0)->kind, ATOLL_ASK_WRITE);
            assert_int_equal(op_at(s, 0)->prompt, 0);
            op_kernel(s, op_at(s, 0)->number, next);
            op_evaluate(s, times);
        }
        assert_int_equal(versions(s, 0)->count, 0);
        sim_simple(s, ATOLL_EVENT_FINISH);
        op_evaluate(s, times);
        op_finish(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edits_are_asked_for),
        cmocka_unit_test(the_interval_is_kept),
        cmocka_unit_test(a_plan_s_version_is_its_executor_s),
        cmocka_unit_test(versions_are_shared_where_it_is_said),
        cmocka_unit_test(frozen_prompts_are_left_alone),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
