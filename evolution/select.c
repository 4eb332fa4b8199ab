#include "evolution/select.h"

/* The weight of an occupied cell under one rule. */
struct look {
    const struct atoll_records *records;
    const struct atoll_island *island;
    enum atoll_island_role role;
};

static double weigh_uniform(const struct look *look, unsigned cell)
{
    return 1;
}

static double weigh_fitness(const struct look *look, unsigned cell)
{
    return look->records->items[look->island->cells[cell].elite].fitness;
}

static double weigh_role(const struct look *look, unsigned cell)
{
    struct atoll_behaviour b = atoll_cell_behaviour(cell);
    switch (look->role) {
    case ATOLL_ISLAND_MEMORY: return 1.0 + b.memory;
    case ATOLL_ISLAND_PARALLELISM: return 1.0 + b.coordination;
    case ATOLL_ISLAND_FUSION:
    case ATOLL_ISLAND_ALGORITHM: return 1.0 + b.algorithm;
    default: return 1;
    }
}

static double (*const rules[ATOLL_SELECTION_COUNT])(const struct look *look, unsigned cell) = {
    [ATOLL_SELECT_UNIFORM] = weigh_uniform,
    [ATOLL_SELECT_FITNESS] = weigh_fitness,
    [ATOLL_SELECT_CURIOSITY] = weigh_uniform,
    [ATOLL_SELECT_ISLAND] = weigh_role,
};

static size_t pick_weighted(const double *weights, size_t count, struct atoll_random *random)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += weights[i];
    double at = atoll_random_unit(atoll_random_next(random)) * sum;
    size_t last = 0;
    for (size_t i = 0; i < count; i++) {
        if (!(weights[i] > 0))
            continue;
        last = i;
        if (at < weights[i])
            return i;
        at -= weights[i];
    }
    return last;
}

uint32_t atoll_select_parent(const struct atoll_search *search, const struct atoll_records *records,
                             const struct atoll_island *island, uint32_t island_number,
                             struct atoll_random *random)
{
    if (!island->occupied)
        return ATOLL_NONE;
    struct look look = {records, island, (enum atoll_island_role)(island_number % ATOLL_ISLAND_ROLE_COUNT)};
    size_t rule = pick_weighted(search->selection_share, ATOLL_SELECTION_COUNT, random);
    double weights[ATOLL_BEHAVIOUR_CELLS];
    unsigned cells[ATOLL_BEHAVIOUR_CELLS];
    size_t count = 0;
    for (uint64_t left = island->occupied; left; left &= left - 1) {
        cells[count] = (unsigned)__builtin_ctzll(left);
        weights[count] = rules[rule](&look, cells[count]);
        count++;
    }
    return island->cells[cells[pick_weighted(weights, count, random)]].elite;
}
