#include "evolution/population/inspire.h"

#include "evolution/population/advice.h"

/* Elites of other cells than the parent's, of one island. */
struct others {
    uint32_t items[ATOLL_BEHAVIOUR_CELLS];
    size_t count;
};

static int is_told(const struct atoll_asked *asked, const struct atoll_id *id)
{
    for (size_t i = 0; i < asked->ask.inspiration_count; i++)
        if (atoll_id_equal(&asked->ask.inspirations[i], id))
            return 1;
    return atoll_id_equal(&asked->ask.parent, id);
}

static void collect(const struct atoll_engine *e, const struct atoll_island *island,
                    const struct atoll_asked *asked, struct others *others)
{
    unsigned own = asked->parent == ATOLL_NONE ? ATOLL_BEHAVIOUR_CELLS
                                               : (unsigned)e->individuals.items[asked->parent].cell;
    others->count = 0;
    for (uint64_t left = island->occupied; left; left &= left - 1) {
        unsigned cell = (unsigned)__builtin_ctzll(left);
        uint32_t elite = island->cells[cell].elite;
        if (cell != own && !is_told(asked, &e->individuals.items[elite].id))
            others->items[others->count++] = elite;
    }
}

static size_t fittest(const struct atoll_engine *e, const struct others *others)
{
    size_t best = 0;
    for (size_t i = 1; i < others->count; i++)
        if (e->individuals.items[others->items[i]].fitness >
            e->individuals.items[others->items[best]].fitness)
            best = i;
    return best;
}

/* The fittest of an island, then random ones: what is best and what is different. */
static void tell_elites(struct atoll_engine *e, struct atoll_engine_task *t,
                        const struct atoll_island *island, struct atoll_asked *asked)
{
    struct others others;
    collect(e, island, asked, &others);
    for (int first = 1; others.count && asked->ask.inspiration_count < e->search.inspirations; first = 0) {
        size_t pick = first ? fittest(e, &others)
                            : (size_t)atoll_random_below(atoll_random_next(&t->random), others.count);
        asked->ask.inspirations[asked->ask.inspiration_count++] = e->individuals.items[others.items[pick]].id;
        others.items[pick] = others.items[--others.count];
    }
}

/* of_parent: of the asked parent, or else those of others that an operator outside wrote. */
static void tell_failures(const struct atoll_engine *e, const struct atoll_engine_task *t,
                          struct atoll_asked *asked, int of_parent)
{
    for (uint32_t i = 0; i < t->failures.count && asked->ask.failure_count < ATOLL_ASK_FAILURE_LIMIT; i++) {
        uint32_t at = (t->failures.next + ATOLL_FAILURE_LIMIT - 1 - i) % ATOLL_FAILURE_LIMIT;
        const struct atoll_individual *failed = &e->individuals.items[t->failures.items[at]];
        int is_own = failed->parent == asked->parent;
        if (of_parent ? is_own : !is_own && failed->ask)
            asked->ask.failures[asked->ask.failure_count++] = failed->id;
    }
}

static void tell_advice(const struct atoll_engine *e, const struct atoll_engine_task *t,
                        struct atoll_asked *asked)
{
    struct atoll_gradient gradient;
    if (!e->search.gradients || asked->parent == ATOLL_NONE)
        return;
    unsigned cell = e->individuals.items[asked->parent].cell;
    atoll_gradient_of(&t->transitions, t->evaluated, &e->individuals, &t->islands[asked->ask.island], cell,
                      &gradient);
    asked->ask.advice_count = atoll_advice_of(&gradient, cell, ATOLL_ASK_ADVICE_LIMIT, asked->ask.advice);
}

void atoll_inspire(struct atoll_engine *e, struct atoll_engine_task *t, struct atoll_asked *asked)
{
    uint32_t home = asked->ask.island;
    for (uint32_t i = 0; i < e->search.islands; i++)
        tell_elites(e, t, &t->islands[(home + i) % e->search.islands], asked);
    tell_failures(e, t, asked, 1);
    tell_failures(e, t, asked, 0);
    tell_advice(e, t, asked);
}
