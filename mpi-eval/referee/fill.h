/* fill.h - what outputs and scratch hold before a launch: it changes from sample to sample, so that neither a
 * poison nor a zero tells a kernel that it is being watched, and what was never written can be recognised
 * (EXPLOITS.md D3, D4, D6). Layer: mpi-eval, referee.  Plain value; `stale` is borrowed. */
#ifndef ATOLL_MPI_EVAL_REFEREE_FILL_H
#define ATOLL_MPI_EVAL_REFEREE_FILL_H

#include <stddef.h>
#include <stdint.h>

#include "core/task/dtype.h"
#include "mpi-eval/referee/team.h"

enum atoll_fill_kind {
    ATOLL_FILL_POISON, /* NaN with a payload of the key; the largest integers */
    ATOLL_FILL_ZERO,
    ATOLL_FILL_RANDOM, /* plausible values */
    ATOLL_FILL_STALE,  /* the right output of another input set */
    ATOLL_FILL_COUNT
};

#define ATOLL_FILL_PERIOD 1021 /* a prime, so that no tile size hides a shift */
#define ATOLL_FILL_AHEAD  4096

struct atoll_fill {
    enum atoll_fill_kind kind;
    enum atoll_dtype dtype;
    size_t count;
    const double *stale; /* count values, STALE only */
    /* All other kinds: one period of elements and the start of the next. */
    unsigned char pattern[ATOLL_FILL_PERIOD * 8 + ATOLL_FILL_AHEAD];
};

/* The kind comes from the key; STALE only when stale is not NULL.  team: borrowed, may be NULL. */
void atoll_fill_init(struct atoll_fill *fill, enum atoll_dtype dtype, size_t count, const double *stale,
                     uint64_t key);
void atoll_fill_write(const struct atoll_fill *fill, struct atoll_team *team, void *base);
/* Whether element `index` of base still is the fill's, bit for bit. */
int atoll_fill_holds(const struct atoll_fill *fill, const void *base, size_t index);

#endif
