#include "tests/support/simulation.h"

#include "evolution/strategy/ask.h"
#include "evolution/population/inspire.h"

/* A task with elites in some cells of two islands, made by hand. */
struct stand {
    struct atoll_engine engine;
    struct atoll_task_state task;
    struct atoll_island islands[2];
    struct atoll_individual individuals[16];
};

static void put(struct stand *s, uint32_t island, unsigned cell, uint32_t individual, double fitness)
{
    struct atoll_individual *r = &s->individuals[individual];
    memset(&r->id, (int)individual + 1, sizeof(r->id));
    r->cell = (uint8_t)cell;
    r->fitness = fitness;
    r->parent = ATOLL_NONE;
    r->state = ATOLL_V_CORRECT;
    atoll_island_set(&s->islands[island], cell, individual);
    if (s->engine.individuals.count <= individual)
        s->engine.individuals.count = individual + 1;
}

static void stand_init(struct stand *s)
{
    memset(s, 0, sizeof(*s));
    atoll_search_defaults(&s->engine.search);
    s->engine.next_ask = 1;
    s->engine.tasks = &s->task;
    s->engine.task_count = 1;
    s->engine.individuals.items = s->individuals;
    s->task.islands = s->islands;
    s->task.random = (struct atoll_random){5, 0};
    atoll_island_init(&s->islands[0]);
    atoll_island_init(&s->islands[1]);
    put(s, 0, 0, 0, 0.6);
    put(s, 0, 5, 1, 0.7);
    put(s, 0, 9, 2, 0.9);
    put(s, 0, 33, 3, 0.65);
    put(s, 1, 0, 4, 0.95);
    put(s, 1, 60, 5, 0.8);
    atoll_island_set(&s->islands[1], 9, 2); /* a migrant is on both */
}

static struct atoll_asked ask_about(struct stand *s, uint32_t parent)
{
    struct atoll_asked asked =
        atoll_ask_about(&s->engine, &s->task, ATOLL_ASK_WRITE, ATOLL_OPERATOR_UNIVERSAL, 0, parent);
    atoll_inspire(&s->engine, &s->task, &asked);
    return asked;
}

static uint32_t individual_of(const struct stand *s, const struct atoll_id *id)
{
    for (uint32_t i = 0; i < s->engine.individuals.count; i++)
        if (atoll_id_equal(&s->individuals[i].id, id))
            return i;
    return ATOLL_NONE;
}

/* The fittest of another cell of its own island first, then others, none twice, the parent's cell never. */
static void other_cells_are_told(void **state)
{
    struct stand s;
    for (uint32_t wanted = 0; wanted <= ATOLL_ASK_INSPIRATION_LIMIT; wanted++) {
        stand_init(&s);
        s.engine.search.inspirations = wanted;
        struct atoll_asked asked = ask_about(&s, 0);
        assert_int_equal(asked.ask.inspiration_count, wanted);
        if (wanted)
            assert_int_equal(individual_of(&s, &asked.ask.inspirations[0]), 2);
        for (size_t i = 0; i < wanted; i++) {
            uint32_t told = individual_of(&s, &asked.ask.inspirations[i]);
            assert_int_not_equal(s.individuals[told].cell, 0);
            for (size_t k = 0; k < i; k++)
                assert_false(atoll_id_equal(&asked.ask.inspirations[i], &asked.ask.inspirations[k]));
        }
        if (wanted == 4) /* its own island has three */
            assert_int_equal(individual_of(&s, &asked.ask.inspirations[3]), 5);
    }
}

static void the_parents_failures_are_told(void **state)
{
    struct stand s;
    stand_init(&s);
    for (uint32_t i = 6; i < 12; i++) {
        put(&s, 1, i, i, 0.1);
        atoll_island_clear(&s.islands[1], i);
        s.individuals[i].parent = i == 8 ? 1 : 0;
        s.task.failures.items[s.task.failures.next++] = i;
        s.task.failures.count++;
    }
    struct atoll_asked asked = ask_about(&s, 0);
    static const uint32_t last_first[] = {11, 10, 9, 7};
    assert_int_equal(asked.ask.failure_count, ATOLL_ASK_FAILURE_LIMIT);
    for (size_t i = 0; i < ATOLL_ASK_FAILURE_LIMIT; i++)
        assert_int_equal(individual_of(&s, &asked.ask.failures[i]), last_first[i]);
    asked = ask_about(&s, 2);
    assert_int_equal(asked.ask.failure_count, 0);
    /* what a model wrote is told to others too, behind the parent's own */
    s.individuals[7].ask = s.individuals[8].ask = s.individuals[10].ask = 1;
    static const uint32_t written[] = {10, 8, 7}, own_first[] = {8, 10, 7};
    asked = ask_about(&s, 2);
    assert_int_equal(asked.ask.failure_count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(individual_of(&s, &asked.ask.failures[i]), written[i]);
    asked = ask_about(&s, 1);
    assert_int_equal(asked.ask.failure_count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(individual_of(&s, &asked.ask.failures[i]), own_first[i]);
}

/* Steps upwards in memory improved: that is the advice, unless gradients are off or there is no parent. */
static void gradients_are_told(void **state)
{
    struct stand s;
    stand_init(&s);
    for (unsigned i = 0; i < 8; i++) {
        struct atoll_transition up = {.from = 0, .to = 16, .outcome = ATOLL_OUTCOME_IMPROVEMENT, .gain = 0.3};
        atoll_transitions_add(&s.task.transitions, &up);
    }
    struct atoll_asked asked = ask_about(&s, 0);
    assert_true(asked.ask.advice_count >= 1);
    assert_int_equal(asked.ask.advice[0].dimension, 0);
    assert_int_equal(asked.ask.advice[0].sign, 1);
    assert_int_equal(ask_about(&s, ATOLL_NONE).ask.advice_count, 0);
    s.engine.search.gradients = 0;
    assert_int_equal(ask_about(&s, 0).ask.advice_count, 0);
}

static void roles_follow_islands(void **state)
{
    struct stand s;
    stand_init(&s);
    assert_int_equal(ask_about(&s, 0).ask.role, ATOLL_ISLAND_FUSION);
    s.engine.search.roles = 0;
    assert_int_equal(ask_about(&s, 0).ask.role, ATOLL_ISLAND_ROLE_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_cells_are_told),
        cmocka_unit_test(the_parents_failures_are_told),
        cmocka_unit_test(gradients_are_told),
        cmocka_unit_test(roles_follow_islands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
