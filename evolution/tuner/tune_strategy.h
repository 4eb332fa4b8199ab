/* tune_strategy.h - the strategies of the tuner: a table, who is next, and the model that one of them keeps.
 * Layer: evolution, private to tune*.c.
 *
 * A strategy is a function of the trials and of the random stream.  Which one proposes is a bandit's choice: each has
 * a claim, the share of its recent proposals that became the best one, and the largest claim is served; what a claim
 * starts from is in the table.  Only the last WINDOW proposals count (sliding window: Garivier, Moulines,
 * Algorithmic Learning Theory 2011), for what is good at the start is not at the end. */
#ifndef ATOLL_EVOLUTION_TUNER_TUNE_STRATEGY_H
#define ATOLL_EVOLUTION_TUNER_TUNE_STRATEGY_H

#include "evolution/tuner/gp.h"
#include "evolution/tuner/tune_trials.h"

struct atoll_surrogate_row {
    uint32_t index; /* of a trial, or of a hint */
    uint8_t foreign;
    double noise;
};

/* The model: a Gaussian process over the trials, and where it expects the most improvement.  Create/destroy. */
struct atoll_surrogate *atoll_surrogate_create(const struct atoll_space *space, struct atoll_err *err);
void atoll_surrogate_destroy(struct atoll_surrogate *surrogate);
void atoll_surrogate_codec(const struct atoll_tune *tune, struct atoll_surrogate *surrogate,
                           struct atoll_codec *codec);

/* What the rows stand for, in their order: log times relative to the best, the slow ones drawn together; what
 * foreign rows take is relative to their own mean.  Returns the incumbent's, the least of our own. */
double atoll_surrogate_targets(const struct atoll_tune *tune, const struct atoll_surrogate_row *rows,
                               uint32_t count, struct atoll_gp_target *ret_targets);

/* 1: ret->point is available (ret->centre may be set); 0: it has none now; -1: MEMORY. */
typedef int atoll_tune_strategy_propose(struct atoll_tune *tune, struct atoll_random *random,
                                        struct atoll_trial *ret, struct atoll_err *err);

struct atoll_tune_strategy {
    const char *name;
    double claim; /* before it proposed anything */
    atoll_tune_strategy_propose *propose;
};

/* In the order of their numbers. */
extern const struct atoll_tune_strategy atoll_tune_strategies[ATOLL_TUNE_STRATEGIES];

/* ret_order: the strategies that are switched on, the one whose turn it is first.  Returns how many. */
size_t atoll_tune_bandit(const struct atoll_tune *tune, uint8_t ret_order[ATOLL_TUNE_STRATEGIES]);

atoll_tune_strategy_propose atoll_tune_random, atoll_tune_local, atoll_tune_genetic, atoll_tune_differential,
    atoll_tune_model;

#endif
