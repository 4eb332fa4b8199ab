/* tune_model.h - the surrogate: a Gaussian process over the trials, and where it expects the most improvement.
 * Layer: evolution, private to tune*.c.  Lifetime: create/destroy.
 *
 * At a refit the rows of the model, its kernel and a pool of candidates are chosen; from then on every new trial is one
 * more row, in the order of the trials, its target unknown until its result comes. So the model is a function of
 * what a refit chose (saved) and of the trials, and a loaded one goes on with the same bits. */
#ifndef ATOLL_EVOLUTION_TUNER_TUNE_MODEL_H
#define ATOLL_EVOLUTION_TUNER_TUNE_MODEL_H

#include "evolution/tuner/gp.h"
#include "evolution/tuner/tune_trials.h"

#define ATOLL_SURROGATE_POOL    1024
#define ATOLL_SURROGATE_CENTRES 8

struct atoll_surrogate_row {
    uint32_t index; /* of a trial, or of a hint */
    uint8_t foreign;
    double noise;
};

struct atoll_surrogate {
    /* chosen at a refit, saved */
    struct atoll_gp_kernel kernel;
    uint32_t known_trials, known_results, known_hints;
    struct atoll_random draw; /* of the pool */
    uint32_t centre_count;
    struct atoll_point centres[ATOLL_SURROGATE_CENTRES];
    uint32_t row_count; /* of the refit; then come the trials from known_trials on */
    struct atoll_surrogate_row rows[ATOLL_GP_ROW_LIMIT];
    /* derived */
    struct atoll_gp *gp;
    int is_built;
    uint32_t pool_count;
    struct atoll_point pool[ATOLL_SURROGATE_POOL];
    float means[ATOLL_SURROGATE_POOL], failures[ATOLL_SURROGATE_POOL];
    struct atoll_gp_weights weights[2]; /* log times, failures */
    struct atoll_gp_target targets[ATOLL_GP_ROW_LIMIT];
};

struct atoll_surrogate *atoll_surrogate_create(const struct atoll_space *space, struct atoll_err *err);
void atoll_surrogate_destroy(struct atoll_surrogate *surrogate);
void atoll_surrogate_codec(const struct atoll_tune *tune, struct atoll_surrogate *surrogate,
                           struct atoll_codec *codec);

/* What the rows stand for, in their order: log times relative to the best, the slow ones drawn together; what
 * foreign rows take is relative to their own mean.  Returns the incumbent's, the least of our own. */
double atoll_surrogate_targets(const struct atoll_tune *tune, const struct atoll_surrogate_row *rows,
                               uint32_t count, struct atoll_gp_target *ret_targets);

#endif
