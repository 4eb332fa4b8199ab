/* shape.h - sizes that fit a task's shapes and a device (papers/002 IV-E): tiles no larger than the dims, tall ones and wide
 * ones, the shared memory and the registers of a block, how many blocks are resident, waves and the idle part of the last
 * one, a split of the sum where the grid is too small.
 * Layer: evolution, pure; plain values.
 *
 * A problem is what a task asks at one shape, an operator family and up to three extents.  A shape of a kernel is a value for
 * each role that its parameters play (roles are known by name); rate says what it means on a device.  Costs are relative
 * and of one problem: 1 were every unit of the device busy all the time at the best rate.  They order, they do not predict. */
#ifndef ATOLL_EVOLUTION_TUNER_SHAPE_H
#define ATOLL_EVOLUTION_TUNER_SHAPE_H

#include "core/device_shape.h"
#include "core/task/task.h"

#define ATOLL_SHAPE_LIMIT 12 /* suggestions of one list (papers/002 IV-C 10) */

enum atoll_shape_family {
    ATOLL_SHAPE_MATRIX,    /* products: m x n results, each a sum of k; batch of them */
    ATOLL_SHAPE_ATTENTION, /* m queries of all heads, each with n keys of depth k */
    ATOLL_SHAPE_ROWS,      /* m rows of n elements: norms, softmax, reductions, scans */
    ATOLL_SHAPE_GRID,   /* cells that look at their neighbours: n along the contiguous axis, then m, then k */
    ATOLL_SHAPE_STREAM, /* n elements, each by itself, and what is none of the others */
    ATOLL_SHAPE_FAMILY_COUNT
};

struct atoll_shape_problem {
    enum atoll_shape_family family;
    int is_device; /* cuda, triton, opencl; 0: c */
    int is_triton; /* its programs have no threads of their own: sizes are of what a program works on */
    double m, n, k, batch; /* at least 1 */
    double element_bytes;  /* of the factors, or of what is read */
    double radius;         /* GRID: neighbours to each side */
};

/* What the problem of a task is at a variant; language "c", "cuda" ...  -1 where extents cannot be evaluated. */
int atoll_shape_problem_of(const struct atoll_task *task, const struct atoll_variant *variant,
                           const char *language, struct atoll_shape_problem *ret_problem,
                           struct atoll_err *err);

enum atoll_shape_role {
    ATOLL_SHAPE_NONE,
    ATOLL_SHAPE_TILE_M, /* of a block; ATTENTION: queries */
    ATOLL_SHAPE_TILE_N, /* ATTENTION: keys */
    ATOLL_SHAPE_TILE_K,
    ATOLL_SHAPE_STAGES, /* tiles in shared memory or on their way there */
    ATOLL_SHAPE_WARPS,
    ATOLL_SHAPE_WARPS_M,
    ATOLL_SHAPE_WARPS_N,
    ATOLL_SHAPE_WARP_GROUPS, /* of 128 threads */
    ATOLL_SHAPE_WORK_M,      /* results of one thread */
    ATOLL_SHAPE_WORK_N,
    ATOLL_SHAPE_GROUP, /* rows of tiles that blocks go through together */
    ATOLL_SHAPE_SPLIT, /* parts of a sum, each by a block of its own */
    ATOLL_SHAPE_THREADS,
    ATOLL_SHAPE_THREADS_X,
    ATOLL_SHAPE_THREADS_Y,
    ATOLL_SHAPE_THREADS_Z,
    ATOLL_SHAPE_WORK, /* elements of one thread */
    ATOLL_SHAPE_WORK_X,
    ATOLL_SHAPE_WORK_Y,
    ATOLL_SHAPE_WORK_Z,
    ATOLL_SHAPE_ROWS_OF_BLOCK,
    ATOLL_SHAPE_VECTOR, /* elements of one access */
    ATOLL_SHAPE_UNROLL,
    ATOLL_SHAPE_RESIDENT, /* blocks of a multiprocessor that it is compiled for */
    ATOLL_SHAPE_ROLE_COUNT
};
/* Of a param by its name, as seeds and the literature have them: BM, BLOCK_M, block_size_x ... */
enum atoll_shape_role atoll_shape_role_of(const struct atoll_shape_problem *problem, const char *param);

struct atoll_shape {
    int64_t values[ATOLL_SHAPE_ROLE_COUNT]; /* 0: no param has this role */
    /* What is known of the launch; 0: follows from the values. */
    double blocks, threads, shared_bytes;
    /* by atoll_shape_rate */
    double registers; /* that a thread needs at least, 0 unknown */
    double resident;  /* blocks of a multiprocessor at a time */
    double waves;     /* rounds of all multiprocessors; the part after the point is the last one */
    double cost;
};

/* 1 and the figures; 0: the device cannot hold it, or nobody knows (language c, where none of this was measured). */
int atoll_shape_rate(const struct atoll_shape_problem *problem, const struct atoll_device_shape *device,
                     struct atoll_shape *shape);

/* The cheapest first, at most ATOLL_SHAPE_LIMIT, of each pair of tile sizes at most two; 0 where the device is unknown. */
size_t atoll_shape_suggest(const struct atoll_shape_problem *problem, const struct atoll_device_shape *device,
                           struct atoll_shape ret_shapes[ATOLL_SHAPE_LIMIT]);

#endif
