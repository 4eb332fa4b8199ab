/* shape_rate.c - what a shape means on a device, and the shapes that mean most.
 *
 * A block's work over what the tile, the thread and the latency leave of the best rate, times the blocks of the busiest
 * multiprocessor: tails, padding and small grids follow from the counts alone.  The constants are of the right size for
 * today's devices, no more is claimed: a tile of 128 x 128 keeps three quarters of the rate that an endless one would. */
#include "evolution/tuner/shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REGISTERS_OF_THREAD 255.0
#define REGISTERS_BESIDE    40.0   /* addresses, counters, fragments */
#define BLOCK_START         64.0   /* of a block that reads and writes: results in whose time it begins */
#define SHARED_OF_SYSTEM    1024.0 /* of every resident block */

static double value(const struct atoll_shape *s, enum atoll_shape_role role, double otherwise)
{
    return s->values[role] > 0 ? (double)s->values[role] : otherwise;
}

static double power_below(double extent)
{
    return extent < 1 ? 1 : exp2(floor(log2(extent)));
}

static double cdiv(double a, double b)
{
    return ceil(a / b);
}

/* Of an endless one: what is loaded along each edge against what is done inside. */
static double edges(double a, double b, double cost)
{
    return 1 / (1 + cost / a + cost / b);
}

static double threads_of(const struct atoll_shape_problem *p, const struct atoll_device_shape *d,
                         const struct atoll_shape *s)
{
    const int64_t *v = s->values;
    double warp = d->warp_size ? d->warp_size : 32;
    if (s->threads > 0)
        return s->threads;
    if (v[ATOLL_SHAPE_WARPS] > 0)
        return warp * (double)v[ATOLL_SHAPE_WARPS];
    if (v[ATOLL_SHAPE_WARPS_M] > 0 || v[ATOLL_SHAPE_WARPS_N] > 0)
        return warp * value(s, ATOLL_SHAPE_WARPS_M, 1) * value(s, ATOLL_SHAPE_WARPS_N, 1);
    if (v[ATOLL_SHAPE_WARP_GROUPS] > 0)
        return 128 * (double)v[ATOLL_SHAPE_WARP_GROUPS];
    if (v[ATOLL_SHAPE_THREADS_X] > 0 || v[ATOLL_SHAPE_THREADS_Y] > 0)
        return value(s, ATOLL_SHAPE_THREADS_X, 1) * value(s, ATOLL_SHAPE_THREADS_Y, 1) *
               value(s, ATOLL_SHAPE_THREADS_Z, 1);
    if (v[ATOLL_SHAPE_WORK_M] > 0 && v[ATOLL_SHAPE_WORK_N] > 0 && v[ATOLL_SHAPE_TILE_M] > 0)
        return (double)v[ATOLL_SHAPE_TILE_M] / (double)v[ATOLL_SHAPE_WORK_M] *
               value(s, ATOLL_SHAPE_TILE_N, 64) / (double)v[ATOLL_SHAPE_WORK_N];
    return p->is_triton ? 4 * warp : value(s, ATOLL_SHAPE_THREADS, 256);
}

/* What one block computes, in operations of the best rate; needs threads, sets blocks where they are not known. */
struct load {
    double work, registers, shared_bytes;
    double flight; /* what hides latency, of one block: 1 is about one warp that waits */
};

