/* Who answers: an operator outside, or the built-in one; for one task, or for all. */
#include "tests/support/operator.h"

#include "evolution/strategy/ask.h"

static const struct sim_seed seeds[] = {
    {"naive", NULL, NULL},
    {"tiled", "\"A\": [1, 2, 3, 4], \"B\": [1, 2, 3]", NULL},
};

static int set_up(void **state)
{
    static struct atoll_buffer bytes;
    atoll_buffer_init(&bytes, 1u << 24);
    sim_task("copy", seeds, 2, 1, &bytes);
    *state = &bytes;
    return 0;
}

static int tear_down(void **state)
{
    atoll_buffer_fini(*state);
    return 0;
}

static struct sim *begin_with(const struct atoll_buffer *task, enum atoll_strategy_kind strategy,
                              uint32_t candidates)
{
    struct sim *s = malloc(sizeof(*s));
    struct atoll_search search;
    assert_non_null(s);
    atoll_search_defaults(&search);
    op_strategy_alone(&search);
    search.strategy = strategy;
    search.evaluation_budget = 200;
    search.noop_interval = 0;
    search.ask_share = 1;
    search.ask_candidates = candidates;
    sim_start(s, 7, &search);
    sim_add_task(s, 0, task);
    sim_add_task(s, 1, task);
    sim_capacity(s, 4);
    return s;
}

static struct sim *begin(const struct atoll_buffer *task, enum atoll_strategy_kind strategy)
{
    return begin_with(task, strategy, 1);
}

static void end(struct sim *s)
{
    sim_check_replay(s);
    sim_fini(s);
    free(s);
}

/* Until `asks` are under way, or nothing is. */
static void answer_until(struct sim *s, uint32_t asks)
{
    for (int i = 0; i < 400 && s->order_count && op_count(s) < asks; i++)
        sim_answer(s);
}

static uint32_t asks_of(const struct sim *s, uint32_t task)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < op_count(s); i++)
        count += op_at(s, i)->task == task;
    return count;
}

static void answer_all(struct sim *s, uint32_t task, enum atoll_reply_status status)
{
    for (uint32_t i = 0; i < op_count(s);) {
        if (op_at(s, i)->task == task) {
            op_status(s, op_at(s, i)->number, status);
            i = 0;
        } else {
            i++;
        }
    }
}

/* What an ask tells of its task is what is known when it is made. */
static void asks_tell_times(void **state)
{
    struct sim *s = begin(*state, ATOLL_STRATEGY_ISLANDS);
    answer_until(s, 2);
    assert_true(op_count(s) > 0);
    const struct atoll_ask *ask = op_at(s, 0);
    struct atoll_task_status status;
    assert_int_equal(atoll_engine_task_status(s->engine, ask->task, 0, &status), 0);
    assert_true(ask->baseline_ns > 0 && ask->baseline_ns == status.baseline_ns);
    assert_true(ask->best_ns > 0 && ask->best_ns <= ask->baseline_ns);
    assert_true(ask->floor_ns == status.floor_ns);
    end(s);
}

/* The tuner goes on with that task, and the other one keeps its operator. */
static void spent_for_one_task(void **state)
{
    struct sim *s = begin(*state, ATOLL_STRATEGY_ISLANDS);
    answer_until(s, 4);
    assert_true(asks_of(s, 0) > 0 && asks_of(s, 1) > 0);
    answer_all(s, 0, ATOLL_REPLY_TASK_SPENT);
    assert_int_equal(asks_of(s, 0), 0);
    struct atoll_task_status before, after;
    assert_int_equal(atoll_engine_task_status(s->engine, 0, 0, &before), 0);
    for (int i = 0; i < 6 && s->order_count; i++)
        sim_answer(s);
    assert_int_equal(atoll_engine_task_status(s->engine, 0, 0, &after), 0);
    assert_int_equal(asks_of(s, 0), 0);
    assert_true(asks_of(s, 1) > 0);
    assert_true(after.evaluated > before.evaluated);
    sim_reload(s); /* a snapshot keeps it */
    answer_all(s, 1, ATOLL_REPLY_EMPTY);
    assert_int_equal(asks_of(s, 0), 0);
    end(s);
}

/* Nobody outside plans: the engine's own operator does, and carries out what it planned; without templates it cannot, and
 * asks for candidates go outside as before. */
static void builtin_answers_one_kind(void **state)
{
    for (unsigned has_templates = 0; has_templates < 2; has_templates++) {
        struct atoll_buffer bytes;
        atoll_buffer_init(&bytes, 1u << 24);
        sim_task("copy", seeds, 1 + has_templates, 1, &bytes);
        struct sim *s = begin(&bytes, ATOLL_STRATEGY_BEAM);
        unsigned plans = 0, writes = 0, tuned = 0;
        for (int i = 0; i < 400 && (s->order_count || op_count(s)); i++) {
            if (!op_count(s)) {
                sim_answer(s);
                continue;
            }
            const struct atoll_ask ask = *op_at(s, 0);
            int is_plan = ask.kind == ATOLL_ASK_PLAN;
            plans += (unsigned)is_plan;
            writes += !is_plan;
            op_status(s, ask.number, is_plan ? ATOLL_REPLY_BUILTIN : ATOLL_REPLY_EMPTY);
        }
        for (uint32_t i = 0; i < s->engine->individuals.count; i++)
            tuned += s->engine->individuals.items[i].op == ATOLL_OPERATOR_TUNE;
        assert_true(plans > 0);
        if (has_templates)
            assert_true(tuned > 0);
        else
            assert_true(writes > 0);
        end(s);
        atoll_buffer_fini(&bytes);
    }
}

