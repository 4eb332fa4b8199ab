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
/* One pair.  MORE until a look decides; NOT_BETTER when the last look did not confirm.  Pairs behind a decision change the
 * ratio alone. */
enum atoll_comparison atoll_duel_score_add(struct atoll_duel_score *score, double log_ratio);
/* 1 while a final that is won does not tell by how much: half of the ratio's 95 % interval is wider than
 * ATOLL_DUEL_TOLD_WITHIN, and there were fewer than twice pair_limit pairs (docs/adr/0064). */
int atoll_duel_score_is_wide(const struct atoll_duel_score *score);

/* Balanced blocks, elite challenger | challenger elite: whether the challenger runs first in this pair (from 0), so
 * that what changes steadily over time falls on both sides alike. */
int atoll_duel_challenger_first(size_t pair);
/* ln(elite / challenger) of one pair over `count` bench variants; weights sum to 1, times in ns (below 1 count as 1). */
double atoll_duel_log_ratio(const double *weights, const double *elite_ns, const double *challenger_ns,
                            size_t count);

/* What was disturbed while a comparison went on.  Rounds are replaced by rule, on both sides and whatever they say: those
 * with a disturbed sample. */
struct atoll_duel_balance {
    unsigned samples, disturbed; /* of all rounds */
    unsigned rounds, replaced;   /* all; those that counted for nothing */
    /* Of rounds whose processor times are known, those that counted and those that did not: how many, and sums and squares
     * of ln(elite / challenger). */
    struct atoll_duel_own {
        unsigned count;
        double sum, squares;
    } kept, by_others;
};

/* One round; own_log_ratio: by processor time, NAN unknown.  1 when the round counts. */
int atoll_duel_balance_add(struct atoll_duel_balance *balance, unsigned samples, unsigned disturbed,
                           double own_log_ratio);

enum atoll_duel_fault {
    ATOLL_DUEL_FINE,
    ATOLL_DUEL_BUSY, /* more than half of the samples were disturbed, or rounds had to be replaced without end */
    ATOLL_DUEL_CHOSEN /* by the processor's own account the replaced rounds say something else than those that counted */
};
enum atoll_duel_fault atoll_duel_balance_fault(const struct atoll_duel_balance *balance, unsigned pair_limit);

/* 1 when the two sides of a pair had clocks, or paces, further apart than this share of the higher one (MEASUREMENT.md 3); 0
 * when one of them is not known (0). */
int atoll_duel_differ(double one, double other, double share);

#endif
