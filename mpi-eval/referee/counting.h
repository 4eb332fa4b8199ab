/* counting.h - level 7: which correct candidates have their hardware counters read, and what an evaluation says of
 * where its kernel stands.  Layer: mpi-eval, referee.  Never part of a timed run; never changes a verdict. */
#ifndef ATOLL_MPI_EVAL_REFEREE_COUNTING_H
#define ATOLL_MPI_EVAL_REFEREE_COUNTING_H

#include "mpi-eval/referee/trial.h"

/* 1 when counters of a candidate are asked for.  incumbent_ns: of the elite of its cell, 0 = none; time_ns: its own.
 * Pure. */
int atoll_counting_wanted(const struct atoll_setup *setup, double incumbent_ns, double time_ns);

/* Completes evaluation->profile of a correct candidate, whose clocks are there already: static resources, counters at
 * `variant` where they are wanted and can be had (else the reason why not), limiter.  time_ns: its median there. */
void atoll_counting_run(struct atoll_referee *referee, struct atoll_case *known,
                        struct atoll_loaded_candidate *candidate, const struct atoll_order *order,
                        uint32_t variant, double time_ns, struct atoll_evaluation *evaluation);

#endif
