/* layout.h - where the buffers of one sample lie within the candidates' memory: shifts, guard zones, rotation
 * (MEASUREMENT.md 2, 3).  Layer: mpi-eval, backend/cuda.  Pure; plain values. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_LAYOUT_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_LAYOUT_H

#include "core/plan/plan.h"
#include "mpi-eval/referee/trial.h"

#define ATOLL_LAYOUT_BUFFER_LIMIT (ATOLL_TASK_TENSOR_LIMIT + ATOLL_PLAN_SCRATCH_LIMIT)
#define ATOLL_LAYOUT_ALIGN        256 /* what a device allocation has */
#define ATOLL_LAYOUT_GUARD        ((uint64_t)64 << 10)
#define ATOLL_LAYOUT_GUARD_LEAST  ((uint64_t)4 << 10)
#define ATOLL_LAYOUT_SHIFT        ((uint64_t)64 << 10) /* of a buffer on its own, at most */
#define ATOLL_LAYOUT_GRAIN        ((uint64_t)128 << 10) /* of places: addresses below it are the turn's alone */
#define ATOLL_LAYOUT_PLACES       8u
#define ATOLL_LAYOUT_TURN_MASK    ATOLL_PLACEMENT_TURN_MASK

struct atoll_span {
    uint64_t address, bytes;
};

struct atoll_layout {
    size_t count;
    struct atoll_span buffers[ATOLL_LAYOUT_BUFFER_LIMIT];
    /* count + 1 zones: one before every buffer and one after the last.  Multiples of 8 bytes; a buffer's last bytes,
     * fewer than 8, lie between its end and its zone. */
    struct atoll_span guards[ATOLL_LAYOUT_BUFFER_LIMIT + 1];
    unsigned places, place; /* how many the arena holds, from 0; 1: only shifts */
};

/* Bytes of an arena that holds `places` (>= 1) full placements, or 0 places: the least that one needs. */
uint64_t atoll_layout_need(const uint64_t *bytes, size_t count, unsigned places);
/* key: secret, but for its lowest bits, the turn of the sample (referee/trial.h).  The rest decides the place; the
 * turn decides how far each buffer is shifted, from where the secret part, which is a series' own, begins, and evenly
 * over few turns: the time of a kernel that is sensitive to where its buffers lie (8 % for a softmax in the naive order,
 * docs/benchmarks/gpu.md) is then a mean over placements that lie evenly, and no address tells a kernel which sample of
 * a series, or whether a sample of one, it is in.  Except that `not_place` (-1: none) is left out where there is
 * another one.  ATOLL_E_LIMIT when the arena is too small: "needs X bytes, device has Y". */
int atoll_layout_make(const struct atoll_span *arena, const uint64_t *bytes, size_t count, uint64_t key,
                      int not_place, struct atoll_layout *ret_layout, struct atoll_err *err);
/* What a changed 8-byte word (index `word` of guard zone `guard`) trespasses on: the buffer's number, and how far past
 * its end (>= 0) or before its start (< 0), in bytes. */
size_t atoll_layout_trespass(const struct atoll_layout *layout, size_t guard, uint64_t word,
                             int64_t *ret_distance);

#endif
