#include "evolution/migrate.h"

#include "evolution/challenge.h"
#include "evolution/decide.h"

static int is_due(const struct atoll_search *s, const struct atoll_island *island)
{
    uint64_t interval = (uint64_t)s->generation_size * s->migration_interval;
    return s->islands > 1 && interval && island->evaluated % interval == 0;
}

static uint32_t fastest(const struct atoll_engine *e, const struct atoll_island *island)
{
    uint32_t best = ATOLL_NONE;
    for (uint64_t left = island->occupied; left; left &= left - 1) {
        uint32_t individual = island->cells[__builtin_ctzll(left)].elite;
        if (best == ATOLL_NONE ||
            e->individuals.items[individual].time_ns < e->individuals.items[best].time_ns)
            best = individual;
    }
    return best;
}

int atoll_migrate(struct atoll_engine *e, struct atoll_engine_task *t, uint32_t island, struct atoll_err *err)
{
    if (!is_due(&e->search, &t->islands[island]))
        return 0;
    uint32_t migrant = fastest(e, &t->islands[island]);
    uint32_t other = (island + 1) % e->search.islands;
    if (migrant == ATOLL_NONE || t->islands[other].cells[e->individuals.items[migrant].cell].elite == migrant)
        return 0;
    struct atoll_decision d = atoll_decide_about(e, ATOLL_DECIDE_MIGRATE, t, migrant);
    d.island = island;
    d.other_island = other;
    atoll_decide(e, &d);
    return atoll_challenge_enter(e, t, other, migrant, 1, err);
}
