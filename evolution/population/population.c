/* population.c - islands and their cells. */
#include "evolution/population/population.h"

#include <string.h>

#include "base/array.h"

void atoll_island_init(struct atoll_island *island)
{
    memset(island, 0, sizeof(*island));
    for (unsigned i = 0; i < ATOLL_BEHAVIOUR_CELLS; i++) {
        struct atoll_cell *cell = &island->cells[i];
        cell->elite = cell->waiting = cell->refused = ATOLL_NONE;
    }
}

void atoll_island_set(struct atoll_island *island, unsigned cell, uint32_t individual)
{
    island->cells[cell].elite = individual;
    island->cells[cell].refused = ATOLL_NONE;
    island->occupied |= UINT64_C(1) << cell;
}

void atoll_island_clear(struct atoll_island *island, unsigned cell)
{
    island->cells[cell].elite = island->cells[cell].refused = ATOLL_NONE;
    island->occupied &= ~(UINT64_C(1) << cell);
}

struct atoll_behaviour atoll_cell_behaviour(unsigned cell)
{
    return (struct atoll_behaviour){(unsigned char)(cell / 16), (unsigned char)(cell / 4 % 4),
                                    (unsigned char)(cell % 4)};
}

static void reference_codec(uint32_t *individual, uint32_t individual_count, struct atoll_codec *codec)
{
    atoll_codec_u32(codec, individual);
    if (codec->in && *individual != ATOLL_NONE && *individual >= individual_count) {
        *individual = ATOLL_NONE;
        codec->in->failed = 1;
    }
}

/* Cells that hold nothing are not written: a mask says which follow. */
void atoll_island_codec(struct atoll_island *island, uint32_t individual_count, struct atoll_codec *codec)
{
    uint64_t used = 0;
    if (codec->in)
        atoll_island_init(island);
    for (unsigned i = 0; i < ATOLL_BEHAVIOUR_CELLS; i++) {
        const struct atoll_cell *cell = &island->cells[i];
        int in_use = cell->elite != ATOLL_NONE || cell->waiting != ATOLL_NONE || cell->open;
        used |= (uint64_t)in_use << i;
    }
    atoll_codec_u64(codec, &island->evaluated);
    atoll_codec_u64(codec, &island->since_elite);
    atoll_codec_u64(codec, &used);
    for (unsigned i = 0; i < ATOLL_BEHAVIOUR_CELLS; i++) {
        struct atoll_cell *cell = &island->cells[i];
        if (!(used >> i & 1))
            continue;
        reference_codec(&cell->elite, individual_count, codec);
        reference_codec(&cell->waiting, individual_count, codec);
        reference_codec(&cell->refused, individual_count, codec);
        atoll_codec_u8(codec, &cell->open);
        if (codec->in && cell->elite != ATOLL_NONE)
            island->occupied |= UINT64_C(1) << i;
    }
}
