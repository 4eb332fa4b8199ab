/* tune_model.c - what a refit chooses, what the model's rows stand for, and the acquisition: expected improvement (Jones,
 * Schonlau, Welch, J. Global Optimization 13, 1998) times the probability of success (Gardner et al., ICML 2014), both by
 * the same covariances.
 *
 * At a refit the rows of the model, its kernel and a pool of candidates are chosen; from then on every new trial is one more
 * row, in the order of the trials, its target unknown until its result comes.  So the model is a function of what a refit
 * chose (saved) and of the trials, and a loaded one goes on with the same bits.
 *
 * Order of a refit's rows: hints, results, failures, pending ones, so that what is unknown is believed to be what
 * everything known predicts.  Where there are more trials than rows: the fastest, the latest, and a spread of the others. */
#include "evolution/tuner/tune_trials.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "evolution/tuner/gp.h"

#define POOL_LIMIT    1024
#define CENTRE_LIMIT  8
#define SLOW_QUANTILE 0.75 /* what is slower than this is of little interest: its exact time even less ... */
#define SLOW_SLOPE    0.1  /* ... so its distance counts by this much */
#define SUCCESS_LEAST 0.01 /* a point is never ruled out */
#define POOL_NEAR     (POOL_LIMIT / 2) /* neighbours of the centres */
#define POOL_EFFORT   65536            /* in questions whether a point is legal */
#define NEAR_VALUES   32               /* up to so many values of a parameter are all neighbours */
#define CLIMB_ROUNDS  2    /* steps from the best of the pool, where the pool is not the whole space */
#define FAR_BELOW     -6.0 /* from here on the asymptotic form of the improvement is exact enough */
#define REFIT_SHARE   6    /* a refit when the results have grown by this part ... */
#define REFIT_AT_MOST 24   /* ... or by so many */
#define ROWS_FASTEST  64
#define ROWS_LATEST   32
#define ROWS_RESULTS  128
#define ROWS_FAILED   24
#define ROWS_PENDING  24
#define ROWS_HINTS    32 /* half of them the fastest */
#define CENTRE_HINTS  2
#define NOISE_MOST    1.0
#define INTERVAL_SDS  3.92 /* width of a 95 % interval */
#define RESULTS_MIN   3    /* correct ones, before anything can be modelled */

struct atoll_surrogate {
    /* chosen at a refit, saved */
    struct atoll_gp_kernel kernel;
    uint32_t known_trials, known_results, known_hints;
    struct atoll_random draw; /* of the pool */
    uint32_t centre_count;
    struct atoll_point centres[CENTRE_LIMIT];
    uint32_t row_count; /* of the refit; then come the trials from known_trials on */
    struct atoll_surrogate_row rows[ATOLL_GP_ROW_LIMIT];
    /* derived */
    struct atoll_gp *gp;
    int is_built;
    uint32_t pool_count;
    struct atoll_point pool[POOL_LIMIT];
    float means[POOL_LIMIT], failures[POOL_LIMIT];
    struct atoll_gp_weights weights[2]; /* log times, failures */
    struct atoll_gp_target targets[ATOLL_GP_ROW_LIMIT];
};

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Where our own (foreign = 0) or the foreign exact rows start to be slow; their mean and least. */
struct target_range {
    double slow, mean, least;
};

static struct target_range range_of(const struct atoll_surrogate_row *rows,
                                    const struct atoll_gp_target *targets, uint32_t count, int foreign)
{
    double values[ATOLL_GP_ROW_LIMIT], sum = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].foreign == foreign && targets[i].known == ATOLL_GP_EXACT)
            values[n++] = targets[i].value;
    if (!n)
        return (struct target_range){HUGE_VAL, 0, HUGE_VAL};
    qsort(values, n, sizeof(*values), ascending);
    double slow = values[(uint32_t)(SLOW_QUANTILE * (n - 1))];
    for (uint32_t i = 0; i < n; i++)
        sum += values[i] > slow ? slow + SLOW_SLOPE * (values[i] - slow) : values[i];
    return (struct target_range){slow, sum / n, values[0]};
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
    struct target_range ours = range_of(rows, ret_targets, count, 0),
                        theirs = range_of(rows, ret_targets, count, 1);
    for (uint32_t i = 0; i < count; i++) {
        const struct target_range *p = rows[i].foreign ? &theirs : &ours;
        double *v = &ret_targets[i].value;
        if (*v > p->slow)
            *v = p->slow + SLOW_SLOPE * (*v - p->slow);
        *v -= rows[i].foreign ? theirs.mean : 0;
    }
    return ours.least;
}

