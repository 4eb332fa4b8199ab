/* select.c - a table of rules that weigh cells. */
#include "evolution/population/select.h"

#include <math.h>

#define LEAST_CURIOSITY 1e-3 /* no cell is never picked */
#define LEAST_PRESSURE  1e-2 /* of the worst cell, where the best weighs 1 */

/* What a rule weighs: the occupied cells of an island. */
struct view {
    const struct atoll_look *look;
    const struct atoll_island *island;
    enum atoll_island_role role;
    size_t count;
    unsigned cells[ATOLL_BEHAVIOUR_CELLS];
};

static void weigh_uniform(const struct view *view, double *ret_weights)
{
    for (size_t i = 0; i < view->count; i++)
        ret_weights[i] = 1;
}

static double fitness_at(const struct view *view, size_t i)
{
    return view->look->individuals->items[view->island->cells[view->cells[i]].elite].fitness;
}

/* Above the worst of the island: all correct fitness lies in the upper half, so that in proportion to itself the best
 * cell would hardly be picked more often than the worst. */
static void weigh_fitness(const struct view *view, double *ret_weights)
{
    double worst = 1, best = 0;
    for (size_t i = 0; i < view->count; i++) {
        worst = fmin(worst, fitness_at(view, i));
        best = fmax(best, fitness_at(view, i));
    }
    for (size_t i = 0; i < view->count; i++) {
        double above = best > worst ? (fitness_at(view, i) - worst) / (best - worst) : 1;
        ret_weights[i] = LEAST_PRESSURE + above * above;
    }
}

static void weigh_curiosity(const struct view *view, double *ret_weights)
{
    struct atoll_gradient gradients[ATOLL_BEHAVIOUR_CELLS];
    atoll_gradients_of(view->look->transitions, view->look->now, view->look->individuals, view->island,
                       gradients);
    for (size_t i = 0; i < view->count; i++)
        ret_weights[i] = LEAST_CURIOSITY + atoll_gradient_magnitude(&gradients[view->cells[i]]);
}

static double role_level(enum atoll_island_role role, struct atoll_behaviour b)
{
    switch (role) {
    case ATOLL_ISLAND_MEMORY: return b.memory;
    case ATOLL_ISLAND_PARALLELISM: return b.coordination;
    case ATOLL_ISLAND_FUSION:
    case ATOLL_ISLAND_ALGORITHM: return b.algorithm;
    default: return 0;
    }
}

static void weigh_role(const struct view *view, double *ret_weights)
{
    for (size_t i = 0; i < view->count; i++)
        ret_weights[i] = 1 + role_level(view->role, atoll_cell_behaviour(view->cells[i]));
}

static void (*const rules[ATOLL_SELECTION_COUNT])(const struct view *view, double *ret_weights) = {
    [ATOLL_SELECT_UNIFORM] = weigh_uniform,
    [ATOLL_SELECT_FITNESS] = weigh_fitness,
    [ATOLL_SELECT_CURIOSITY] = weigh_curiosity,
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

uint32_t atoll_select_parent(const struct atoll_search *search, const struct atoll_look *look,
                             const struct atoll_island *island, uint32_t island_number,
                             struct atoll_random *random)
{
    if (!island->occupied)
        return ATOLL_NONE;
    struct view view = {.look = look,
                        .island = island,
                        .role = (enum atoll_island_role)(island_number % ATOLL_ISLAND_ROLE_COUNT)};
    for (uint64_t left = island->occupied; left; left &= left - 1)
        view.cells[view.count++] = (unsigned)__builtin_ctzll(left);
    double weights[ATOLL_BEHAVIOUR_CELLS];
    size_t rule = pick_weighted(search->selection_share, ATOLL_SELECTION_COUNT, random);
    if ((rule == ATOLL_SELECT_CURIOSITY && !search->gradients) ||
        (rule == ATOLL_SELECT_ISLAND && !search->roles)) {
        rule = ATOLL_SELECT_UNIFORM;
    }
    rules[rule](&view, weights);
    return island->cells[view.cells[pick_weighted(weights, view.count, random)]].elite;
}
