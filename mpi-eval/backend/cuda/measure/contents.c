#include "mpi-eval/backend/cuda/measure/contents.h"

#include <string.h>

/* 16-byte chunks of a tile: as many as leave every multiprocessor several tiles, within what is worth a look at the table. */
#define TILE_LEAST   512u
#define TILE_MOST    4096u
#define TILES_WANTED 4224u

static unsigned tile_of(uint64_t chunks)
{
    unsigned tile = TILE_LEAST;
    while (tile < TILE_MOST && chunks / tile > TILES_WANTED)
        tile *= 2;
    return tile;
}

/* 32 bits hold the tiles of 2^48 bytes. */
static unsigned tiles_of(uint64_t chunks, unsigned tile)
{
    return (unsigned)((chunks + tile - 1) / tile);
}

/* ---- contents ---- */

static uint64_t region_chunks(const struct atoll_region *r)
{
    int dtype = r->kind == ATOLL_REGION_FILL ? r->of.fill.dtype : r->of.init.dtype;
    uint64_t bytes = r->kind == ATOLL_REGION_GUARD ? 8 : atoll_dtype_bytes((enum atoll_dtype)dtype);
    return (r->count * bytes + 15) / 16;
}

static void tiles_number(struct atoll_contents_launch *launch, size_t count)
{
    uint64_t chunks = 0;
    for (size_t i = 0; i < count; i++)
        chunks += region_chunks(&launch->regions[i]);
    launch->tile_chunks = tile_of(chunks);
    launch->tiles = 0;
    for (size_t i = 0; i < count; i++) {
        launch->tiles += tiles_of(region_chunks(&launch->regions[i]), launch->tile_chunks);
        launch->regions[i].tile_end = launch->tiles;
    }
}

static uint64_t blocks_of(unsigned tiles)
{
    return atoll_support_blocks((uint64_t)tiles * ATOLL_SUPPORT_BLOCK);
}

void atoll_contents_begin(struct atoll_contents *contents, struct atoll_command_batch *batch)
{
    memset(contents, 0, sizeof(*contents)); /* the bytes between fields too: they travel */
    contents->batch = batch;
}

void atoll_contents_end(struct atoll_contents *contents)
{
    tiles_number(&contents->launch, contents->count);
    if (contents->launch.tiles)
        atoll_support_launch(contents->batch, ATOLL_KERNEL_contents, blocks_of(contents->launch.tiles),
                             ATOLL_SUPPORT_BLOCK, 0, &contents->launch, sizeof(contents->launch));
    atoll_contents_begin(contents, contents->batch);
}

static struct atoll_region *region_add(struct atoll_contents *contents, enum atoll_region_kind kind,
                                       uint64_t address, uint64_t count)
{
    if (contents->count == ATOLL_REGION_LIMIT)
        atoll_contents_end(contents);
    struct atoll_region *r = &contents->launch.regions[contents->count++];
    r->kind = kind;
    r->address = address;
    r->count = count;
    return r;
}

int atoll_contents_input(struct atoll_contents *contents, const struct atoll_task *task, size_t tensor,
                         const struct atoll_variant *variant, uint64_t input_set_seed, unsigned distribution,
                         uint64_t address, struct atoll_err *err)
{
    const struct atoll_tensor *t = &task->tensors[tensor];
    struct atoll_init_part part = {0};
    for (size_t i = 0; i < atoll_init_part_count(t); i++) {
        if (atoll_init_settle(task, tensor, i, variant, input_set_seed, distribution, &part, err))
            return -1;
        region_add(contents, ATOLL_REGION_INIT, address + part.begin * atoll_dtype_bytes(t->dtype),
                   part.count)
            ->of.init = part.params;
    }
    return 0;
}

/* A normal is made as an input is. */
void atoll_contents_fill(struct atoll_contents *contents, const struct atoll_support_fill *fill,
                         uint64_t address, uint64_t count)
{
    struct atoll_fill_params f = atoll_support_fill_params(fill);
    if (f.form != ATOLL_FILL_FORM_NORMAL) {
        region_add(contents, ATOLL_REGION_FILL, address, count)->of.fill = f;
        return;
    }
    struct atoll_region *r = region_add(contents, ATOLL_REGION_INIT, address, count);
    r->of.init.key = f.key;
    r->of.init.form = ATOLL_VALUE_NORMAL;
    r->of.init.dtype = f.dtype;
    r->of.init.row = 1;
    atoll_value_normal_settle(&r->of.init, f.scale);
}

void atoll_contents_guard(struct atoll_contents *contents, uint64_t address, uint64_t bytes, uint64_t key)
{
    region_add(contents, ATOLL_REGION_GUARD, address, bytes / 8)->of.key = key;
}

uint64_t atoll_contents_of_part(const struct atoll_init_part *part, uint64_t address,
                                struct atoll_contents_launch *ret_launch)
{
    memset(ret_launch, 0, sizeof(*ret_launch));
    ret_launch->regions[0].address = address;
    ret_launch->regions[0].count = part->count;
    ret_launch->regions[0].kind = ATOLL_REGION_INIT;
    ret_launch->regions[0].of.init = part->params;
    tiles_number(ret_launch, 1);
    return blocks_of(ret_launch->tiles);
}

/* ---- inspection ---- */

void atoll_inspection_begin(struct atoll_inspection *inspection, struct atoll_command_batch *batch)
{
    memset(inspection, 0, sizeof(*inspection));
    inspection->batch = batch;
}

static uint64_t zone_chunks(const struct atoll_zone *z)
{
    return z->bytes / 16 + (z->bytes % 16 != 0);
}

void atoll_inspection_end(struct atoll_inspection *inspection)
{
    struct atoll_inspect_launch *launch = &inspection->launch;
    uint64_t chunks = 0;
    for (size_t i = 0; i < inspection->count; i++)
        chunks += zone_chunks(&launch->zones[i]);
    launch->tile_chunks = tile_of(chunks);
    for (size_t i = 0; i < inspection->count; i++) {
        launch->tiles += tiles_of(zone_chunks(&launch->zones[i]), launch->tile_chunks);
        launch->zones[i].tile_end = launch->tiles;
    }
    if (launch->tiles)
        atoll_support_launch(inspection->batch, ATOLL_KERNEL_inspect, blocks_of(launch->tiles),
                             ATOLL_SUPPORT_BLOCK, 0, launch, sizeof(*launch));
    atoll_inspection_begin(inspection, inspection->batch);
}

static void zone_add(struct atoll_inspection *inspection, const struct atoll_zone *zone)
{
    if (inspection->count == ATOLL_ZONE_LIMIT)
        atoll_inspection_end(inspection);
    inspection->launch.zones[inspection->count++] = *zone;
}

void atoll_inspection_hash(struct atoll_inspection *inspection, uint64_t address, uint64_t bytes,
                           uint64_t key, uint64_t result)
{
    zone_add(inspection, &(struct atoll_zone){address, bytes, key, result, 0, 0});
}

void atoll_inspection_guard(struct atoll_inspection *inspection, uint64_t address, uint64_t bytes,
                            uint64_t key, uint64_t result)
{
    zone_add(inspection, &(struct atoll_zone){address, bytes, key, result, 1, 0});
}