static int wholly_in_pool(const struct atoll_tune *tune)
{
    return tune->points.enumerated && tune->points.legal_count <= POOL_LIMIT;
}

/* As it was at the refit: not tried before it. */
static void offer(struct atoll_tune *tune, const struct atoll_point *point)
{
    struct atoll_surrogate *s = tune->surrogate;
    uint32_t trial = atoll_tune_find(tune, point);
    if (s->pool_count < POOL_LIMIT && (trial == ATOLL_NONE || trial >= s->known_trials))
        s->pool[s->pool_count++] = *point;
}

/* One digit differs; in long lists of values by 1, 2, 4, 8, ... steps. */
static int is_neighbour(const struct atoll_tune *tune, const struct atoll_point *centre, size_t param,
                        size_t digit)
{
    size_t old = centre->digits[param], steps = digit > old ? digit - old : old - digit;
    return steps && (tune->space->params[param].value_count <= NEAR_VALUES || !(steps & (steps - 1)));
}

/* Few points: all.  Many: what is near the centres, then legal points at random. */
static void fill_pool(struct atoll_tune *tune)
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
    for (uint32_t i = 0; i < s->centre_count; i++) {
        for (size_t p = 0; p < tune->space->count; p++) {
            for (size_t digit = 0; digit < tune->space->params[p].value_count; digit++) {
                struct atoll_point point = s->centres[i];
                point.digits[p] = (uint8_t)digit;
                if (is_neighbour(tune, &s->centres[i], p, digit) && s->pool_count < POOL_NEAR &&
                    atoll_tune_points_legal(&tune->points, &point)) {
                    offer(tune, &point);
                }
            }
        }
    }
    for (uint32_t left = POOL_LIMIT - s->pool_count; left > 0; left--) {
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
    for (size_t i = 0; i < tune->space->count; i++) {
        for (size_t digit = 0; digit < tune->space->params[i].value_count; digit++) {
            struct atoll_point point = *centre;
            size_t old = centre->digits[i];
            point.digits[i] = (uint8_t)digit;
            if (digit > old + most_steps || old > digit + most_steps ||
                !is_neighbour(tune, centre, i, digit) || !atoll_tune_available(tune, &point)) {
                continue;
            }
            double means[2], variance;
            atoll_gp_predict(tune->surrogate->gp, &point, tune->surrogate->weights, 2, means, &variance);
            consider(c, &point, acquisition(scene, means[0], variance, means[1]));
        }
    }
}

static int best_candidate(struct atoll_tune *tune, double incumbent, struct atoll_point *ret_point)
{
    const struct atoll_surrogate *s = tune->surrogate;
    struct scene scene = {incumbent, sqrt(s->weights[0].variance), atoll_gp_noise(s->gp), 0};
    for (uint32_t i = 0; i < tune->trial_count; i++)
        scene.has_failures |= tune->trials[i].state == TRIAL_FAILED;
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

static uint32_t count_results(const struct atoll_tune *tune)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < tune->trial_count; i++)
        count += tune->trials[i].state != TRIAL_PENDING;
    return count;
}

static int refit_is_due(const struct atoll_tune *tune)
{
    const struct atoll_surrogate *s = tune->surrogate;
    uint32_t results = count_results(tune), step = s->known_results / REFIT_SHARE;
    step = step > REFIT_AT_MOST ? REFIT_AT_MOST : step ? step : 1;
    return results >= s->known_results + step || s->known_hints != tune->hint_count ||
           s->row_count + tune->trial_count - s->known_trials > ATOLL_GP_ROW_LIMIT;
}

struct ranked {
    double time_ns;
    uint32_t index;
};