static struct load matrix_load(const struct atoll_shape_problem *p, struct atoll_shape *s)
{
    double groups = value(s, ATOLL_SHAPE_WARP_GROUPS, 0), split = value(s, ATOLL_SHAPE_SPLIT, 1);
    double area = s->blocks > 0 ? p->m * p->n * p->batch * split / s->blocks : 0;
    double bm = value(s, ATOLL_SHAPE_TILE_M, groups > 0 ? 64 * groups : 0);
    double bn = value(s, ATOLL_SHAPE_TILE_N, 0);
    if (!(bm > 0))
        bm = area > 0 ? (bn > 0 ? fmax(1, area / bn) : sqrt(area)) : 64;
    if (!(bn > 0))
        bn = area > 0 ? fmax(1, area / bm) : 64;
    double bk = value(s, ATOLL_SHAPE_TILE_K, 32), stages = value(s, ATOLL_SHAPE_STAGES, p->is_triton ? 3 : 2);
    if (!(s->blocks > 0))
        s->blocks = cdiv(p->m, bm) * cdiv(p->n, bn) * p->batch * split;
    double warps = fmax(1, s->threads / 32);
    double wm = s->values[ATOLL_SHAPE_WARPS_M] > 0 ? bm / value(s, ATOLL_SHAPE_WARPS_M, 1) : 0;
    double wn = s->values[ATOLL_SHAPE_WARPS_N] > 0 ? bn / value(s, ATOLL_SHAPE_WARPS_N, 1) : 0;
    double side = sqrt(bm * bn / warps);
    double reuse = s->values[ATOLL_SHAPE_WORK_M] > 0
                       ? edges(value(s, ATOLL_SHAPE_WORK_M, 8), value(s, ATOLL_SHAPE_WORK_N, 8), 1)
                       : edges(wm > 0 ? wm : side, wn > 0 ? wn : side, 8);
    double depth = cdiv(p->k, bk * split) * bk + (split > 1 ? 200 : 0);
    double group = value(s, ATOLL_SHAPE_GROUP, 0), tiles = s->blocks / split;
    double order = group > 0 && (tiles < 16) != (group <= 1) ? 1.03 : 1;
    return (struct load){
        .work = bm * bn * depth * order * (1 + 4 / bk) / (edges(bm, bn, 24) * reuse),
        .registers = REGISTERS_BESIDE + bm * bn / s->threads,
        .shared_bytes = stages * bk * (bm + bn) * p->element_bytes,
        .flight = warps * (1 + 0.4 * (fmin(stages, 5) - 1)) / 4,
    };
}

static struct load attention_load(const struct atoll_shape_problem *p, struct atoll_shape *s)
{
    double bm = value(s, ATOLL_SHAPE_TILE_M, s->blocks > 0 ? fmax(1, p->m / s->blocks) : s->threads / 2);
    double bn = value(s, ATOLL_SHAPE_TILE_N, 64), stages = value(s, ATOLL_SHAPE_STAGES, 2);
    double warps = fmax(1, s->threads / 32);
    if (!(s->blocks > 0))
        s->blocks = cdiv(p->m, bm);
    return (struct load){
        .work = bm * cdiv(p->n, bn) * bn * 2 * p->k / (edges(bm, bn, 16) * edges(bm / warps, bn, 4)),
        .registers = REGISTERS_BESIDE + bm * (p->k + bn) / s->threads,
        .shared_bytes = p->element_bytes * p->k * (bm + 2 * stages * bn),
        .flight = warps * (1 + 0.4 * (fmin(stages, 5) - 1)) / 4,
    };
}

/* Of memory's rate: what is on its way at a time decides, and how many lanes have nothing to do. */
static struct load rows_load(const struct atoll_shape_problem *p, struct atoll_shape *s)
{
    double rows = value(s, ATOLL_SHAPE_ROWS_OF_BLOCK, s->blocks > 0 ? fmax(1, p->m / s->blocks) : 1);
    double vector = value(s, ATOLL_SHAPE_VECTOR, 1), lanes = fmax(1, s->threads / rows);
    double each = vector * value(s, ATOLL_SHAPE_WORK, 1);
    if (!(s->blocks > 0))
        s->blocks = cdiv(p->m, rows);
    return (struct load){
        .work = rows * (cdiv(p->n, lanes * vector) * lanes * vector + 16 * log2(lanes + 1)),
        .registers = REGISTERS_BESIDE + each,
        .shared_bytes = rows * lanes / 8,
        .flight = s->threads * fmin(each, 16) * p->element_bytes / 4096,
    };
}

/* What a thread loads of its neighbourhood per result, against a thread with one result. */
static double neighbours(double radius, double work)
{
    return (work + 2 * radius) / (work * (1 + 2 * radius));
}

/* Sizes that are no powers of two are dearer than their padding: addresses, alignment, lanes. */
static double oddness(double size)
{
    return size == power_below(size) ? 1 : 1.2;
}

