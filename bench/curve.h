/* curve.h - best-so-far curves of repeated searches of one recorded space, and the score of the community's methodology:
 * Willemsen, Schoonhoven, Filipovic, Tornede, van Nieuwpoort, van Werkhoven: "A methodology for comparing optimization
 * algorithms for auto-tuning", FGCS 159 (2024), over evaluations; its software (autotuning_methodology) settles details.
 * Layer: bench.  Pure. */
#ifndef ATOLL_BENCH_CURVE_H
#define ATOLL_BENCH_CURVE_H

#include "bench/t4.h"

/* What random search without replacement is expected to find: of the valid times alone, as the methodology has it. */
struct atoll_baseline {
    size_t count;
    double *times; /* ascending, ns */
};

/* best[run * budget + i]: the least time after evaluation i + 1; INFINITY until one was valid. */
struct atoll_curves {
    size_t runs, budget;
    double *best;
};

int atoll_baseline_init(struct atoll_baseline *baseline, const struct atoll_t4 *t4, struct atoll_err *err);
void atoll_baseline_fini(struct atoll_baseline *baseline);
/* Of the best of `evaluations` draws, 1 and more: the valid time at its expected rank, (N + 1) / (evaluations + 1) from
 * the best. */
double atoll_baseline_at(const struct atoll_baseline *baseline, size_t evaluations);

/* All INFINITY. */
int atoll_curves_init(struct atoll_curves *curves, size_t runs, size_t budget, struct atoll_err *err);
void atoll_curves_fini(struct atoll_curves *curves);
/* From this evaluation, 1 and more, on a run's best is time_ns. */
void atoll_curves_set(struct atoll_curves *curves, size_t run, size_t evaluation, double time_ns);

/* Quantile over the runs after `evaluation`, by rank among the valid times; a run without a valid one counts as the
 * worst of them. */
double atoll_curves_quantile(const struct atoll_curves *curves, const struct atoll_baseline *baseline,
                             size_t evaluation, double quantile);
/* The mean over evaluations 1..budget of (random - median) / (random - optimum): 0 as random search, 1 the optimum at
 * once.  Evaluations where random search is expected to have the optimum do not count. */
double atoll_curves_score(const struct atoll_curves *curves, const struct atoll_baseline *baseline,
                          size_t budget);
/* Standard error of the score: over `resamples` draws of the runs with replacement.  -1: MEMORY. */
int atoll_curves_score_error(const struct atoll_curves *curves, const struct atoll_baseline *baseline,
                             size_t budget, size_t resamples, double *ret_error, struct atoll_err *err);

#endif