static int by_time(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static int by_index(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Of count sorted by time: keeps `fastest`, then `latest` by index, then evenly spread ones, `limit` in all. */
static uint32_t thin(struct ranked *r, uint32_t count, uint32_t fastest, uint32_t latest, uint32_t limit)
{
    if (count <= limit)
        return count;
    qsort(r + fastest, count - fastest, sizeof(*r), by_index);
    uint32_t kept = fastest, spread = limit - fastest - latest, middle = count - fastest - latest;
    for (uint32_t i = 0; i < spread; i++)
        r[kept++] = r[fastest + (uint32_t)((uint64_t)i * middle / spread)];
    memmove(r + kept, r + count - latest, latest * sizeof(*r));
    return kept + latest;
}

static void push(struct atoll_surrogate *s, uint32_t index, int foreign)
{
    s->rows[s->row_count++] = (struct atoll_surrogate_row){.index = index, .foreign = (uint8_t)foreign};
}

/* Rows of what has a time; ranked has room for all. */
static void push_timed(struct atoll_surrogate *s, struct ranked *ranked, const struct atoll_trial *trials,
                       uint32_t count, int foreign)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (trials[i].state == TRIAL_CORRECT || trials[i].state == TRIAL_CENSORED)
            ranked[kept++] = (struct ranked){trials[i].time_ns, i};
    qsort(ranked, kept, sizeof(*ranked), by_time);
    kept = foreign ? thin(ranked, kept, ROWS_HINTS / 2, 0, ROWS_HINTS)
                   : thin(ranked, kept, ROWS_FASTEST, ROWS_LATEST, ROWS_RESULTS);
    qsort(ranked, kept, sizeof(*ranked), by_index);
    for (uint32_t i = 0; i < kept; i++)
        push(s, ranked[i].index, foreign);
}

/* The latest of a state, in their order. */
static void push_latest(struct atoll_surrogate *s, const struct atoll_tune *tune, uint8_t state,
                        uint32_t limit)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < tune->trial_count; i++)
        count += tune->trials[i].state == state;
    for (uint32_t i = 0; i < tune->trial_count; i++)
        if (tune->trials[i].state == state && count-- <= limit)
            push(s, i, 0);
}

/* Our own rows', of their targets. */
static double spread_of(const struct atoll_surrogate *s, const struct atoll_gp_target *targets)
{
    double sum = 0, squares = 0, count = 0;
    for (uint32_t i = 0; i < s->row_count; i++) {
        if (!s->rows[i].foreign && targets[i].known == ATOLL_GP_EXACT) {
            sum += targets[i].value;
            squares += targets[i].value * targets[i].value;
            count++;
        }
    }
    return count > 1 ? squares / count - sum / count * (sum / count) : 0;
}

static void fit(struct atoll_tune *tune, const struct atoll_gp_target *targets)
{
    struct atoll_surrogate *s = tune->surrogate;
    struct atoll_gp_row rows[ATOLL_GP_FIT_LIMIT];
    double values[ATOLL_GP_FIT_LIMIT];
    uint32_t count = 0, exact = 0, n = 0;
    for (uint32_t i = 0; i < s->row_count; i++)
        exact += targets[i].known == ATOLL_GP_EXACT;
    uint32_t stride = exact > ATOLL_GP_FIT_LIMIT ? (exact + ATOLL_GP_FIT_LIMIT - 1) / ATOLL_GP_FIT_LIMIT : 1;
    for (uint32_t i = 0; i < s->row_count; i++) {
        const struct atoll_surrogate_row *row = &s->rows[i];
        if (targets[i].known != ATOLL_GP_EXACT || n++ % stride)
            continue;
        const struct atoll_trial *of = row->foreign ? &tune->hints[row->index] : &tune->trials[row->index];
        rows[count] = (struct atoll_gp_row){of->point, row->noise, row->foreign};
        values[count++] = targets[i].value;
    }
    atoll_gp_fit(s->gp, rows, values, count, &s->kernel);
}

