/* fitness.h - from a verdict and times to a number in 0..1 (MEASUREMENT.md 8).  Layer: core, pure. */
#ifndef ATOLL_CORE_FITNESS_H
#define ATOLL_CORE_FITNESS_H

#include "core/verdict.h"

/* A floor that a correct kernel beats by more than this is wrong: more than its measurement may be off by. */
#define ATOLL_FLOOR_BEATEN_RATIO 1.05

/* The floor, or 0, unknown, where time_ns (of a correct kernel, 0 none) beats it.  No percent of a floor is shown, and
 * nothing decided by one, without this question. */
double atoll_floor_trusted_ns(double floor_ns, double time_ns);

enum atoll_fitness_form { ATOLL_FITNESS_LOG, ATOLL_FITNESS_CLIPPED };

/* time_ns, baseline_ns, floor_ns: weighted geometric means over the bench variants; floor_ns 0 = unknown, or
 * beaten by the time or the baseline (then a speedup of 100 stands in for the floor).  0 for what does not compile (bad_plan, forbidden,
 * compile_error), 0.1 for what compiles and is not correct, else 0.5 + 0.5 * log(speedup) / log(baseline /
 * floor) clamped to 0.5 * [0, 1] + 0.5; a kernel slower than its baseline gets 0.5.  CLIPPED: 0.5 + 0.5 *
 * min(1, speedup / 2), papers/000 3.1. */
double atoll_fitness(enum atoll_fitness_form form, enum atoll_verdict verdict, double time_ns,
                     double baseline_ns, double floor_ns);

#endif
