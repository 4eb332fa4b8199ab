/* population.h - the islands of one task: 64 behaviour cells each, a cell keeps its elite (ALGORITHMS.md 1
 * and 4). Layer: evolution.  Plain values; candidates are positions in individuals. */
#ifndef ATOLL_EVOLUTION_POPULATION_POPULATION_H
#define ATOLL_EVOLUTION_POPULATION_POPULATION_H

#include "core/behaviour/behaviour.h"
#include "evolution/engine/codec.h"

struct atoll_cell {
    uint32_t elite;   /* ATOLL_NONE: empty */
    uint32_t waiting; /* the fastest challenger that waits for the open duel */
    uint32_t refused; /* the last challenger that this elite beat: it does not come again */
    uint8_t open;     /* a duel over this cell is under way */
};

struct atoll_island {
    struct atoll_cell cells[ATOLL_BEHAVIOUR_CELLS];
    uint64_t occupied;    /* bit per cell */
    uint64_t evaluated;   /* candidates of this island */
    uint64_t since_elite; /* of those, since its last new elite */
};

void atoll_island_init(struct atoll_island *island);
void atoll_island_set(struct atoll_island *island, unsigned cell, uint32_t individual);
void atoll_island_clear(struct atoll_island *island, unsigned cell); /* the elite goes; challengers stay */
struct atoll_behaviour atoll_cell_behaviour(unsigned cell);
void atoll_island_codec(struct atoll_island *island, uint32_t individual_count, struct atoll_codec *codec);

#endif