static void choose_centres(struct atoll_tune *tune)
{
    struct atoll_surrogate *s = tune->surrogate;
    uint32_t fastest[CENTRE_LIMIT];
    uint32_t count = atoll_tune_fastest(tune, CENTRE_LIMIT - CENTRE_HINTS, fastest);
    s->centre_count = 0;
    for (uint32_t i = 0; i < count; i++)
        s->centres[s->centre_count++] = tune->trials[fastest[i]].point;
    double above = 0; /* the fastest hint, then the next one */
    for (uint32_t k = 0; k < CENTRE_HINTS; k++) {
        const struct atoll_trial *next = NULL;
        for (uint32_t i = 0; i < tune->hint_count; i++) {
            if (tune->hints[i].state == TRIAL_CORRECT && tune->hints[i].time_ns > above &&
                (!next || tune->hints[i].time_ns < next->time_ns)) {
                next = &tune->hints[i];
            }
        }
        if (!next)
            break;
        above = next->time_ns;
        s->centres[s->centre_count++] = next->point;
    }
}

static int refit(struct atoll_tune *tune, struct atoll_random *random, struct atoll_err *err)
{
    struct atoll_surrogate *s = tune->surrogate;
    struct atoll_gp_target targets[ATOLL_GP_ROW_LIMIT];
    uint32_t most = tune->hint_count > tune->trial_count ? tune->hint_count : tune->trial_count;
    struct ranked *ranked = malloc(most * sizeof(*ranked));
    if (!ranked)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a model of a template's times");
    s->known_trials = tune->trial_count;
    s->known_results = count_results(tune);
    s->known_hints = tune->hint_count;
    s->draw = (struct atoll_random){atoll_random_next(random), 0};
    s->row_count = 0;
    s->is_built = 0;
    push_timed(s, ranked, tune->hints, tune->hint_count, 1);
    push_timed(s, ranked, tune->trials, tune->trial_count, 0);
    free(ranked);
    push_latest(s, tune, TRIAL_FAILED, ROWS_FAILED);
    push_latest(s, tune, TRIAL_PENDING, ROWS_PENDING);
    atoll_surrogate_targets(tune, s->rows, s->row_count, targets);
    double variance = spread_of(s, targets);
    for (uint32_t i = 0; i < s->row_count; i++) {
        struct atoll_surrogate_row *row = &s->rows[i];
        const struct atoll_trial *of = row->foreign ? &tune->hints[row->index] : &tune->trials[row->index];
        double sd = of->lo_ns > 0 ? log(of->hi_ns / of->lo_ns) / INTERVAL_SDS : 0;
        row->noise = of->lo_ns > 0 && variance > 0 ? fmin(sd * sd / variance, NOISE_MOST) : 0;
    }
    fit(tune, targets);
    choose_centres(tune);
    return 0;
}

struct atoll_surrogate *atoll_surrogate_create(const struct atoll_space *space, struct atoll_err *err)
{
    struct atoll_surrogate *s = calloc(1, sizeof(*s));
    if (!s) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a model of a template's times");
        return NULL;
    }
    s->kernel = atoll_gp_kernel_default();
    s->gp = atoll_gp_create(space, err);
    if (!s->gp) {
        free(s);
        return NULL;
    }
    return s;
}

void atoll_surrogate_destroy(struct atoll_surrogate *surrogate)
{
    if (!surrogate)
        return;
    atoll_gp_destroy(surrogate->gp);
    free(surrogate);
}

/* The trials since the refit follow its rows. */
static struct atoll_surrogate_row row_at(const struct atoll_surrogate *s, uint32_t at)
{
    if (at < s->row_count)
        return s->rows[at];
    return (struct atoll_surrogate_row){.index = s->known_trials + at - s->row_count};
}

static uint32_t rows_now(const struct atoll_tune *tune)
{
    const struct atoll_surrogate *s = tune->surrogate;
    return s->row_count + tune->trial_count - s->known_trials;
}

static int build(struct atoll_tune *tune, struct atoll_err *err)
{
    struct atoll_surrogate *s = tune->surrogate;
    if (!s->is_built) {
        fill_pool(tune);
        if (atoll_gp_reset(s->gp, &s->kernel, s->pool, s->pool_count, err))
            return -1;
        s->is_built = 1;
    }
    for (uint32_t i = (uint32_t)atoll_gp_row_count(s->gp); i < rows_now(tune); i++) {
        struct atoll_surrogate_row row = row_at(s, i);
        const struct atoll_trial *of = row.foreign ? &tune->hints[row.index] : &tune->trials[row.index];
        atoll_gp_append(s->gp, &(struct atoll_gp_row){of->point, row.noise, row.foreign});
    }
    return 0;
}

