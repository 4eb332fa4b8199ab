/* tune_start.h - the first trials of a tuner: the best hints, then points far from what was tried.
 * Layer: evolution, private to tune*.c. */
#ifndef ATOLL_EVOLUTION_TUNER_TUNE_START_H
#define ATOLL_EVOLUTION_TUNER_TUNE_START_H

#include "evolution/tuner/tune_state.h"

/* 0: the start is over, or nothing was found. */
int atoll_tune_start(const struct atoll_tune *tune, struct atoll_random *random,
                     struct atoll_point *ret_point);

#endif
