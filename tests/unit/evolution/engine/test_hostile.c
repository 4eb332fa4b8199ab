/* What comes from outside the engine and is not as it should be: models, replies, sources, numbers. */
#include "tests/support/operator.h"

#include <float.h>

#include "evolution/strategy/ask.h"
#include "evolution/population/null_control.h"

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

static struct sim *begin(const struct atoll_buffer *task, double ask_share)
{
    struct sim *s = malloc(sizeof(*s));
    struct atoll_search search;
    assert_non_null(s);
    atoll_search_defaults(&search);
    search.evaluation_budget = 1000;
    search.noop_interval = 0;
    search.ask_share = ask_share;
    search.token_budget = 1000;
    search.money_budget_usd = 10;
    sim_start(s, 7, &search);
    sim_add_task(s, 0, task);
    return s;
}

static void end(struct sim *s)
{
    sim_fini(s);
    free(s);
}

static void say_models(struct sim *s, const struct atoll_capacity *models, uint32_t count)
{
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_CAPACITY);
    event.model_count = count;
    for (uint32_t i = 0; i < count; i++) {
        event.models[i] = models[i];
        event.slots += models[i].slots;
    }
    sim_step(s, &event);
}

/* ---- models ---- */

/* Every name that fits is known by its place; those behind one that does not fit keep their slots. */
static void a_model_too_many_takes_nothing_from_others(void **state)
{
    struct sim *s = begin(*state, 0);
    struct atoll_capacity models[ATOLL_MODEL_LIMIT];
    for (uint32_t i = 0; i < ATOLL_MODEL_LIMIT; i++) {
        models[i] = (struct atoll_capacity){.slots = 0};
        snprintf(models[i].model, sizeof(models[i].model), "m%u", i);
    }
    say_models(s, models, ATOLL_MODEL_LIMIT);
    assert_int_equal(atoll_engine_model_count(s->engine), ATOLL_MODEL_LIMIT);
    assert_int_equal(s->order_count, 0);
    say_models(s, (struct atoll_capacity[]){{"m8", 3, 0, {0}}, {"m1", 1, 0, {0}}}, 2);
    assert_int_equal(atoll_engine_model_count(s->engine), ATOLL_MODEL_LIMIT);
    assert_int_equal(s->engine->slots, 1); /* nobody can use the others */
    assert_int_equal(s->order_count, 1);
    assert_int_equal(s->orders[0].model, 1);
    end(s);
}

static void a_model_named_twice_has_the_slots_of_both(void **state)
{
    struct sim *s = begin(*state, 0);
    say_models(s, (struct atoll_capacity[]){{"H200", 2, 0, {0}}, {"", 1, 0, {0}}, {"H200", 3, 0, {0}}}, 3);
    assert_int_equal(atoll_engine_model_count(s->engine), 2);
    assert_int_equal(s->engine->models[0].slots, 5);
    assert_int_equal(s->engine->slots, 6);
    assert_string_equal(atoll_engine_model(s->engine, 1), "");
    end(s);
}

/* The evaluators of a new attempt are not known before CAPACITY says so. */
static void nothing_is_ordered_between_resume_and_capacity(void **state)
{
    struct sim *s = begin(*state, 0);
    const struct atoll_capacity two[] = {{"H200", 1, 0, {0}}, {"A100", 1, 0, {0}}};
    say_models(s, two, 2);
    while (s->counts[ATOLL_DECIDE_EVALUATE] < 8)
        sim_answer(s);
    uint64_t before = s->counts[ATOLL_DECIDE_EVALUATE];
    sim_simple(s, ATOLL_EVENT_RESUME);
    sim_answer(s);
    sim_answer(s);
    assert_int_equal(s->counts[ATOLL_DECIDE_EVALUATE], before);
    say_models(s, two, 2);
    assert_true(s->counts[ATOLL_DECIDE_EVALUATE] > before);
    end(s);
}

/* ---- replies ---- */

static void reach_an_ask(struct sim *s)
{
    sim_capacity(s, 1);
    while (!op_count(s))
        sim_answer(s);
}

/* What is spent never becomes less. */
static void tokens_and_dollars_do_not_overflow(void **state)
{
    static const struct {
        uint64_t tokens;
        double cost_usd;
    } cases[] = {{UINT64_MAX, 0}, {0, DBL_MAX}, {0, -1e300}, {0, NAN}, {0, INFINITY}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct sim *s = begin(*state, 1);
        reach_an_ask(s);
        struct atoll_reply reply = {.tokens = 500, .cost_usd = 6};
        for (unsigned k = 0; k < 2; k++) {
            reply.ask = op_at(s, 0)->number;
            assert_int_equal(atoll_ask_answered(s->engine, &reply, NULL), 0);
            reply.tokens = cases[i].tokens;
            reply.cost_usd = cases[i].cost_usd;
        }
        assert_true(s->engine->tokens >= 500);
        assert_true(s->engine->cost_usd >= 6);
        end(s);
    }
}

