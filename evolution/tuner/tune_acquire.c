/* Targets, candidates, and the acquisition: expected improvement (Jones, Schonlau, Welch, J. Global Optimization 13,
 * 1998) times the probability of success (Gardner et al., ICML 2014), both by the same covariances. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "evolution/tuner/tune_model.h"

#define SLOW_QUANTILE 0.75 /* what is slower than this is of little interest: its exact time even less ... */
#define SLOW_SLOPE    0.1  /* ... so its distance counts by this much */
#define SUCCESS_LEAST 0.01 /* a point is never ruled out */
#define POOL_NEAR     (ATOLL_SURROGATE_POOL / 2) /* neighbours of the centres */
#define POOL_EFFORT   65536                      /* in questions whether a point is legal */
#define NEAR_VALUES   32                         /* up to so many values of a parameter are all neighbours */
#define CLIMB_ROUNDS  2    /* steps from the best of the pool, where the pool is not the whole space */
#define FAR_BELOW     -6.0 /* from here on the asymptotic form of the improvement is exact enough */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Where our own (foreign = 0) or the foreign exact rows start to be slow; their mean and least. */
struct place {
    double slow, mean, least;
};

static struct place place_of(const struct atoll_surrogate_row *rows, const struct atoll_gp_target *targets,
                             uint32_t count, int foreign)
{
    double values[ATOLL_GP_ROW_LIMIT], sum = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].foreign == foreign && targets[i].known == ATOLL_GP_EXACT)
            values[n++] = targets[i].value;
    if (!n)
        return (struct place){HUGE_VAL, 0, HUGE_VAL};
    qsort(values, n, sizeof *values, ascending);
    double slow = values[(uint32_t)(SLOW_QUANTILE * (n - 1))];
    for (uint32_t i = 0; i < n; i++)
        sum += values[i] > slow ? slow + SLOW_SLOPE * (values[i] - slow) : values[i];
    return (struct place){slow, sum / n, values[0]};
}

static const enum atoll_gp_known known_of_state[TRIAL_STATES] = {[TRIAL_PENDING] = ATOLL_GP_UNKNOWN,
                                                                 [TRIAL_CORRECT] = ATOLL_GP_EXACT,
                                                                 [TRIAL_FAILED] = ATOLL_GP_UNKNOWN,
                                                                 [TRIAL_CENSORED] = ATOLL_GP_AT_LEAST};

double atoll_surrogate_targets(const struct atoll_tune *tune, const struct atoll_surrogate_row *rows,
                               uint32_t count, struct atoll_gp_target *ret_targets)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct atoll_trial *of =
            rows[i].foreign ? &tune->hints[rows[i].index] : &tune->trials[rows[i].index];
        ret_targets[i].known = known_of_state[of->state];
        ret_targets[i].value = ret_targets[i].known == ATOLL_GP_UNKNOWN ? 0 : log(of->time_ns);
    }
    struct place ours = place_of(rows, ret_targets, count, 0), theirs = place_of(rows, ret_targets, count, 1);
    for (uint32_t i = 0; i < count; i++) {
        const struct place *p = rows[i].foreign ? &theirs : &ours;
        double *v = &ret_targets[i].value;
        if (*v > p->slow)
            *v = p->slow + SLOW_SLOPE * (*v - p->slow);
        *v -= rows[i].foreign ? theirs.mean : 0;
    }
    return ours.least;
}

static int wholly_in_pool(const struct atoll_tune *tune)
{
    return tune->points.enumerated && tune->points.legal_count <= ATOLL_SURROGATE_POOL;
}

/* As it was at the refit: not tried before it. */
static void offer(struct atoll_tune *tune, const struct atoll_point *point)
{
    struct atoll_surrogate *s = tune->surrogate;
    uint32_t trial = atoll_tune_find(tune, point);
    if (s->pool_count < ATOLL_SURROGATE_POOL && (trial == ATOLL_NONE || trial >= s->known_trials))
        s->pool[s->pool_count++] = *point;
}

/* One digit differs; in long lists of values by 1, 2, 4, 8, ... steps. */
static int is_neighbour(const struct atoll_tune *tune, const struct atoll_point *centre, size_t param,
                        size_t digit)
{
    size_t old = centre->digits[param], steps = digit > old ? digit - old : old - digit;
    return steps && (tune->space->params[param].value_count <= NEAR_VALUES || !(steps & (steps - 1)));
}

static void offer_neighbours(struct atoll_tune *tune, const struct atoll_point *centre)
{
    for (size_t i = 0; i < tune->space->count; i++)
        for (size_t digit = 0; digit < tune->space->params[i].value_count; digit++) {
            struct atoll_point point = *centre;
            point.digits[i] = (uint8_t)digit;
            if (is_neighbour(tune, centre, i, digit) && tune->surrogate->pool_count < POOL_NEAR &&
                atoll_tune_points_legal(&tune->points, &point))
                offer(tune, &point);
        }
}

