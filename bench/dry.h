/* dry.h - what of an evaluation needs no device: plan, rules, compilation, and what the image says of itself.
 * Layer: bench. */
#ifndef ATOLL_BENCH_DRY_H
#define ATOLL_BENCH_DRY_H

#include "bench/mix.h"

/* Compiles all candidates for the target ("sm_90a"), `slots` at a time, and prints what came of them and what it took.
 * 0: broken ones did not compile and all others did; 1: not so; -1 with err. */
int atoll_dry_run(const struct atoll_mix_tasks *tasks, const struct atoll_mix_candidate *candidates,
                  size_t count, const char *target, unsigned slots, struct atoll_err *err);

#endif
