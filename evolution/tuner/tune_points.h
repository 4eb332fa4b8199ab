/* tune_points.h - the legal points of a tuner's space, and which of them were not tried yet.
 * Layer: evolution, private to the tuner.  Lifetime: zero-initialised/fini; the space is borrowed.
 *
 * A space whose points a bounded search lists is enumerated: its points are kept, in the order of their digits, and
 * the untried ones in a list from which any goes in constant time; the order of that list is a function of the order
 * of the removals.  Of any other space points are drawn. */
#ifndef ATOLL_EVOLUTION_TUNER_TUNE_POINTS_H
#define ATOLL_EVOLUTION_TUNER_TUNE_POINTS_H

#include "base/err.h"
#include "base/random.h"
#include "evolution/tuner/space.h"

struct atoll_tune_points {
    const struct atoll_space *space;
    int enumerated;
    uint32_t legal_count, untried_count;
    struct atoll_point *legal;
    uint32_t *untried;  /* positions in legal */
    uint32_t *position; /* of a legal point in untried; ATOLL_NONE: tried */
};

/* Lists the points where node_limit values suffice and there are at most point_limit; else the space stays as it is.
 * 0, or -1 for MEMORY. */
int atoll_tune_points_enumerate(struct atoll_tune_points *points, uint64_t node_limit, uint32_t point_limit,
                                struct atoll_err *err);
void atoll_tune_points_fini(struct atoll_tune_points *points);

int atoll_tune_points_legal(const struct atoll_tune_points *points, const struct atoll_point *point);
/* Enumerated: marks a point as tried; what is not legal is ignored. */
void atoll_tune_points_remove(struct atoll_tune_points *points, const struct atoll_point *point);
/* Enumerated: the point is legal and untried. */
int atoll_tune_points_untried(const struct atoll_tune_points *points, const struct atoll_point *point);
/* A legal point, tried or not; 0: none was found.  effort: what asking whether points are legal may still cost, in
 * questions; a draw takes its part of it, where points are rare far more than elsewhere, and is made while any is left. */
int atoll_tune_points_draw(const struct atoll_tune_points *points, struct atoll_random *random,
                           uint32_t *effort, struct atoll_point *ret_point);
/* The first legal point, or where none was found within the limits, a drawn one. */
int atoll_tune_points_first(const struct atoll_tune_points *points, struct atoll_point *ret_point);

#endif