/* ---- sources ---- */

static void fill_plans(struct atoll_task_state *t)
{
    for (size_t bytes = (size_t)1 << 30; bytes; bytes /= 2)
        while (atoll_arena_alloc(t->arena, bytes, NULL))
            continue;
}

static uint32_t waiting(const struct atoll_task_state *t)
{
    return t->pending_count - t->pending_next;
}

/* The first that came about so, once it was sent. */
static uint32_t evaluate_until(struct sim *s, enum atoll_operator op)
{
    for (;;) {
        for (uint32_t i = 0; i < s->engine->individuals.count; i++)
            if (s->engine->individuals.items[i].op == op)
                return i;
        assert_true(s->order_count > 0);
        sim_answer(s);
    }
}

/* A template keeps one instance and the campaign goes on; a null control of another instance would be none. */
static void plans_that_fill_their_place_end_nothing(void **state)
{
    static const char text[] = "/* atoll-plan {\"version\": 1, \"params\": {\"A\": [1, 2]}, \"launch\": [{"
                               "\"function\": \"f\", \"units\": \"N\", \"args\": [\"x\", \"y\"]}]} */\n"
                               "void f(long a, long b, const float *x, float *y) {}";
    struct sim *s = begin(*state, 0);
    struct atoll_task_state *t = &s->engine->tasks[0];
    sim_capacity(s, 1);
    uint32_t instance = evaluate_until(s, ATOLL_OPERATOR_TUNE);
    fill_plans(t);
    assert_int_equal(atoll_null_control_inject(s->engine, t, instance, NULL), 0);
    assert_int_equal(waiting(t), 0);
    sim_source(s, 0, 0, text);
    const struct atoll_source *added = &s->engine->sources.items[s->engine->sources.count - 1];
    assert_string_equal(added->text, text);
    assert_null(added->tune);
    assert_int_equal(added->first.count, 1);
    end(s);
}

/* With its comment it would be longer than what evaluators take. */
static void the_longest_source_has_no_mutant(void **state)
{
    static const char head[] =
        "/* atoll-plan {\"version\": 1, \"launch\": [{\"function\": \"f\", \"units\": \"N\","
        "\"args\": [\"x\", \"y\"]}]} */\nvoid f(void) {}\n//";
    char *text = malloc(ATOLL_SOURCE_LIMIT + 1);
    assert_non_null(text);
    memset(text, 'x', ATOLL_SOURCE_LIMIT);
    memcpy(text, head, sizeof(head) - 1);
    for (unsigned shorter = 0; shorter < 2; shorter++) {
        struct sim *s = begin(*state, 0);
        struct atoll_task_state *t = &s->engine->tasks[0];
        text[ATOLL_SOURCE_LIMIT - 1000 * shorter] = 0;
        sim_source(s, 0, 0, text);
        sim_capacity(s, 1);
        uint32_t import = evaluate_until(s, ATOLL_OPERATOR_IMPORT), before = waiting(t);
        assert_int_equal(atoll_null_control_inject(s->engine, t, import, NULL), 0);
        assert_int_equal(waiting(t), before + shorter);
        end(s);
    }
    free(text);
}

/* ---- times ---- */

/* A candidate whose time is no time ranks nowhere, and what was saved loads. */
static void an_impossible_time_is_none(void **state)
{
    static const double times[] = {DBL_TRUE_MIN, DBL_MIN, 1e-300, 1e-4};
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
        struct sim *s = begin(*state, 0);
        sim_capacity(s, 1);
        for (unsigned k = 0; k < 3; k++) {
            struct atoll_decision order = sim_take(s, 0);
            sim_evaluated(s, &order, ATOLL_V_CORRECT, k ? times[i] : 1e18);
        }
        sim_reload(s);
        struct atoll_task_status status;
        assert_int_equal(atoll_engine_task_status(s->engine, 0, 0, &status), 0);
        assert_int_equal(status.correct, 1);
        expect_close(status.best_ns, 1e18, 1e-9);
        end(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_too_many_takes_nothing_from_others),
        cmocka_unit_test(a_model_named_twice_has_the_slots_of_both),
        cmocka_unit_test(nothing_is_ordered_between_resume_and_capacity),
        cmocka_unit_test(plans_that_fill_their_place_end_nothing),
        cmocka_unit_test(the_longest_source_has_no_mutant),
        cmocka_unit_test(an_impossible_time_is_none),
        cmocka_unit_test(tokens_and_dollars_do_not_overflow),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
