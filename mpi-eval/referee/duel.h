/* duel.h - the score of an interleaved comparison: balanced pairs in, a decision at the planned looks out (MEASUREMENT.md 5).
 * Layer: mpi-eval, referee.  Pure.  The match itself is atoll_referee_duel (referee.h); the test is in core/stats.h. */
#ifndef ATOLL_MPI_EVAL_REFEREE_DUEL_H
#define ATOLL_MPI_EVAL_REFEREE_DUEL_H

#include "core/evaluation.h"
#include "core/stats.h"

#define ATOLL_DUEL_PAIR_LIMIT 64
#define ATOLL_DUEL_LOOK_LIMIT 4

struct atoll_duel_score {
    struct atoll_paired_test test;
    unsigned pair_limit;
    unsigned look_pairs[ATOLL_DUEL_LOOK_LIMIT]; /* planned looks: after that many pairs */
    size_t pair_count;
    double log_ratios[ATOLL_DUEL_PAIR_LIMIT]; /* ln(elite / challenger), weighted over bench variants */
    double p_value, ratio;
    enum atoll_comparison state;
};

/* Looks after 6, 10 and 16 pairs, as far as pair_limit (0 = 16) goes; the last look is at pair_limit. */
void atoll_duel_score_init(struct atoll_duel_score *score, double margin, double alpha, unsigned pair_limit);
/* One pair.  MORE until a look decides; NOT_BETTER when the last look did not confirm. */
enum atoll_comparison atoll_duel_score_add(struct atoll_duel_score *score, double log_ratio);

/* Balanced blocks, elite challenger | challenger elite: whether the challenger runs first in this pair (from 0), so
 * that what changes steadily over time falls on both sides alike. */
int atoll_duel_challenger_first(size_t pair);
/* ln(elite / challenger) of one pair over `count` bench variants; weights sum to 1, times in ns (below 1 count as 1). */
double atoll_duel_log_ratio(const double *weights, const double *elite_ns, const double *challenger_ns,
                            size_t count);

/* 1 when the device ran the two sides of a pair at clocks more than 2 % apart (MEASUREMENT.md 3); 0 when one of
 * them is not known (0). */
int atoll_duel_clocks_differ(double one_hz, double other_hz);

#endif
