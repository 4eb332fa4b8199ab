#include "tests/support/simulation.h"

#include "evolution/population/migrate.h"

#define ISLANDS 4

static struct atoll_decision sent[64];
static size_t sent_count;

static void sink(void *context, const struct atoll_decision *d)
{
    if (d->type == ATOLL_DECIDE_MIGRATE)
        sent[sent_count++ % 64] = *d;
}

/* Islands with one elite each, of a cell of its own, made by hand; the first is the fastest. */
struct stand {
    struct atoll_engine engine;
    struct atoll_task_state task;
    struct atoll_island islands[ISLANDS];
    struct atoll_individual individuals[ISLANDS];
    struct atoll_source source;
};

static void stand_init(struct stand *s, enum atoll_topology topology)
{
    memset(s, 0, sizeof(*s));
    sent_count = 0;
    atoll_search_defaults(&s->engine.search);
    s->engine.search.islands = ISLANDS;
    s->engine.search.generation_size = 4;
    s->engine.search.migration_interval = 2;
    s->engine.search.stagnation_generations = 3;
    s->engine.search.topology = topology;
    s->engine.search.stagnation_migration = 0;
    s->engine.sink = sink;
    s->engine.tasks = &s->task;
    s->engine.task_count = 1;
    s->engine.sources.items = &s->source;
    s->engine.sources.count = 1;
    s->engine.individuals.items = s->individuals;
    s->engine.individuals.count = ISLANDS;
    s->task.islands = s->islands;
    s->task.random = (struct atoll_random){11, 0};
    s->task.best = 0;
    s->task.best_waiting = s->task.best_refused = s->task.baseline = ATOLL_NONE;
    for (uint32_t i = 0; i < ISLANDS; i++) {
        struct atoll_individual *r = &s->individuals[i];
        atoll_island_init(&s->islands[i]);
        memset(&r->id, (int)i + 1, sizeof(r->id));
        r->cell = (uint8_t)(7 * i);
        r->time_ns = 1000 + i;
        r->island = i;
        r->parent = ATOLL_NONE;
        r->state = ATOLL_V_CORRECT;
        atoll_island_set(&s->islands[i], r->cell, i);
    }
}

static void tell(struct stand *s, uint32_t island, uint64_t evaluated, uint64_t since_elite)
{
    s->islands[island].evaluated = evaluated;
    s->islands[island].since_elite = since_elite;
    assert_int_equal(atoll_migrate(&s->engine, &s->task, island, NULL), 0);
}

static void a_ring_sends_to_the_next(void **state)
{
    struct stand s;
    stand_init(&s, ATOLL_TOPOLOGY_RING);
    tell(&s, 3, 4, 0); /* one generation is not two */
    assert_int_equal(sent_count, 0);
    tell(&s, 3, 8, 0);
    assert_int_equal(sent_count, 1);
    assert_int_equal(sent[0].island, 3);
    assert_int_equal(sent[0].other_island, 0);
    assert_int_equal(s.islands[0].cells[21].elite, 3); /* the cell was empty */
    tell(&s, 3, 16, 0);
    assert_int_equal(sent_count, 1); /* it is there already */
}

static void a_random_graph_reaches_every_other(void **state)
{
    struct stand s;
    unsigned seen[ISLANDS] = {0};
    stand_init(&s, ATOLL_TOPOLOGY_RANDOM);
    for (unsigned i = 1; i <= 40; i++) {
        for (uint32_t k = 1; k < ISLANDS; k++)
            atoll_island_clear(&s.islands[k], 0);
        tell(&s, 0, 8 * i, 0);
        seen[sent[(sent_count - 1) % 64].other_island]++;
    }
    assert_int_equal(sent_count, 40);
    assert_int_equal(seen[0], 0);
    for (uint32_t k = 1; k < ISLANDS; k++)
        assert_in_range(seen[k], 5, 25);
}

static void nobody_travels_without_a_graph(void **state)
{
    struct stand s;
    stand_init(&s, ATOLL_TOPOLOGY_NONE);
    uint64_t counter = s.task.random.counter;
    for (unsigned i = 1; i <= 40; i++)
        tell(&s, i % ISLANDS, i, i);
    assert_int_equal(sent_count, 0);
    assert_int_equal(s.task.random.counter, counter); /* what is off draws nothing */
    stand_init(&s, ATOLL_TOPOLOGY_RING);
    s.engine.search.migration_interval = 0;
    tell(&s, 0, 8, 0);
    assert_int_equal(sent_count, 0);
    stand_init(&s, ATOLL_TOPOLOGY_RING);
    s.engine.search.islands = 1;
    tell(&s, 0, 8, 0);
    assert_int_equal(sent_count, 0);
}

/* Only where it lasts, only at the end of a generation, and with the probability that was asked for. */
static void stagnating_islands_are_helped(void **state)
{
    struct stand s;
    unsigned helped = 0;
    stand_init(&s, ATOLL_TOPOLOGY_NONE);
    s.engine.search.stagnation_migration = 1;
    tell(&s, 2, 12, 11);
    tell(&s, 2, 13, 12);
    assert_int_equal(sent_count, 0);
    tell(&s, 2, 12, 12);
    assert_int_equal(sent_count, 1);
    assert_int_equal(sent[0].other_island, 2);
    assert_int_not_equal(sent[0].island, 2);
    s.engine.search.stagnation_migration = 0.25;
    for (unsigned i = 1; i <= 400; i++) {
        for (uint32_t k = 0; k < ISLANDS; k++)
            if (k != 2)
                atoll_island_clear(&s.islands[2], s.individuals[k].cell);
        size_t before = sent_count;
        tell(&s, 2, 4 * i, 100);
        helped += sent_count > before;
    }
    assert_in_range(helped, 70, 130);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_sends_to_the_next),
        cmocka_unit_test(a_random_graph_reaches_every_other),
        cmocka_unit_test(nobody_travels_without_a_graph),
        cmocka_unit_test(stagnating_islands_are_helped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