/* A turn that called tools is paid for out of the budgets of tokens and money, whoever asked, and nothing comes back. */
static void tool_turns_are_paid_for(void **state)
{
    struct atoll_event event;
    struct sim *s = begin(*state, ATOLL_STRATEGY_ISLANDS);
    answer_until(s, 2);
    atoll_event_init(&event, ATOLL_EVENT_TOOL);
    event.tool_turn = (struct atoll_tool_turn){.ask = 5, .tokens_in = 100, .tokens_out = 20, .cost_usd = 0.5};
    sim_step(s, &event);
    assert_true(s->engine->tokens == 120 && s->engine->cost_usd == 0.5 && s->engine->ignored == 0);
    event.tool_turn =
        (struct atoll_tool_turn){.ask = 5, .tokens_in = UINT64_MAX, .tokens_out = 20, .cost_usd = 0.25};
    sim_step(s, &event);
    assert_true(s->engine->tokens == UINT64_MAX && s->engine->cost_usd == 0.75);
    end(s);
}

/* Where the strategy says no number the setting does; every kernel is a candidate, and the search goes on to its end. */
static void an_ask_may_want_several_kernels(void **state)
{
    static const enum atoll_strategy_kind strategies[] = {ATOLL_STRATEGY_ISLANDS, ATOLL_STRATEGY_TREE,
                                                          ATOLL_STRATEGY_STAGED, ATOLL_STRATEGY_BEAM};
    for (size_t k = 0; k < sizeof(strategies) / sizeof(*strategies); k++) {
        struct sim *s = begin_with(*state, strategies[k], 3);
        uint32_t next = 1, several = 0;
        for (int i = 0; i < 1500 && (s->order_count || op_count(s)); i++) {
            if (s->order_count && i % 3) {
                sim_answer(s);
            } else if (op_count(s)) {
                const struct atoll_ask ask = *op_at(s, 0);
                uint32_t numbers[4] = {next, next + 1, next + 2, next + 3};
                if (ask.kind == ATOLL_ASK_WRITE) {
                    uint32_t wanted = ask.op == ATOLL_OPERATOR_EXECUTE   ? 2
                                      : ask.op == ATOLL_OPERATOR_EXTRACT ? 1
                                                                         : 3;
                    assert_int_equal(ask.count, wanted);
                    several += ask.op != ATOLL_OPERATOR_EXECUTE;
                    op_kernels(s, ask.number, numbers, 4); /* one more than was wanted */
                    next += 4;
                } else if (ask.kind == ATOLL_ASK_PLAN) {
                    op_plans(s, ask.number, 1);
                } else {
                    op_status(s, ask.number, ATOLL_REPLY_BUILTIN);
                }
            }
            if (i % 97 == 50)
                sim_reload(s);
        }
        assert_true(next > 8);
        assert_true(several > 0 || strategies[k] == ATOLL_STRATEGY_BEAM);
        end(s);
    }
}

/* Who has nothing new for as long as a task may stagnate is asked no more, when the tuner has nothing left either; one new
 * candidate begins the count again. */
static void who_has_nothing_new_ends_a_task(void **state)
{
    static const enum atoll_strategy_kind strategies[] = {ATOLL_STRATEGY_ISLANDS, ATOLL_STRATEGY_REPEATED};
    struct atoll_buffer bytes;
    atoll_buffer_init(&bytes, 1u << 24);
    sim_task("copy", (const struct sim_seed[]){{"k0", NULL, NULL}}, 1, 1, &bytes);
    for (size_t i = 0; i < 2; i++) {
        struct atoll_search search;
        atoll_search_defaults(&search);
        op_strategy_alone(&search);
        search.strategy = strategies[i];
        search.ask_share = 1;
        search.stagnation_limit = 5;
        struct sim *s = op_start(1, &search, &bytes, 1);
        unsigned answers = 0;
        sim_capacity(s, 1);
        for (; !s->counts[ATOLL_DECIDE_STOP]; answers += op_count(s) > 0) {
            assert_true(answers < 50);
            if (!op_count(s))
                sim_answer(s);
            else if (answers == 3)
                op_kernel(s, op_at(s, 0)->number, 1);
            else
                op_kernel(s, op_at(s, 0)->number, 0); /* known */
        }
        assert_in_range(answers, 3 + 5, 3 + 5 + search.asks);
        assert_int_equal(s->last[ATOLL_DECIDE_TASK_DONE].reason, ATOLL_REASON_EXHAUSTED);
        end(s);
    }
    atoll_buffer_fini(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asks_tell_times),
        cmocka_unit_test(spent_for_one_task),
        cmocka_unit_test(builtin_answers_one_kind),
        cmocka_unit_test(tool_turns_are_paid_for),
        cmocka_unit_test(an_ask_may_want_several_kernels),
        cmocka_unit_test(who_has_nothing_new_ends_a_task),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
