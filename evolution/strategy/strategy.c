/* strategy.c - the table of strategies. */
#include "evolution/strategy/strategy.h"

static const struct atoll_strategy *const strategies[ATOLL_STRATEGY_COUNT] = {
    [ATOLL_STRATEGY_ISLANDS] = &atoll_strategy_islands,   [ATOLL_STRATEGY_BEAM] = &atoll_strategy_beam,
    [ATOLL_STRATEGY_TREE] = &atoll_strategy_tree,         [ATOLL_STRATEGY_STAGED] = &atoll_strategy_staged,
    [ATOLL_STRATEGY_REPEATED] = &atoll_strategy_repeated,
};

const struct atoll_strategy *atoll_strategy_of(const struct atoll_engine *e)
{
    return strategies[e->search.strategy];
}