static struct load grid_load(const struct atoll_shape_problem *p, struct atoll_shape *s)
{
    double x = value(s, ATOLL_SHAPE_THREADS_X, s->threads), wx = value(s, ATOLL_SHAPE_WORK_X, 1);
    double y = value(s, ATOLL_SHAPE_THREADS_Y, 1), wy = value(s, ATOLL_SHAPE_WORK_Y, 1);
    double z = value(s, ATOLL_SHAPE_THREADS_Z, 1), wz = value(s, ATOLL_SHAPE_WORK_Z, 1);
    double bx = x * wx, by = y * wy, bz = z * wz, work = wx * wy * wz;
    if (!(s->blocks > 0))
        s->blocks = cdiv(p->n, bx) * cdiv(p->m, by) * cdiv(p->k, bz) * p->batch;
    double loads =
        neighbours(p->radius, wx) * neighbours(p->radius, wy) * (p->k > 1 ? neighbours(p->radius, wz) : 1);
    /* Results of one thread along the contiguous axis spread each access; rows of threads load each other's rows again. */
    double spread = 1 + 0.05 * (fmin(wx, 16) - 1) + (p->radius > 0 ? 0.05 * (fmin(y, 16) - 1) : 0);
    double lines = 1 + fmax(0, 8 / x - 1) / 4; /* sectors of 32 bytes that are not used whole */
    double each = (0.3 + 0.7 * loads * lines * spread) * oddness(s->threads) * oddness(wx * wy);
    return (struct load){
        .work = cdiv(s->threads, 32) * 32 * work * each * (1 + 0.005 * work) + BLOCK_START,
        .registers = REGISTERS_BESIDE / 2 + 2 * fmin(work, 64) + 2 * p->radius,
        .shared_bytes = 0,
        .flight = s->threads / 32,
    };
}

static struct load stream_load(const struct atoll_shape_problem *p, struct atoll_shape *s)
{
    double each =
        value(s, ATOLL_SHAPE_WORK, 1) * value(s, ATOLL_SHAPE_VECTOR, 1) * value(s, ATOLL_SHAPE_UNROLL, 1);
    double per_block = p->is_triton && s->values[ATOLL_SHAPE_THREADS] > 0
                           ? (double)s->values[ATOLL_SHAPE_THREADS]
                           : s->threads * each;
    if (!(s->blocks > 0))
        s->blocks = cdiv(p->n, per_block);
    else
        per_block = fmax(s->threads, p->n / s->blocks);
    return (struct load){
        .work = per_block + BLOCK_START,
        .registers = REGISTERS_BESIDE / 2 + fmin(each, 64),
        .shared_bytes = 0,
        .flight = s->threads * fmin(fmax(1, per_block / s->threads), 16) * p->element_bytes / 4096,
    };
}

static struct load load_of(const struct atoll_shape_problem *p, struct atoll_shape *s)
{
    switch (p->family) {
    case ATOLL_SHAPE_MATRIX: return matrix_load(p, s);
    case ATOLL_SHAPE_ATTENTION: return attention_load(p, s);
    case ATOLL_SHAPE_ROWS: return rows_load(p, s);
    case ATOLL_SHAPE_GRID: return grid_load(p, s);
    default: return stream_load(p, s);
    }
}

/* What all of it would be at the best rate, on one multiprocessor. */
static double ideal_work(const struct atoll_shape_problem *p)
{
    double all = p->m * p->n * p->batch;
    switch (p->family) {
    case ATOLL_SHAPE_MATRIX: return all * p->k;
    case ATOLL_SHAPE_ATTENTION: return 2 * all * p->k;
    case ATOLL_SHAPE_GRID: return all * p->k;
    default: return all;
    }
}

static double least(double limit, double each)
{
    return limit > 0 && each > 0 ? floor(limit / each) : 32;
}