/* Few points: all.  Many: what is near the centres, then legal points at random. */
void atoll_surrogate_fill_pool(struct atoll_tune *tune)
{
    struct atoll_surrogate *s = tune->surrogate;
    struct atoll_random draw = s->draw;
    uint32_t effort = POOL_EFFORT;
    s->pool_count = 0;
    if (wholly_in_pool(tune)) {
        for (uint32_t i = 0; i < tune->points.legal_count; i++)
            offer(tune, &tune->points.legal[i]);
        return;
    }
    for (uint32_t i = 0; i < s->centre_count; i++)
        offer_neighbours(tune, &s->centres[i]);
    for (uint32_t left = ATOLL_SURROGATE_POOL - s->pool_count; left > 0; left--) {
        struct atoll_point point;
        if (!atoll_tune_points_draw(&tune->points, &draw, &effort, &point))
            break;
        offer(tune, &point);
    }
}

struct scene {
    double incumbent, deviation; /* of the signal */
    double own;                  /* variance of what each point has for itself, in units of the signal's */
    int has_failures;
};

/* Log of the expected improvement: phi(z) + z Phi(z), which for small z is phi(z) / z^2. */
static double log_improvement(double z)
{
    static const double log_root_2pi = 0.91893853320467274;
    if (z < FAR_BELOW)
        return -0.5 * z * z - log_root_2pi - 2 * log(-z);
    return log(exp(-0.5 * z * z - log_root_2pi) + z * 0.5 * erfc(-z * sqrt(0.5)));
}

static double acquisition(const struct scene *scene, double mean, double variance, double failure)
{
    double sd = scene->deviation * sqrt(variance + scene->own);
    double gain = log(sd) + log_improvement((scene->incumbent - mean) / sd);
    return scene->has_failures ? gain + log(fmax(SUCCESS_LEAST, fmin(1, 1 - failure))) : gain;
}

static int any_failure(const struct atoll_tune *tune)
{
    for (uint32_t i = 0; i < tune->trial_count; i++)
        if (tune->trials[i].state == TRIAL_FAILED)
            return 1;
    return 0;
}

struct climb {
    struct atoll_point best;
    double value;
    int found;
};

static void consider(struct climb *c, const struct atoll_point *point, double value)
{
    if (c->found && !(value > c->value))
        return;
    c->best = *point;
    c->value = value;
    c->found = 1;
}

static void search_pool(struct atoll_tune *tune, const struct scene *scene, struct climb *c)
{
    struct atoll_surrogate *s = tune->surrogate;
    const float *variances = atoll_gp_pool_variances(s->gp);
    atoll_gp_pool_means(s->gp, &s->weights[0], s->means);
    if (scene->has_failures)
        atoll_gp_pool_means(s->gp, &s->weights[1], s->failures);
    for (uint32_t i = 0; i < s->pool_count; i++) {
        if (atoll_tune_find(tune, &s->pool[i]) != ATOLL_NONE)
            continue;
        double variance = variances[i] > 1e-6f ? (double)variances[i] : 1e-6;
        consider(c, &s->pool[i], acquisition(scene, s->means[i], variance, s->failures[i]));
    }
}

static void search_neighbours(struct atoll_tune *tune, const struct scene *scene,
                              const struct atoll_point *centre, size_t most_steps, struct climb *c)
{
    for (size_t i = 0; i < tune->space->count; i++)
        for (size_t digit = 0; digit < tune->space->params[i].value_count; digit++) {
            struct atoll_point point = *centre;
            size_t old = centre->digits[i];
            point.digits[i] = (uint8_t)digit;
            if (digit > old + most_steps || old > digit + most_steps ||
                !is_neighbour(tune, centre, i, digit) || !atoll_tune_available(tune, &point))
                continue;
            double means[2], variance;
            atoll_gp_predict(tune->surrogate->gp, &point, tune->surrogate->weights, 2, means, &variance);
            consider(c, &point, acquisition(scene, means[0], variance, means[1]));
        }
}

int atoll_surrogate_best(struct atoll_tune *tune, double incumbent, struct atoll_point *ret_point)
{
    const struct atoll_surrogate *s = tune->surrogate;
    struct scene scene = {incumbent, sqrt(s->weights[0].variance), atoll_gp_noise(s->gp), any_failure(tune)};
    struct climb c = {.found = 0};
    if (!(incumbent < HUGE_VAL))
        scene.incumbent = s->weights[0].mean;
    search_pool(tune, &scene, &c);
    if (!wholly_in_pool(tune)) {
        if (tune->best != ATOLL_NONE && tune->best >= s->known_trials)
            search_neighbours(tune, &scene, &tune->trials[tune->best].point, ATOLL_PLAN_VALUE_LIMIT, &c);
        for (int round = 0; round < CLIMB_ROUNDS && c.found; round++) {
            struct atoll_point centre = c.best;
            search_neighbours(tune, &scene, &centre, 1, &c);
        }
    }
    if (c.found)
        *ret_point = c.best;
    return c.found;
}
