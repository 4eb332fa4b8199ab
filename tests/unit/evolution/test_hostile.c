/* What comes from outside the engine and is not as it should be: models, replies, sources, numbers. */
#include "tests/support/operator.h"

#include <float.h>

#include "evolution/ask.h"

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
    struct sim *s = malloc(sizeof *s);
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
        snprintf(models[i].model, sizeof models[i].model, "m%u", i);
    }
    say_models(s, models, ATOLL_MODEL_LIMIT);
    assert_int_equal(atoll_engine_model_count(s->engine), ATOLL_MODEL_LIMIT);
    assert_int_equal(s->order_count, 0);
    say_models(s, (struct atoll_capacity[]){{"m8", 3}, {"m1", 1}}, 2);
    assert_int_equal(atoll_engine_model_count(s->engine), ATOLL_MODEL_LIMIT);
    assert_int_equal(s->engine->slots, 1); /* nobody can use the others */
    assert_int_equal(s->order_count, 1);
    assert_int_equal(s->orders[0].model, 1);
    end(s);
}

static void a_model_named_twice_has_the_slots_of_both(void **state)
{
    struct sim *s = begin(*state, 0);
    say_models(s, (struct atoll_capacity[]){{"H200", 2}, {"", 1}, {"H200", 3}}, 3);
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
    const struct atoll_capacity two[] = {{"H200", 1}, {"A100", 1}};
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
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_too_many_takes_nothing_from_others),
        cmocka_unit_test(a_model_named_twice_has_the_slots_of_both),
        cmocka_unit_test(nothing_is_ordered_between_resume_and_capacity),
        cmocka_unit_test(tokens_and_dollars_do_not_overflow),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
