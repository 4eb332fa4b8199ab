#include "tests/support/simulation.h"

#include "core/candidate.h"
#include "evolution/tuner/shape_trials.h"

static const struct sim_seed seeds[] = {
    {"naive.cu", NULL, NULL},
    {"tiled.cu", "\"BK\": [8, 32, 16, 64, 128], \"STAGES\": [1, 3, 2, 4, 5], \"AHEAD\": [0, 1]", NULL},
};

static int set_up(void **state)
{
    static struct atoll_buffer bytes;
    atoll_buffer_init(&bytes, 1u << 24);
    sim_task_with("copy", seeds, 2, "category: matmul\nbaselines:\n  - {name: naive, file: seeds/naive.cu}\n",
                  &bytes);
    *state = &bytes;
    return 0;
}

static int tear_down(void **state)
{
    atoll_buffer_fini(*state);
    return 0;
}

static const struct atoll_device_shape hopper = {90, 132, 32, 1024, 2048, 32, 65536, 232448, 233472, 0};

static struct sim *begin(const struct atoll_buffer *task, uint32_t shapes,
                         const struct atoll_device_shape *device)
{
    struct sim *s = malloc(sizeof(*s));
    struct atoll_search search;
    struct atoll_event event;
    atoll_search_defaults(&search);
    search.evaluation_budget = 200;
    search.noop_interval = 0;
    search.language = ATOLL_LANGUAGE_CUDA;
    search.shapes = shapes;
    sim_start(s, 7, &search);
    sim_add_task(s, 0, task);
    atoll_event_init(&event, ATOLL_EVENT_CAPACITY);
    event.slots = 1;
    event.model_count = 1;
    event.models[0] = (struct atoll_capacity){"H200", 1, 0, *device};
    sim_step(s, &event);
    return s;
}

/* Position of a choice in the trials that shapes suggest for a source; -1: it is none of them. */
static int place_of(const struct sim *s, const struct atoll_decision *d)
{
    struct atoll_id source;
    struct atoll_choice choice, trials[ATOLL_SHAPE_LIMIT];
    const char *language, *text, *body;
    size_t count = 0;
    int place = -1;
    const struct atoll_task *task = atoll_engine_task(s->engine, 0);
    struct atoll_arena *arena = atoll_arena_create(1u << 24, NULL);
    assert_int_equal(atoll_engine_candidate(s->engine, 0, &d->candidate, &source, &choice), 0);
    assert_int_equal(atoll_engine_source(s->engine, &source, &language, &text), 0);
    const struct atoll_plan *plan = atoll_plan_parse(arena, task, language, text, &body, NULL);
    assert_int_equal(atoll_shape_trials_of_plan(task, plan, language, &hopper, 3, trials, &count, NULL), 0);
    for (size_t i = 0; i < count; i++)
        if (memcmp(trials[i].values, choice.values, choice.count * sizeof(*choice.values)) == 0)
            place = (int)i;
    atoll_arena_destroy(arena);
    return place;
}

/* How many of the first tuned instances of any template are what shapes suggest. */
static unsigned suggested(struct sim *s, unsigned limit)
{
    unsigned tuned = 0, count = 0;
    while (s->order_count && tuned < limit) {
        struct atoll_decision order = sim_take(s, 0);
        s->now_ns += 10000000;
        if (order.type == ATOLL_DECIDE_EVALUATE && order.op == ATOLL_OPERATOR_TUNE) {
            tuned++;
            count += place_of(s, &order) >= 0;
        }
        if (order.type == ATOLL_DECIDE_EVALUATE)
            sim_answer_evaluate(s, &order);
        else
            sim_answer_duel(s, &order);
    }
    return count;
}

/* A saved engine goes on in the same way. */
static void saved_is_the_same(const struct sim *s)
{
    struct atoll_buffer a, b;
    atoll_buffer_init(&a, 1u << 26);
    atoll_buffer_init(&b, 1u << 26);
    assert_int_equal(atoll_engine_save(s->engine, &a, NULL), 0);
    struct atoll_engine *back = atoll_engine_load(a.data, a.length, NULL);
    assert_non_null(back);
    assert_int_equal(atoll_engine_save(back, &b, NULL), 0);
    assert_int_equal(a.length, b.length);
    assert_memory_equal(a.data, b.data, a.length);
    atoll_engine_destroy(back);
    atoll_buffer_fini(&a);
    atoll_buffer_fini(&b);
}

static void first_trials_follow_from_shapes(void **state)
{
    static const struct {
        uint32_t shapes;
        int is_known;
        unsigned least, most;
    } cases[] = {{3, 1, 2, 3}, {0, 1, 0, 1}, {3, 0, 0, 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        static const struct atoll_device_shape unknown = {0};
        struct sim *s = begin(*state, cases[i].shapes, cases[i].is_known ? &hopper : &unknown);
        unsigned count = suggested(s, 3);
        assert_in_range(count, cases[i].least, cases[i].most);
        saved_is_the_same(s);
        sim_fini(s);
        free(s);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(first_trials_follow_from_shapes)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
