#include "tests/support/simulation.h"

#include <stdlib.h>

#include "evolution/engine/state.h"

#define CELL(memory, algorithm, coordination) ((memory)*16 + (algorithm)*4 + (coordination))

struct scene {
    struct atoll_individuals individuals;
    struct atoll_island island;
    struct atoll_transitions transitions;
};

static int set_up(void **state)
{
    struct scene *s = calloc(1, sizeof(*s));
    atoll_island_init(&s->island);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *s = *state;
    atoll_individuals_fini(&s->individuals);
    free(s);
    return 0;
}

static void settle(struct scene *s, unsigned cell, double fitness)
{
    struct atoll_individual r;
    memset(&r, 0, sizeof(r));
    r.id.bytes[0] = (uint8_t)cell;
    r.cell = (uint8_t)cell;
    r.fitness = fitness;
    assert_int_equal(atoll_individuals_add(&s->individuals, &r, NULL), 0);
    atoll_island_set(&s->island, cell, s->individuals.count - 1);
}

static void step(struct scene *s, unsigned from, unsigned to, double gain, enum atoll_outcome outcome,
                 uint64_t when)
{
    struct atoll_transition t = {(uint8_t)from, (uint8_t)to, (uint8_t)outcome, gain, when, 0};
    atoll_transitions_add(&s->transitions, &t);
}

static struct atoll_gradient at(const struct scene *s, unsigned cell, uint64_t now)
{
    struct atoll_gradient all[ATOLL_BEHAVIOUR_CELLS];
    atoll_gradients_of(&s->transitions, now, &s->individuals, &s->island, all);
    return all[cell];
}

/* Gains 0.2 upwards and -0.1 downwards in memory, one of them a half-life old; another cell's step says
 * nothing. */
static void looks_back_from_one_cell(void **state)
{
    struct scene *s = *state;
    unsigned here = CELL(1, 1, 1);
    settle(s, here, 1.0);
    step(s, here, CELL(3, 1, 1), 0.2, ATOLL_OUTCOME_IMPROVEMENT, 100);
    step(s, here, CELL(0, 1, 1), -0.1, ATOLL_OUTCOME_REGRESSION, 36); /* 64 evaluations ago */
    step(s, here, CELL(0, 1, 1), 0.0, ATOLL_OUTCOME_IMPROVEMENT, 100);
    step(s, CELL(2, 2, 2), CELL(0, 0, 0), 0.5, ATOLL_OUTCOME_IMPROVEMENT, 100);
    struct atoll_gradient g = at(s, here, 100);
    expect_close(g.fitness[0], (0.2 + 0.1 * 0.5) / 3, 1e-12);
    expect_close(g.rate[0], 1.0 - 0.5, 1e-12);
    assert_true(g.fitness[1] == 0 && g.rate[1] == 0 && g.fitness[2] == 0 && g.rate[2] == 0);
    expect_close(g.combined[0], 0.4 * g.fitness[0] + 0.4 * g.rate[0] + 0.2 * g.explore[0], 1e-12);
}

static void looks_towards_empty_cells(void **state)
{
    struct scene *s = *state;
    settle(s, CELL(0, 0, 0), 0.9);
    struct atoll_gradient g = at(s, CELL(0, 0, 0), 0);
    for (unsigned d = 0; d < ATOLL_DIMENSIONS; d++)
        assert_true(g.explore[d] > 0); /* everything lies above */
    settle(s, CELL(3, 3, 3), 0.9);
    g = at(s, CELL(3, 3, 3), 0);
    for (unsigned d = 0; d < ATOLL_DIMENSIONS; d++)
        assert_true(g.explore[d] < 0);
}

/* Of a line of strong cells in memory only the weak end pulls. */
static void weak_cells_pull_strong_ones_do_not(void **state)
{
    struct scene *s = *state;
    for (unsigned cell = 0; cell < ATOLL_BEHAVIOUR_CELLS; cell++)
        settle(s, cell, cell == CELL(3, 1, 1) ? 0.5 : 1.0);
    struct atoll_gradient g = at(s, CELL(1, 1, 1), 0);
    expect_close(g.explore[0], 0.5 / 2, 1e-12);
    assert_true(g.explore[1] == 0 && g.explore[2] == 0);
    expect_close(atoll_gradient_magnitude(&g), 0.2 * 0.25, 1e-12);
}