/* A failure is 1, anything that ran is 0, what is pending is unknown; without failures nothing is asked. */
static void solve_failures(struct atoll_tune *tune, const struct atoll_surrogate_row *rows, uint32_t count)
{
    static const double none = 0;
    struct atoll_gp_target targets[ATOLL_GP_ROW_LIMIT] = {{0}};
    for (uint32_t i = 0; i < count; i++) {
        uint8_t state = rows[i].foreign ? TRIAL_PENDING : tune->trials[rows[i].index].state;
        targets[i].value = state == TRIAL_FAILED;
        targets[i].known = state == TRIAL_PENDING ? ATOLL_GP_UNKNOWN : ATOLL_GP_EXACT;
    }
    atoll_gp_solve(tune->surrogate->gp, targets, &none, &tune->surrogate->weights[1]);
}

int atoll_tune_model(struct atoll_tune *tune, struct atoll_random *random, struct atoll_trial *ret,
                     struct atoll_err *err)
{
    struct atoll_surrogate_row rows[ATOLL_GP_ROW_LIMIT] = {{0}};
    uint32_t correct = 0;
    for (uint32_t i = 0; i < tune->trial_count; i++)
        correct += tune->trials[i].state == TRIAL_CORRECT;
    if (correct < (tune->hint_count ? 1 : RESULTS_MIN))
        return 0;
    if (!tune->surrogate) {
        tune->surrogate = atoll_surrogate_create(tune->space, err);
        if (!tune->surrogate)
            return -1;
    }
    if (refit_is_due(tune) && refit(tune, random, err))
        return -1;
    if (build(tune, err))
        return -1;
    struct atoll_surrogate *s = tune->surrogate;
    uint32_t count = rows_now(tune);
    for (uint32_t i = 0; i < count; i++)
        rows[i] = row_at(s, i);
    double incumbent = atoll_surrogate_targets(tune, rows, count, s->targets);
    atoll_gp_solve(s->gp, s->targets, NULL, &s->weights[0]);
    solve_failures(tune, rows, count);
    return best_candidate(tune, incumbent, &ret->point);
}

void atoll_surrogate_codec(const struct atoll_tune *tune, struct atoll_surrogate *s,
                           struct atoll_codec *codec)
{
    for (size_t i = 0; i < ATOLL_SPACE_BYTES; i++)
        atoll_codec_u8(codec, &s->kernel.scale[i]);
    atoll_codec_u8(codec, &s->kernel.noise);
    atoll_codec_u8(codec, &s->kernel.texture);
    atoll_codec_u8(codec, &s->kernel.transfer);
    if (codec->in && !atoll_gp_kernel_valid(&s->kernel))
        codec->in->failed = 1;
    atoll_codec_u32(codec, &s->known_trials);
    atoll_codec_u32(codec, &s->known_results);
    atoll_codec_u32(codec, &s->known_hints);
    atoll_codec_random(codec, &s->draw);
    atoll_codec_u32(codec, &s->centre_count);
    atoll_codec_u32(codec, &s->row_count);
    if (codec->in && (s->centre_count > CENTRE_LIMIT || s->known_trials > tune->trial_count ||
                      s->row_count > ATOLL_GP_ROW_LIMIT)) {
        codec->in->failed = 1;
        return;
    }
    for (uint32_t i = 0; i < s->centre_count; i++)
        atoll_point_codec(tune->space, &s->centres[i], codec);
    for (uint32_t i = 0; i < s->row_count; i++) {
        struct atoll_surrogate_row *row = &s->rows[i];
        atoll_codec_u32(codec, &row->index);
        atoll_codec_u8(codec, &row->foreign);
        atoll_codec_f64(codec, &row->noise);
        if (codec->in &&
            (row->foreign > 1 || row->index >= (row->foreign ? tune->hint_count : tune->trial_count) ||
             !(row->noise >= 0) || !isfinite(row->noise))) {
            codec->in->failed = 1;
        }
    }
}
