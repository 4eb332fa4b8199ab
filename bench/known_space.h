/* known_space.h - what a task and its device would tell of recorded spaces that are known by the names of their files: which
 * combinations the shapes suggest (evolution/tuner/shape.h).
 * Layer: bench. */
#ifndef ATOLL_BENCH_KNOWN_SPACE_H
#define ATOLL_BENCH_KNOWN_SPACE_H

#include "bench/t4.h"
#include "evolution/tuner/shape_trials.h"

/* The cheapest first, at most limit; none for spaces that are not known.  -1: MEMORY. */
int atoll_known_space_trials(const struct atoll_t4 *t4, size_t limit,
                             struct atoll_choice ret_choices[ATOLL_SHAPE_LIMIT], size_t *ret_count,
                             struct atoll_err *err);

#endif