/* All three at once, by hand (papers/000 3.3, equations 1 to 4): of the five steps from (1,1,1) one is two half-lives
 * old; low are (3,1,1), (1,1,3) and (0,2,1), each two steps away, while 0.8 is not low. */
static void a_whole_gradient_by_hand(void **state)
{
    static const struct {
        unsigned cell;
        double fitness;
    } weak[] = {{CELL(3, 1, 1), 0.5}, {CELL(1, 1, 3), 0.6}, {CELL(0, 2, 1), 0.7}, {CELL(2, 2, 2), 0.8}};
    struct scene *s = *state;
    unsigned here = CELL(1, 1, 1);
    for (unsigned cell = 0; cell < ATOLL_BEHAVIOUR_CELLS; cell++) {
        double fitness = 1;
        for (size_t i = 0; i < sizeof(weak) / sizeof(*weak); i++)
            if (weak[i].cell == cell)
                fitness = weak[i].fitness;
        settle(s, cell, fitness);
    }
    step(s, here, CELL(2, 0, 1), 0.08, ATOLL_OUTCOME_IMPROVEMENT, 200);
    step(s, here, CELL(3, 1, 1), 0.004, ATOLL_OUTCOME_NEUTRAL, 200);
    step(s, here, CELL(2, 1, 2), -0.3, ATOLL_OUTCOME_REGRESSION, 72);
    step(s, here, CELL(0, 1, 1), -0.2, ATOLL_OUTCOME_REGRESSION, 200);
    step(s, here, CELL(1, 1, 1), 0.5, ATOLL_OUTCOME_IMPROVEMENT, 200); /* no direction, but one of the five */
    struct atoll_gradient g = at(s, here, 200);
    const double fitness[] = {(0.08 + 0.004 - 0.3 / 4 + 0.2) / 5, -0.08 / 5, -0.3 / 4 / 5};
    const double rate[] = {1.0 / 3 - 0, 0 - 1.0, 0};
    const double explore[] = {(0.5 * 2 / 4 - 0.3 / 4) / 3, 0.3 / 4 / 3, 0.4 * 2 / 4 / 3};
    for (unsigned d = 0; d < ATOLL_DIMENSIONS; d++) {
        expect_close(g.fitness[d], fitness[d], 1e-12);
        expect_close(g.rate[d], rate[d], 1e-12);
        expect_close(g.explore[d], explore[d], 1e-12);
        expect_close(g.combined[d], 0.4 * fitness[d] + 0.4 * rate[d] + 0.2 * explore[d], 1e-12);
    }
}

static void the_ring_forgets(void **state)
{
    struct scene *s = *state;
    settle(s, 0, 1.0);
    step(s, 0, CELL(1, 0, 0), 1, ATOLL_OUTCOME_IMPROVEMENT, 0);
    for (unsigned i = 0; i < ATOLL_TRANSITION_LIMIT; i++)
        step(s, 0, 0, 0, ATOLL_OUTCOME_NEUTRAL, 0);
    assert_int_equal(s->transitions.count, ATOLL_TRANSITION_LIMIT);
    assert_true(at(s, 0, 0).fitness[0] == 0);
}

/* ---- which steps a search remembers, and as what ---- */

static struct atoll_decision take(struct sim *s, enum atoll_decision_type type)
{
    size_t at = 0;
    while (at < s->order_count && s->orders[at].type != type)
        at++;
    assert_true(at < s->order_count);
    return sim_take(s, at);
}

static const struct atoll_transition *last_step(const struct sim *s)
{
    const struct atoll_transitions *steps = &s->engine->tasks[0].transitions;
    assert_true(steps->count > 0);
    return &steps->items[steps->count - 1];
}

static void evaluate_next(struct sim *s, enum atoll_verdict verdict, double ms)
{
    struct atoll_decision order = take(s, ATOLL_DECIDE_EVALUATE);
    sim_evaluated(s, &order, verdict, 1e6 * ms);
}

