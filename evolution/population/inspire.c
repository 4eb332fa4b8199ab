/* inspire.c - elites, failures and advice for an ask. */
#include "evolution/population/inspire.h"

#include "evolution/population/advice.h"

/* Of an island's elites, of other cells than the parent's and not in the ask already: the fittest, then random ones: what
 * is best and what is different. */
static void add_elites(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_island *island,
                       struct atoll_asked *asked)
{
    const struct atoll_individual *all = e->individuals.items;
    unsigned own = asked->parent == ATOLL_NONE ? ATOLL_BEHAVIOUR_CELLS : (unsigned)all[asked->parent].cell;
    uint32_t others[ATOLL_BEHAVIOUR_CELLS];
    size_t count = 0, pick = 0;
    for (uint64_t left = island->occupied; left; left &= left - 1) {
        unsigned cell = (unsigned)__builtin_ctzll(left);
        uint32_t elite = island->cells[cell].elite;
        int is_known = cell == own || atoll_id_equal(&asked->ask.parent, &all[elite].id);
        for (size_t i = 0; i < asked->ask.inspiration_count; i++)
            is_known |= atoll_id_equal(&asked->ask.inspirations[i], &all[elite].id);
        if (!is_known)
            others[count++] = elite;
    }
    for (size_t i = 1; i < count; i++)
        pick = all[others[i]].fitness > all[others[pick]].fitness ? i : pick;
    for (int first = 1; count && asked->ask.inspiration_count < e->search.inspirations; first = 0) {
        if (!first)
            pick = (size_t)atoll_random_below(atoll_random_next(&t->random), count);
        asked->ask.inspirations[asked->ask.inspiration_count++] = all[others[pick]].id;
        others[pick] = others[--count];
    }
}

/* of_parent: of the asked parent, or else those of others that an operator outside wrote. */
static void add_failures(const struct atoll_engine *e, const struct atoll_task_state *t,
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

void atoll_inspire(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_asked *asked)
{
    uint32_t home = asked->ask.island;
    for (uint32_t i = 0; i < e->search.islands; i++)
        add_elites(e, t, &t->islands[(home + i) % e->search.islands], asked);
    add_failures(e, t, asked, 1);
    add_failures(e, t, asked, 0);
    if (!e->search.gradients || asked->parent == ATOLL_NONE)
        return;
    struct atoll_gradient gradient;
    unsigned cell = e->individuals.items[asked->parent].cell;
    atoll_gradient_of(&t->transitions, t->evaluated, &e->individuals, &t->islands[home], cell, &gradient);
    asked->ask.advice_count = atoll_advice_of(&gradient, cell, ATOLL_ASK_ADVICE_LIMIT, asked->ask.advice);
}
