/* tune_trials.h - what the parts of the tuner share: the legal points of its space, its trials and hints, its strategies.
 * Layer: evolution, private to tune*.c.  The space is borrowed.
 *
 * A space whose points a bounded search lists is enumerated: its points are kept, in the order of their digits, and
 * the untried ones in a list from which any goes in constant time; the order of that list is a function of the order
 * of the removals.  Of any other space points are drawn. */
#ifndef ATOLL_EVOLUTION_TUNER_TUNE_TRIALS_H
#define ATOLL_EVOLUTION_TUNER_TUNE_TRIALS_H

#include "base/err.h"
#include "base/hash_index.h"
#include "base/random.h"
#include "evolution/tuner/gp.h"
#include "evolution/tuner/space.h"
#include "evolution/tuner/tune.h"

struct atoll_tune_points {
    const struct atoll_space *space;
    int enumerated;
    uint32_t legal_count, untried_count;
    struct atoll_point *legal;
    uint32_t *untried;  /* positions in legal */
    uint32_t *position; /* of a legal point in untried; ATOLL_NONE: tried */
};

/* Lists the points where node_limit values suffice and there are at most point_limit; else the space stays as it is.
 * 0, or -1 for MEMORY. */
int atoll_tune_points_enumerate(struct atoll_tune_points *points, uint64_t node_limit, uint32_t point_limit,
                                struct atoll_err *err);

int atoll_tune_points_legal(const struct atoll_tune_points *points, const struct atoll_point *point);
/* Enumerated: marks a point as tried; what is not legal is ignored. */
void atoll_tune_points_remove(struct atoll_tune_points *points, const struct atoll_point *point);

/* A legal point, tried or not; 0: none was found.  effort: what asking whether points are legal may still cost, in
 * questions; a draw takes its part of it, where points are rare far more than elsewhere, and is made while any is left. */
int atoll_tune_points_draw(const struct atoll_tune_points *points, struct atoll_random *random,
                           uint32_t *effort, struct atoll_point *ret_point);
/* The first legal point, or where none was found within the limits, a drawn one. */
int atoll_tune_points_first(const struct atoll_tune_points *points, struct atoll_point *ret_point);

enum { TRIAL_PENDING, TRIAL_CORRECT, TRIAL_FAILED, TRIAL_CENSORED, TRIAL_STATES };

struct atoll_trial {
    struct atoll_point point;
    uint8_t state;
    uint8_t strategy; /* who proposed it: a row of the table; ATOLL_TUNE_STRATEGIES: nobody here */
    uint32_t centre;  /* trial it is a neighbour of; ATOLL_NONE: of none */
    double time_ns;   /* CENSORED: it takes longer than this */
    double lo_ns, hi_ns;
};

struct atoll_surrogate;

struct atoll_tune {
    const struct atoll_space *space;
    struct atoll_space own; /* of a plan, where no space was given */
    struct atoll_space_of_plan of;
    struct atoll_tune_settings settings;
    struct atoll_trial *trials;
    uint32_t trial_count, trial_capacity;
    struct atoll_index index; /* point -> trial */
    struct atoll_trial *hints;
    uint32_t hint_count, hint_capacity;
    struct atoll_point suggestions[ATOLL_TUNE_SUGGESTION_LIMIT];
    uint32_t suggestion_count;
    uint8_t has_suggestions;
    uint32_t best, climb; /* trials around which the local search looks */
    uint8_t exhausted, listed;
    struct atoll_tune_points points;
    struct atoll_surrogate *surrogate; /* NULL until it proposes */
};

/* ATOLL_NONE: not tried. */
uint32_t atoll_tune_find(const struct atoll_tune *tune, const struct atoll_point *point);
/* Legal and untried. */
int atoll_tune_available(const struct atoll_tune *tune, const struct atoll_point *point);
/* A random available point; 0: none was found. */
int atoll_tune_pick_random(const struct atoll_tune *tune, struct atoll_random *random,
                           struct atoll_point *ret_point);
/* The same as far as the effort goes (atoll_tune_points_draw): 0 does not say that there is none. */
int atoll_tune_draw(const struct atoll_tune *tune, struct atoll_random *random, uint32_t *effort,
                    struct atoll_point *ret_point);
/* An available point that differs from centre in one digit, by one step or (any) by any; from a random place on. */
int atoll_tune_pick_neighbour(const struct atoll_tune *tune, struct atoll_random *random,
                              const struct atoll_point *centre, int any, struct atoll_point *ret_point);
/* The fastest correct trials, fastest first; of equal ones the earlier. Returns how many, up to limit. */
uint32_t atoll_tune_fastest(const struct atoll_tune *tune, uint32_t limit, uint32_t *ret_trials);
/* A point's digits; a trial's digits and numbers; loading marks the reader as failed where they cannot be. */
void atoll_point_codec(const struct atoll_space *space, struct atoll_point *point, struct atoll_codec *codec);
void atoll_trial_codec(const struct atoll_space *space, struct atoll_trial *trial, struct atoll_codec *codec);
int atoll_tune_append(struct atoll_tune *tune, const struct atoll_trial *trial, struct atoll_err *err);
int atoll_tune_append_hint(struct atoll_tune *tune, const struct atoll_trial *hint, struct atoll_err *err);

/* ---- the strategies: a table, who is next, and the model that one of them keeps ----
 *
 * A strategy is a function of the trials and of the random stream.  Which one proposes is a bandit's choice: each has
 * a claim, the share of its recent proposals that became the best one, and the largest claim is served; what a claim
 * starts from is in the table.  Only the last WINDOW proposals count (sliding window: Garivier, Moulines,
 * Algorithmic Learning Theory 2011), for what is good at the start is not at the end. */

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