/* All candidates fall into one cell, whose elite takes 9 ms. */
static struct sim *start_search(const struct atoll_buffer *task)
{
    struct atoll_search search;
    struct sim *s = malloc(sizeof(*s));
    assert_non_null(s);
    atoll_search_defaults(&search);
    search.islands = 1;
    search.noop_interval = 0;
    search.queue_depth = 1; /* the next candidate has seen what came of the one before */
    sim_start(s, 1, &search);
    s->cells = 1;
    sim_add_task(s, 0, task);
    sim_capacity(s, 1);
    evaluate_next(s, ATOLL_V_CORRECT, 9);
    evaluate_next(s, ATOLL_V_CORRECT, 10);
    return s;
}

/* A challenger is an improvement once it won; a plan that does not fit is no step at all. */
static void steps_are_what_came_of_them(void **state)
{
    static const struct sim_seed seeds[] = {{"naive", NULL, NULL},
                                            {"tiled", "\"T\": [1, 2, 4, 8, 16]", NULL}};
    struct atoll_buffer task;
    atoll_buffer_init(&task, 1u << 24);
    sim_task("steps", seeds, 2, 1, &task);
    for (int won = 0; won < 2; won++) {
        struct sim *s = start_search(&task);
        uint32_t count = s->engine->tasks[0].transitions.count;
        evaluate_next(s, ATOLL_V_BAD_PLAN, 0);
        assert_int_equal(s->engine->tasks[0].transitions.count, count);
        evaluate_next(s, ATOLL_V_COMPILE_ERROR, 0);
        assert_int_equal(s->engine->tasks[0].transitions.count, count + 1);
        assert_int_equal(last_step(s)->outcome, ATOLL_OUTCOME_REGRESSION);
        evaluate_next(s, ATOLL_V_CORRECT, 7);
        assert_int_equal(last_step(s)->outcome, ATOLL_OUTCOME_NEUTRAL);
        struct atoll_decision duel = take(s, ATOLL_DECIDE_DUEL);
        sim_duelled(s, &duel, ATOLL_V_CORRECT, won, won ? 9.0 / 7 : 1);
        assert_int_equal(s->engine->tasks[0].transitions.items[count].outcome, ATOLL_OUTCOME_REGRESSION);
        assert_int_equal(last_step(s)->outcome, won ? ATOLL_OUTCOME_IMPROVEMENT : ATOLL_OUTCOME_NEUTRAL);
        sim_reload(s);
        sim_check_replay(s);
        sim_fini(s);
        free(s);
    }
    atoll_buffer_fini(&task);
}

static void the_ring_travels(void **state)
{
    struct scene *s = *state;
    struct atoll_buffer bytes;
    struct atoll_transitions *back = calloc(1, sizeof(*back));
    for (unsigned i = 0; i < ATOLL_TRANSITION_LIMIT + 5; i++)
        step(s, i % 64, (i * 7) % 64, i, ATOLL_OUTCOME_NEUTRAL, i);
    atoll_buffer_init(&bytes, 1u << 20);
    struct atoll_codec out = {.out = &bytes};
    atoll_transitions_codec(&s->transitions, &out);
    struct atoll_reader reader;
    atoll_reader_init(&reader, bytes.data, bytes.length);
    struct atoll_codec in = {.in = &reader};
    atoll_transitions_codec(back, &in);
    assert_int_equal(atoll_reader_finish(&reader, "transitions", NULL), 0);
    assert_int_equal(back->next, 5);
    for (unsigned i = 0; i < ATOLL_TRANSITION_LIMIT; i++) {
        assert_true(back->items[i].gain == s->transitions.items[i].gain &&
                    back->items[i].to == s->transitions.items[i].to);
    }
    bytes.data[8] = 64; /* a cell beyond the grid */
    atoll_reader_init(&reader, bytes.data, bytes.length);
    atoll_transitions_codec(back, &in);
    assert_true(reader.failed);
    atoll_buffer_fini(&bytes);
    free(back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(looks_back_from_one_cell, set_up, tear_down),
        cmocka_unit_test_setup_teardown(looks_towards_empty_cells, set_up, tear_down),
        cmocka_unit_test_setup_teardown(weak_cells_pull_strong_ones_do_not, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_whole_gradient_by_hand, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_ring_forgets, set_up, tear_down),
        cmocka_unit_test(steps_are_what_came_of_them),
        cmocka_unit_test_setup_teardown(the_ring_travels, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
