#include "tests/support/simulation.h"

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

static void capacity(struct sim *s, uint32_t h200, uint32_t a100)
{
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_CAPACITY);
    event.slots = h200 + a100;
    event.model_count = 2;
    event.models[0] = (struct atoll_capacity){"H200", h200, 0, {0}};
    event.models[1] = (struct atoll_capacity){"A100", a100, 0, {0}};
    sim_step(s, &event);
}

static struct sim *begin(const struct atoll_buffer *task)
{
    struct sim *s = malloc(sizeof(*s));
    struct atoll_search search;
    atoll_search_defaults(&search);
    search.evaluation_budget = 1000;
    search.noop_interval = 0;
    sim_start(s, 7, &search);
    sim_add_task(s, 0, task);
    return s;
}

static void end(struct sim *s)
{
    sim_fini(s);
    free(s);
}

static void answer(struct sim *s, size_t at)
{
    struct atoll_decision order = sim_take(s, at);
    s->now_ns += 10000000;
    if (order.type == ATOLL_DECIDE_EVALUATE)
        sim_answer_evaluate(s, &order);
    else
        sim_answer_duel(s, &order);
}

static unsigned orders_of(const struct sim *s, uint32_t model)
{
    unsigned count = 0;
    for (size_t i = 0; i < s->order_count; i++)
        count += s->orders[i].model == model;
    return count;
}

/* Answers everything that is ordered, of one model only, until there is nothing. */
static void answer_all(struct sim *s, uint32_t model)
{
    for (size_t at = 0; at < s->order_count;) {
        if (s->orders[at].model != model) {
            at++;
            continue;
        }
        answer(s, at);
        at = 0;
    }
}

static struct atoll_task_status status_of(const struct sim *s, uint32_t model)
{
    struct atoll_task_status t;
    assert_int_equal(atoll_engine_task_status(s->engine, 0, model, &t), 0);
    return t;
}

/* A population each, with a baseline, elites and a best of its own: all 13 instances on both. */
static void every_model_has_its_own(void **state)
{
    struct sim *s = begin(*state);
    capacity(s, 2, 1);
    assert_int_equal(atoll_engine_model_count(s->engine), 2);
    assert_string_equal(atoll_engine_model(s->engine, 1), "A100");
    assert_int_equal(atoll_engine_task_count(s->engine), 1);
    assert_int_equal(orders_of(s, 0), 1); /* the baseline, on each */
    assert_int_equal(orders_of(s, 1), 1);
    answer(s, s->orders[0].model == 1);
    assert_int_equal(orders_of(s, 0), 2 * 3); /* slots times the depth of the queue */
    answer_all(s, 0);
    assert_int_equal(status_of(s, 0).evaluated, 13);
    assert_int_equal(status_of(s, 1).evaluated, 0);
    answer_all(s, 1);
    assert_int_equal(status_of(s, 1).evaluated, 13);
    answer_all(s, 0);
    assert_true(status_of(s, 0).baseline_ns > 0 && status_of(s, 1).baseline_ns > 0);
    assert_true(status_of(s, 0).done && status_of(s, 1).done);
    assert_int_equal(s->counts[ATOLL_DECIDE_STOP], 1);
    struct atoll_task_status beyond;
    assert_int_equal(atoll_engine_task_status(s->engine, 0, 2, &beyond), -1);
    assert_null(atoll_engine_model(s->engine, 2));
    end(s);
}

/* One that comes late starts from the beginning. */
static void a_late_model_starts_anew(void **state)
{
    struct sim *s = begin(*state);
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_CAPACITY);
    event.slots = 1;
    event.model_count = 1;
    event.models[0] = (struct atoll_capacity){"H200", 1, 0, {0}};
    sim_step(s, &event);
    for (unsigned i = 0; i < 5; i++)
        answer(s, 0);
    assert_int_equal(orders_of(s, 1), 0);
    capacity(s, 1, 1);
    assert_int_equal(orders_of(s, 1), 1);
    answer_all(s, 1);
    answer_all(s, 0);
    answer_all(s, 1);
    assert_int_equal(status_of(s, 0).evaluated, 13);
    assert_int_equal(status_of(s, 1).evaluated, 13);
    end(s);
}

