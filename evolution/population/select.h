/* select.h - selection of parents: a table of rules, mixed by shares (ALGORITHMS.md 2).  For
 * the strategy islands; tree, beam and staged choose in strategy/.
 * Layer: evolution, pure but for the random stream. */
#ifndef ATOLL_EVOLUTION_POPULATION_SELECT_H
#define ATOLL_EVOLUTION_POPULATION_SELECT_H

#include "evolution/engine/state.h"

/* What the rules look at. */
struct atoll_look {
    const struct atoll_individuals *individuals;
    const struct atoll_transitions *transitions;
    uint64_t now; /* evaluations of the task */
};

/* An elite of the island (individual), ATOLL_NONE when it has none.
 * uniform: every occupied cell alike.  fitness: by the square of how far the elite's fitness is above the worst of the island.  curiosity:
 * proportionate to the magnitude of the cell's combined gradient.  island: proportionate to one plus the
 * level of the cell in the dimension of the island's role. */
uint32_t atoll_select_parent(const struct atoll_search *search, const struct atoll_look *look,
                             const struct atoll_island *island, uint32_t island_number,
                             struct atoll_random *random);

#endif
