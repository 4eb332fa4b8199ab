/* rival_blocks.h - the score of a comparison between two processes, in alternating blocks of samples: pairs of blocks in, a
 * ratio with its interval out (docs/torch.md, "The final comparison").  It is no ABBA in one process: what differs between the
 * processes (memory, context) is part of the ratio.
 * Layer: mpi-eval, referee.  Pure.  The comparison itself is atoll_referee_rival_duel (rival.h). */
#ifndef ATOLL_MPI_EVAL_REFEREE_RIVAL_BLOCKS_H
#define ATOLL_MPI_EVAL_REFEREE_RIVAL_BLOCKS_H

#include "mpi-eval/referee/duel.h"

#define ATOLL_BLOCK_SAMPLE_LIMIT 16
#define ATOLL_BLOCK_PAIR_LEAST   6
#define ATOLL_BLOCK_CLOCK_APART  0.02
#define ATOLL_BLOCK_CLOCK_PAIRS                                                                              \
    2 /* so many pairs with clocks apart are repeated; from then on they count (docs/adr/0057) */

/* Samples of one side at one variant, one after the other. */
struct atoll_sample_block {
    size_t count; /* that nothing disturbed */
    double ns[ATOLL_BLOCK_SAMPLE_LIMIT];
    size_t clock_count;
    double clocks_hz[ATOLL_BLOCK_SAMPLE_LIMIT]; /* of the device during them, where it is known */
    size_t disturbed;
};

/* hz 0: not known. */
void atoll_sample_block_add(struct atoll_sample_block *block, double ns, double hz, int is_disturbed);
double atoll_sample_block_ns(const struct atoll_sample_block *block); /* median, 0 none */
double atoll_sample_block_hz(const struct atoll_sample_block *block); /* median, 0 not known */

/* Why a pair of blocks says nothing. */
enum atoll_pair_fault {
    ATOLL_PAIR_FINE,
    ATOLL_PAIR_DISTURBED, /* more than half of one of them */
    ATOLL_PAIR_CLOCKS     /* their clocks are further apart than ATOLL_BLOCK_CLOCK_APART */
};
enum atoll_pair_fault atoll_pair_fault_of(const struct atoll_sample_block *rival,
                                          const struct atoll_sample_block *best);
/* ln(rival / best) of a pair: by time, or, where their clocks are apart, the lower one of that and of the ratio by cycles. */
double atoll_pair_log_ratio(const struct atoll_sample_block *rival, const struct atoll_sample_block *best);

struct atoll_rival_score {
    unsigned pair_limit;
    double target; /* half width of the interval, relative to the ratio */
    size_t pair_count;
    double log_ratios[ATOLL_DUEL_PAIR_LIMIT]; /* ln(rival / best), weighted over bench variants */
    unsigned disturbed, clocks; /* pairs with that fault; all but the first ones with clocks apart count */
    double ratio, ratio_lo, ratio_hi; /* of all pairs that count; 1, 0, 0 before there are four */
};

enum atoll_rival_score_state {
    ATOLL_RIVAL_SCORE_MORE,
    ATOLL_RIVAL_SCORE_ENOUGH,  /* the interval is as narrow as asked for, or there were pair_limit pairs */
    ATOLL_RIVAL_SCORE_UNSTABLE /* more than half of the pairs do not count */
};

/* pair_limit: 0 = 16; at least ATOLL_BLOCK_PAIR_LEAST, at most ATOLL_DUEL_PAIR_LIMIT. */
void atoll_rival_score_init(struct atoll_rival_score *score, unsigned pair_limit, double target);
/* Pairs whose clocks were apart and that are not in log_ratios. */
unsigned atoll_rival_score_repeated(const struct atoll_rival_score *score);
/* One pair of blocks per bench variant, with the sum of their weighted log ratios and the worst fault among them. */
enum atoll_rival_score_state atoll_rival_score_add(struct atoll_rival_score *score, double log_ratio,
                                                   enum atoll_pair_fault fault);

#endif
