/* rival.h - what bench/search_quality.py recorded of other tuners' strategies on one space: the curves of their runs.
 * Layer: bench.  Hostile input. */
#ifndef ATOLL_BENCH_RIVAL_H
#define ATOLL_BENCH_RIVAL_H

#include "bench/curve.h"

#define ATOLL_RIVAL_LIMIT 64

struct atoll_tuner_rival {
    char name[48];
    struct atoll_curves curves; /* no runs: it could not run, the note says why */
    size_t least_evaluations;   /* of its runs; below the budget: it stopped early */
    double seconds;             /* processor time of all runs */
    char note[160];
};

struct atoll_tuner_rivals {
    char space[64], versions[256];
    size_t count;
    struct atoll_tuner_rival list[ATOLL_RIVAL_LIMIT];
};

/* unit_ns: of the file's times.  budget: evaluations that are wanted; INPUT when the file has fewer. */
struct atoll_tuner_rivals *atoll_tuner_rivals_load(const char *path, double unit_ns, size_t budget,
                                                   struct atoll_err *err);
void atoll_tuner_rivals_destroy(struct atoll_tuner_rivals *rivals);

#endif
