/* tune_state.h - what the parts of the tuner share: its trials, hints and legal points.
 * Layer: evolution, private to tune*.c. */
#ifndef ATOLL_EVOLUTION_TUNER_TUNE_STATE_H
#define ATOLL_EVOLUTION_TUNER_TUNE_STATE_H

#include "base/hash_index.h"
#include "evolution/tuner/tune.h"
#include "evolution/tuner/tune_points.h"

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
/* A trial's digits and numbers; loading marks the reader as failed where they cannot be. */
void atoll_trial_codec(const struct atoll_space *space, struct atoll_trial *trial, struct atoll_codec *codec);
int atoll_tune_append(struct atoll_tune *tune, const struct atoll_trial *trial, struct atoll_err *err);
int atoll_tune_append_hint(struct atoll_tune *tune, const struct atoll_trial *hint, struct atoll_err *err);

#endif