static int rate_on_device(const struct atoll_shape_problem *p, const struct atoll_device_shape *d,
                          struct atoll_shape *s)
{
    double warp = d->warp_size ? d->warp_size : 32;
    s->threads = threads_of(p, d, s);
    if (!(s->threads >= 1) || (d->threads_per_block && s->threads > d->threads_per_block))
        return 0;
    struct load load = load_of(p, s);
    if (!(s->shared_bytes > 0))
        s->shared_bytes = load.shared_bytes;
    if (d->shared_bytes_per_block && s->shared_bytes > d->shared_bytes_per_block)
        return 0;
    s->registers = fmin(load.registers, REGISTERS_OF_THREAD);
    double lanes = cdiv(s->threads, warp) * warp;
    double resident = least(d->threads_per_multiprocessor, lanes);
    resident = fmin(resident, least(d->blocks_per_multiprocessor, 1));
    resident = fmin(resident, least(d->registers_per_multiprocessor, s->registers * lanes));
    if (s->shared_bytes > 0)
        resident =
            fmin(resident, least(d->shared_bytes_per_multiprocessor, s->shared_bytes + SHARED_OF_SYSTEM));
    if (resident < 1)
        return 0;
    double spill = fmax(1, load.registers / REGISTERS_OF_THREAD);
    double busiest = cdiv(s->blocks, d->multiprocessors);
    double flight = load.flight * fmin(resident, busiest);
    s->resident = resident;
    s->waves = s->blocks / (resident * d->multiprocessors);
    s->cost = busiest * load.work * spill * spill * (1 + 0.6 / flight) * d->multiprocessors / ideal_work(p);
    return isfinite(s->cost) && s->cost > 0;
}

int atoll_shape_rate(const struct atoll_shape_problem *problem, const struct atoll_device_shape *device,
                     struct atoll_shape *shape)
{
    if (!problem->is_device || !device->multiprocessors || !device->threads_per_multiprocessor)
        return 0;
    return rate_on_device(problem, device, shape);
}

/* ---- suggestions ---- */

#define AXES        6
#define AXIS_VALUES 6
#define OF_A_TILE   2

/* One axis of what is looked at: values of a role, ended by 0. */
struct axis {
    enum atoll_shape_role role;
    int64_t values[AXIS_VALUES];
    double most; /* no value is larger, but for the first: the dim, as a power of two; 0: all are taken */
};

static size_t axes_of(const struct atoll_shape_problem *p, struct axis axes[AXES])
{
    double m = power_below(p->m), n = power_below(p->n), k = power_below(p->k);
    struct axis tile_m = {ATOLL_SHAPE_TILE_M, {16, 32, 64, 128, 256}, m};
    struct axis tile_n = {ATOLL_SHAPE_TILE_N, {16, 32, 64, 128, 256}, n};
    struct axis tile_k = {ATOLL_SHAPE_TILE_K, {16, 32, 64, 128}, k};
    struct axis keys = {ATOLL_SHAPE_TILE_N, {32, 64, 128}, n};
    struct axis stages = {ATOLL_SHAPE_STAGES, {2, 3, 4, 5}, 0};
    struct axis warps = {ATOLL_SHAPE_WARPS, {4, 8, 16}, 0};
    struct axis split = {ATOLL_SHAPE_SPLIT, {1, 2, 4, 8, 16}, power_below(p->k / 256)};
    struct axis threads = {ATOLL_SHAPE_THREADS, {128, 256, 512, 1024}, 0};
    struct axis vector = {ATOLL_SHAPE_VECTOR, {1, 2, 4, 8}, 16 / p->element_bytes};
    struct axis work = {ATOLL_SHAPE_WORK, {1, 2, 4, 8}, 0};
    struct axis rows = {ATOLL_SHAPE_ROWS_OF_BLOCK, {1, 2, 4, 8, 16}, m};
    struct axis across = {ATOLL_SHAPE_THREADS_X, {32, 64, 128, 256}, n};
    struct axis down = {ATOLL_SHAPE_THREADS_Y, {1, 2, 4, 8}, m};
    struct axis work_y = {ATOLL_SHAPE_WORK_Y, {1, 2, 4}, m};
    struct axis work_z = {ATOLL_SHAPE_WORK_Z, {1, 4, 8, 16, 32}, k};
    switch (p->family) {
    case ATOLL_SHAPE_MATRIX:
        memcpy(axes, (struct axis[]){tile_m, tile_n, tile_k, stages, warps, split}, 6 * sizeof(*axes));
        return 6;
    case ATOLL_SHAPE_ATTENTION:
        memcpy(axes, (struct axis[]){tile_m, keys, stages, warps}, 4 * sizeof(*axes));
        return 4;
    case ATOLL_SHAPE_ROWS:
        memcpy(axes, (struct axis[]){rows, threads, vector, work}, 4 * sizeof(*axes));
        return 4;
    case ATOLL_SHAPE_GRID:
        memcpy(axes, (struct axis[]){across, down, work_y, work_z}, 4 * sizeof(*axes));
        return 4;
    default: memcpy(axes, (struct axis[]){threads, vector, work}, 3 * sizeof(*axes)); return 3;
    }
}

