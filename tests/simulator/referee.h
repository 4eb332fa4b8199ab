/* referee.h - what a measurement of a landscape says: true times with noise, a rank's speed and its drift; duels by the
 * real paired test.
 * Layer: tests.  Plain values. */
#ifndef ATOLL_TESTS_SIMULATOR_REFEREE_H
#define ATOLL_TESTS_SIMULATOR_REFEREE_H

#include "core/decision.h"
#include "core/event.h"
#include "base/random.h"
#include "tests/simulator/landscape.h"

/* What PyTorch makes of a task; three rivals each.  FAST: nearer to the optimum than most candidates come; SLOW: slower than the
 * seed; WRONG: the first misses the reference, the others are as FAST; FAILING: all of them raise. */
enum atoll_simulated_rivals {
    ATOLL_RIVALS_NONE,
    ATOLL_RIVALS_FAST,
    ATOLL_RIVALS_SLOW,
    ATOLL_RIVALS_WRONG,
    ATOLL_RIVALS_FAILING,
    ATOLL_RIVALS_COUNT
};

/* Sigmas are of the logarithm of a time. */
struct atoll_simulated_settings {
    double noise;      /* of a candidate's time, from one evaluation to the next; 0.01 */
    double pair_noise; /* of a pair of a duel; 0.01 */
    double spread;     /* of ranks' speeds; 0 */
    double drift;      /* of a rank's speed, per square root of an hour; 0 */
    double infrastructure, crash, wrong_duel, unstable; /* shares of answers; 0 */
    double check_ns;                                    /* of an evaluation, beside its samples; 2e8 */
    double samples;                                     /* of a candidate that is not raced away; 50 */
    enum atoll_simulated_rivals rivals;
    int wrong_origin; /* what a task comes with is wrong */
    int racing;       /* what is slower than 1.5 incumbents takes a tenth of the samples */
};

void atoll_simulated_defaults(struct atoll_simulated_settings *ret_settings);

/* A device. */
struct atoll_rank {
    double speed; /* times are multiplied by it */
    int64_t drifted_ns;
    int is_there;
    uint64_t busy; /* evaluation number, 0: free */
};

/* Its speed at a time; called with times that ascend. */
double atoll_rank_speed(const struct atoll_simulated_settings *s, struct atoll_rank *rank, int64_t now_ns,
                        struct atoll_random *random);

/* point NULL: the source is no point, its plan is bad.  Device time it takes is in occupied_ns. */
void atoll_simulated_evaluate(const struct atoll_simulated_settings *s, const struct atoll_landscape *l,
                              const struct atoll_decision *order, const struct atoll_landscape_point *point,
                              double speed, struct atoll_random *random,
                              struct atoll_evaluation *ret_evaluation);
/* elite NULL: the duel is with the rival. */
void atoll_simulated_duel(const struct atoll_simulated_settings *s, const struct atoll_landscape *l,
                          const struct atoll_decision *order, const struct atoll_landscape_point *challenger,
                          const struct atoll_landscape_point *elite, double speed,
                          struct atoll_random *random, struct atoll_duel *ret_duel);
void atoll_simulated_rival(const struct atoll_simulated_settings *s, const struct atoll_landscape *l,
                           const struct atoll_decision *order, double speed, struct atoll_random *random,
                           struct atoll_rival *ret_rival);

#endif
