/* gradient.h - what moving in behaviour space brought so far: the transition buffer and the three gradients
 * of one cell (ALGORITHMS.md 3; papers/000 3.3). Layer: evolution, pure.  Plain values. */
#ifndef ATOLL_EVOLUTION_POPULATION_GRADIENT_H
#define ATOLL_EVOLUTION_POPULATION_GRADIENT_H

#include "evolution/engine/codec.h"
#include "evolution/population/population.h"
#include "evolution/engine/individual.h"

#define ATOLL_TRANSITION_LIMIT       256 /* the last ones of a task */
#define ATOLL_DIMENSIONS             3   /* memory, algorithm, coordination */
#define ATOLL_GRADIENT_FITNESS_SHARE 0.4 /* of the combined one; papers/000 3.3, equation 4 */

#define ATOLL_NEUTRAL_FITNESS 0.01 /* a step that gains or loses less is neutral */

/* An improvement became an elite (papers/000 3.3) and is fitter than its parent: a slow candidate that was the first in
 * its cell says that the cell was empty, not that the way there pays. */
enum atoll_outcome {
    ATOLL_OUTCOME_IMPROVEMENT,
    ATOLL_OUTCOME_NEUTRAL,
    ATOLL_OUTCOME_REGRESSION,
    ATOLL_OUTCOME_COUNT
};

/* One parent -> child step. */
struct atoll_transition {
    uint8_t from, to; /* cells */
    uint8_t outcome;  /* enum atoll_outcome */
    double gain;      /* fitness of the child minus that of the parent */
    uint64_t when;    /* evaluations of the task then */
    uint32_t child;   /* individual */
};

/* A ring; the oldest goes first. */
struct atoll_transitions {
    struct atoll_transition items[ATOLL_TRANSITION_LIMIT];
    uint32_t count, next;
};

void atoll_transitions_add(struct atoll_transitions *t, const struct atoll_transition *transition);
/* The child of a step became an elite. */
void atoll_transitions_improved(struct atoll_transitions *t, uint32_t child);
void atoll_transitions_codec(struct atoll_transitions *t, struct atoll_codec *codec);

/* Per dimension; positive: higher levels are promising.  now: evaluations of the task. */
struct atoll_gradient {
    double fitness[ATOLL_DIMENSIONS];  /* mean of gain * direction, older ones weigh less */
    double rate[ATOLL_DIMENSIONS];     /* share of improvements upwards minus downwards */
    double explore[ATOLL_DIMENSIONS];  /* towards empty and weak cells, near ones first */
    double combined[ATOLL_DIMENSIONS]; /* 0.4, 0.4, 0.2 of the above */
};

/* Of every occupied cell of the island; zero for the others. */
void atoll_gradients_of(const struct atoll_transitions *transitions, uint64_t now,
                        const struct atoll_individuals *individuals, const struct atoll_island *island,
                        struct atoll_gradient ret_gradients[ATOLL_BEHAVIOUR_CELLS]);
/* Of one cell, at the cost of one. */
void atoll_gradient_of(const struct atoll_transitions *transitions, uint64_t now,
                       const struct atoll_individuals *individuals, const struct atoll_island *island,
                       unsigned cell, struct atoll_gradient *ret_gradient);
/* Euclidean length of the combined gradient. */
double atoll_gradient_magnitude(const struct atoll_gradient *g);

#endif
