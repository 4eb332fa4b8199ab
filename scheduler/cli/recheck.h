/* recheck.h - measures a baseline against a best kernel again: this process, fresh secret, fresh draws.
 * Layer: scheduler.  Blocking. */
#ifndef ATOLL_SCHEDULER_CLI_RECHECK_H
#define ATOLL_SCHEDULER_CLI_RECHECK_H

#include "scheduler/doctor/calibrate_device.h"

/* One side: source text (with its plan) and "NAME=VALUE NAME=VALUE" choice text, both borrowed. */
struct atoll_recheck_side {
    const char *language, *source;
    struct atoll_choice choice;
};

/* Compiles both, checks both on all check, bench and hidden variants with draws nobody has seen, and times
 * them interleaved. -1 when a side is refused or does not compile (err says which and why). */
int atoll_recheck(struct atoll_bench_device *device, uint32_t task_number, const struct atoll_task *task,
                  const struct atoll_recheck_side *baseline, const struct atoll_recheck_side *best,
                  struct atoll_duel *ret_duel, struct atoll_err *err);

#endif