/* Each has every task once. */
static void three_models_have_three_populations(void **state)
{
    struct sim *s = begin(*state);
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_CAPACITY);
    event.slots = 3;
    event.model_count = 3;
    event.models[0] = (struct atoll_capacity){"H200", 1, 0, {0}};
    event.models[1] = (struct atoll_capacity){"A100", 1, 0, {0}};
    event.models[2] = (struct atoll_capacity){"L40", 1, 0, {0}};
    sim_step(s, &event);
    assert_int_equal(s->counts[ATOLL_DECIDE_EVALUATE], 3);
    for (uint32_t model = 0; model < 3; model++)
        assert_int_equal(orders_of(s, model), 1);
    end(s);
}

/* While its devices are away nothing is ordered of it; the others go on, and at last it is given up. */
static void a_lost_model_is_given_up(void **state)
{
    struct sim *s = begin(*state);
    capacity(s, 1, 1);
    for (unsigned i = 0; i < 3; i++) {
        size_t at = 0;
        while (s->orders[at].model != 1)
            at++;
        answer(s, at);
    }
    unsigned held = orders_of(s, 1);
    assert_true(held > 0);
    s->now_ns += 100000000000; /* the minute is counted from its end */
    capacity(s, 1, 0);
    assert_int_equal(orders_of(s, 1), held);
    answer_all(s, 0);
    assert_int_equal(orders_of(s, 1), held); /* it may come back */
    s->now_ns += 59000000000;
    sim_simple(s, ATOLL_EVENT_TICK);
    assert_int_equal(s->counts[ATOLL_DECIDE_STOP], 0);
    s->now_ns += 2000000000;
    sim_simple(s, ATOLL_EVENT_TICK);
    assert_int_equal(orders_of(s, 1), 0); /* abandoned */
    assert_int_equal(s->counts[ATOLL_DECIDE_STOP], 1);
    assert_int_equal(status_of(s, 1).reason, ATOLL_REASON_NO_DEVICE);
    assert_int_equal(status_of(s, 0).reason, ATOLL_REASON_EXHAUSTED);
    end(s);
}

/* Its only evaluator was started again while everything else was over. */
static void a_model_that_comes_back_goes_on(void **state)
{
    struct sim *s = begin(*state);
    capacity(s, 1, 1);
    capacity(s, 1, 0);
    answer_all(s, 0);
    s->now_ns += 5000000000;
    sim_simple(s, ATOLL_EVENT_TICK);
    capacity(s, 1, 1);
    answer_all(s, 1);
    answer_all(s, 0);
    assert_int_equal(status_of(s, 1).evaluated, 13);
    assert_int_equal(status_of(s, 1).reason, ATOLL_REASON_EXHAUSTED);
    assert_int_equal(s->counts[ATOLL_DECIDE_STOP], 1);
    end(s);
}

static void a_snapshot_keeps_them_apart(void **state)
{
    struct sim *s = begin(*state);
    struct atoll_buffer bytes, again;
    struct atoll_err err = ATOLL_ERR_INIT;
    capacity(s, 2, 1);
    for (unsigned i = 0; i < 9; i++)
        answer(s, 0);
    atoll_buffer_init(&bytes, 1u << 26);
    atoll_buffer_init(&again, 1u << 26);
    assert_int_equal(atoll_engine_save(s->engine, &bytes, &err), 0);
    struct atoll_engine *loaded = atoll_engine_load(bytes.data, bytes.length, &err);
    if (!loaded)
        fail_msg("%s", err.text);
    assert_int_equal(atoll_engine_save(loaded, &again, &err), 0);
    assert_int_equal(bytes.length, again.length);
    assert_memory_equal(bytes.data, again.data, bytes.length);
    assert_int_equal(atoll_engine_model_count(loaded), 2);
    atoll_engine_destroy(loaded);
    atoll_buffer_fini(&bytes);
    atoll_buffer_fini(&again);
    end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_has_its_own),
        cmocka_unit_test(a_late_model_starts_anew),
        cmocka_unit_test(three_models_have_three_populations),
        cmocka_unit_test(a_lost_model_is_given_up),
        cmocka_unit_test(a_model_that_comes_back_goes_on),
        cmocka_unit_test(a_snapshot_keeps_them_apart),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