/* The shapes so far, the cheapest first. */
struct ranking {
    struct atoll_shape *shapes;
    size_t count;
};

static int has_same_tile(const struct atoll_shape *a, const struct atoll_shape *b)
{
    static const enum atoll_shape_role tile[] = {
        ATOLL_SHAPE_TILE_M,  ATOLL_SHAPE_TILE_N,    ATOLL_SHAPE_SPLIT,     ATOLL_SHAPE_ROWS_OF_BLOCK,
        ATOLL_SHAPE_THREADS, ATOLL_SHAPE_THREADS_X, ATOLL_SHAPE_THREADS_Y, ATOLL_SHAPE_WORK_Z};
    for (size_t i = 0; i < sizeof(tile) / sizeof(*tile); i++)
        if (a->values[tile[i]] != b->values[tile[i]])
            return 0;
    return 1;
}

/* At its place by cost; of equal ones the earlier stands first.  Of the same tile only the best two stay. */
static void rank(struct ranking *r, const struct atoll_shape *shape)
{
    size_t at = 0, same = 0;
    for (size_t i = 0; i < r->count; i++) {
        size_t is_before = r->shapes[i].cost <= shape->cost;
        at += is_before;
        same += is_before && has_same_tile(&r->shapes[i], shape) ? 1 : 0;
    }
    if (same >= OF_A_TILE || at == ATOLL_SHAPE_LIMIT)
        return;
    size_t kept = r->count < ATOLL_SHAPE_LIMIT ? r->count : ATOLL_SHAPE_LIMIT - 1;
    memmove(&r->shapes[at + 1], &r->shapes[at], (kept - at) * sizeof(*shape));
    r->shapes[at] = *shape;
    r->count = kept + 1;
    for (size_t i = 0, seen = 0; i < r->count; i++) {
        seen += (size_t)has_same_tile(&r->shapes[i], shape);
        if (seen > OF_A_TILE) {
            memmove(&r->shapes[i], &r->shapes[i + 1], (r->count - i - 1) * sizeof(*shape));
            r->count--;
            return;
        }
    }
}

static void look(const struct atoll_shape_problem *problem, const struct atoll_device_shape *device,
                 const struct axis *axes, size_t count, struct atoll_shape *shape, struct ranking *ranking)
{
    if (!count) {
        struct atoll_shape rated = *shape;
        if (atoll_shape_rate(problem, device, &rated))
            rank(ranking, &rated);
        return;
    }
    for (size_t i = 0; i < AXIS_VALUES && axes->values[i]; i++) {
        if (i && axes->most > 0 && (double)axes->values[i] > axes->most)
            break;
        shape->values[axes->role] = axes->values[i];
        look(problem, device, axes + 1, count - 1, shape, ranking);
    }
}

size_t atoll_shape_suggest(const struct atoll_shape_problem *problem, const struct atoll_device_shape *device,
                           struct atoll_shape ret_shapes[ATOLL_SHAPE_LIMIT])
{
    struct axis axes[AXES];
    struct atoll_shape shape = {.cost = 0};
    struct ranking ranking = {ret_shapes, 0};
    if (problem->is_device && atoll_device_shape_is_known(device))
        look(problem, device, axes, axes_of(problem, axes), &shape, &ranking);
    return ranking.count;
}
