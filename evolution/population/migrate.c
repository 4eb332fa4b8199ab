/* migrate.c - the fastest elite of an island goes on. */
#include "evolution/population/migrate.h"

#include "evolution/population/challenge.h"
#include "evolution/engine/decide.h"

/* At the end of every `generations`-th generation of the island. */
static int ends_generations(const struct atoll_search *s, const struct atoll_island *island,
                            uint64_t generations)
{
    uint64_t interval = s->generation_size * generations;
    return interval && island->evaluated % interval == 0;
}

static uint32_t fastest(const struct atoll_engine *e, const struct atoll_island *island)
{
    uint32_t best = ATOLL_NONE;
    for (uint64_t left = island->occupied; left; left &= left - 1) {
        uint32_t individual = island->cells[__builtin_ctzll(left)].elite;
        if (best == ATOLL_NONE ||
            e->individuals.items[individual].time_ns < e->individuals.items[best].time_ns) {
            best = individual;
        }
    }
    return best;
}

static uint32_t random_other(const struct atoll_engine *e, struct atoll_task_state *t, uint32_t island)
{
    uint32_t step = (uint32_t)atoll_random_below(atoll_random_next(&t->random), e->search.islands - 1);
    return (island + 1 + step) % e->search.islands;
}

static int send(struct atoll_engine *e, struct atoll_task_state *t, uint32_t from, uint32_t to,
                struct atoll_err *err)
{
    uint32_t migrant = fastest(e, &t->islands[from]);
    if (migrant == ATOLL_NONE || t->islands[to].cells[e->individuals.items[migrant].cell].elite == migrant)
        return 0;
    struct atoll_decision d = atoll_decide_about(e, ATOLL_DECIDE_MIGRATE, t, migrant);
    d.island = from;
    d.other_island = to;
    atoll_decide(e, &d);
    return atoll_challenge_enter(e, t, to, migrant, 1, err);
}

/* An island without a new elite for long gets, now and then, what another one found. */
static int help(struct atoll_engine *e, struct atoll_task_state *t, uint32_t island, struct atoll_err *err)
{
    const struct atoll_search *s = &e->search;
    if (!(s->stagnation_migration > 0) || !ends_generations(s, &t->islands[island], 1) ||
        t->islands[island].since_elite < (uint64_t)s->generation_size * s->stagnation_generations ||
        atoll_random_unit(atoll_random_next(&t->random)) >= s->stagnation_migration) {
        return 0;
    }
    return send(e, t, random_other(e, t, island), island, err);
}

int atoll_migrate(struct atoll_engine *e, struct atoll_task_state *t, uint32_t island, struct atoll_err *err)
{
    if (e->search.islands < 2)
        return 0;
    if (ends_generations(&e->search, &t->islands[island], e->search.migration_interval)) {
        int failed = 0;
        if (e->search.topology == ATOLL_TOPOLOGY_RING) /* to who is next, or to anybody */
            failed = send(e, t, island, (island + 1) % e->search.islands, err);
        else if (e->search.topology == ATOLL_TOPOLOGY_RANDOM)
            failed = send(e, t, island, random_other(e, t, island), err);
        if (failed)
            return -1;
    }
    return help(e, t, island, err);
}
