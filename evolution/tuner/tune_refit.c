/* What a refit chooses.  Order of the rows: hints, results, failures, pending ones, so that what is unknown is believed
 * to be what everything known predicts.  Where there are more trials than rows: the fastest, the latest, and a
 * spread of the others. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "evolution/tuner/tune_model.h"

#define REFIT_SHARE   6  /* a refit when the results have grown by this part ... */
#define REFIT_AT_MOST 24 /* ... or by so many */
#define ROWS_FASTEST  64
#define ROWS_LATEST   32
#define ROWS_RESULTS  128
#define ROWS_FAILED   24
#define ROWS_PENDING  24
#define ROWS_HINTS    32 /* half of them the fastest */
#define CENTRE_HINTS  2
#define NOISE_MOST    1.0
#define INTERVAL_SDS  3.92 /* width of a 95 % interval */

static int is_timed(const struct atoll_trial *t)
{
    return t->state == TRIAL_CORRECT || t->state == TRIAL_CENSORED;
}

static uint32_t count_results(const struct atoll_tune *tune)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < tune->trial_count; i++)
        count += tune->trials[i].state != TRIAL_PENDING;
    return count;
}

int atoll_surrogate_due(const struct atoll_tune *tune)
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
    qsort(r + fastest, count - fastest, sizeof *r, by_index);
    uint32_t kept = fastest, spread = limit - fastest - latest, middle = count - fastest - latest;
    for (uint32_t i = 0; i < spread; i++)
        r[kept++] = r[fastest + (uint32_t)((uint64_t)i * middle / spread)];
    memmove(r + kept, r + count - latest, latest * sizeof *r);
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
        if (is_timed(&trials[i]))
            ranked[kept++] = (struct ranked){trials[i].time_ns, i};
    qsort(ranked, kept, sizeof *ranked, by_time);
    kept = foreign ? thin(ranked, kept, ROWS_HINTS / 2, 0, ROWS_HINTS)
                   : thin(ranked, kept, ROWS_FASTEST, ROWS_LATEST, ROWS_RESULTS);
    qsort(ranked, kept, sizeof *ranked, by_index);
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

static double noise_of(const struct atoll_trial *trial, double variance)
{
    if (!(trial->lo_ns > 0) || !(variance > 0))
        return 0;
    double sd = log(trial->hi_ns / trial->lo_ns) / INTERVAL_SDS;
    return fmin(sd * sd / variance, NOISE_MOST);
}

/* Our own rows', of their targets. */
static double spread_of(const struct atoll_surrogate *s, const struct atoll_gp_target *targets)
{
    double sum = 0, squares = 0, count = 0;
    for (uint32_t i = 0; i < s->row_count; i++)
        if (!s->rows[i].foreign && targets[i].known == ATOLL_GP_EXACT) {
            sum += targets[i].value;
            squares += targets[i].value * targets[i].value;
            count++;
        }
    return count > 1 ? squares / count - sum / count * (sum / count) : 0;
}

/* Every how manyth row, so that limit of count are enough. */
static uint32_t stride(uint32_t count, uint32_t limit)
{
    return count > limit ? (count + limit - 1) / limit : 1;
}

static void fit(struct atoll_tune *tune, const struct atoll_gp_target *targets)
{
    struct atoll_surrogate *s = tune->surrogate;
    struct atoll_gp_row rows[ATOLL_GP_FIT_LIMIT];
    double values[ATOLL_GP_FIT_LIMIT];
    uint32_t count = 0, exact = 0, n = 0;
    for (uint32_t i = 0; i < s->row_count; i++)
        exact += targets[i].known == ATOLL_GP_EXACT;
    for (uint32_t i = 0; i < s->row_count; i++) {
        const struct atoll_surrogate_row *row = &s->rows[i];
        if (targets[i].known != ATOLL_GP_EXACT || n++ % stride(exact, ATOLL_GP_FIT_LIMIT))
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
    uint32_t fastest[ATOLL_SURROGATE_CENTRES];
    uint32_t count = atoll_tune_fastest(tune, ATOLL_SURROGATE_CENTRES - CENTRE_HINTS, fastest);
    s->centre_count = 0;
    for (uint32_t i = 0; i < count; i++)
        s->centres[s->centre_count++] = tune->trials[fastest[i]].point;
    double above = 0; /* the fastest hint, then the next one */
    for (uint32_t k = 0; k < CENTRE_HINTS; k++) {
        const struct atoll_trial *next = NULL;
        for (uint32_t i = 0; i < tune->hint_count; i++)
            if (tune->hints[i].state == TRIAL_CORRECT && tune->hints[i].time_ns > above &&
                (!next || tune->hints[i].time_ns < next->time_ns))
                next = &tune->hints[i];
        if (!next)
            break;
        above = next->time_ns;
        s->centres[s->centre_count++] = next->point;
    }
}

int atoll_surrogate_refit(struct atoll_tune *tune, struct atoll_random *random, struct atoll_err *err)
{
    struct atoll_surrogate *s = tune->surrogate;
    struct atoll_gp_target targets[ATOLL_GP_ROW_LIMIT];
    uint32_t most = tune->hint_count > tune->trial_count ? tune->hint_count : tune->trial_count;
    struct ranked *ranked = malloc(most * sizeof *ranked);
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
    for (uint32_t i = 0; i < s->row_count; i++)
        s->rows[i].noise = noise_of(
            s->rows[i].foreign ? &tune->hints[s->rows[i].index] : &tune->trials[s->rows[i].index], variance);
    fit(tune, targets);
    choose_centres(tune);
    return 0;
}
