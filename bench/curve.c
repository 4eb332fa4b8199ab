#include "bench/curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- baseline ---- */

int atoll_baseline_init(struct atoll_baseline *baseline, const struct atoll_t4 *t4, struct atoll_err *err)
{
    baseline->count = 0;
    baseline->times = malloc(t4->count * sizeof(*baseline->times));
    if (!baseline->times)
        return atoll_err_set(err, ATOLL_E_MEMORY, "baseline: out of memory");
    for (size_t i = 0; i < t4->count; i++)
        if (t4->entries[i].status == ATOLL_T4_CORRECT)
            baseline->times[baseline->count++] = t4->entries[i].time_ns;
    qsort(baseline->times, baseline->count, sizeof(*baseline->times), ascending);
    return 0;
}

void atoll_baseline_fini(struct atoll_baseline *baseline)
{
    free(baseline->times);
    baseline->times = NULL;
}

double atoll_baseline_at(const struct atoll_baseline *baseline, size_t evaluations)
{
    double n = (double)baseline->count, m = (double)evaluations;
    double from_worst = fmin(n - 1, nearbyint(m * (n + 1) / (m + 1)));
    return baseline->times[baseline->count - 1 - (size_t)from_worst];
}

/* The place of a time among the valid ones: the first one not below it; past all, the last. */
static double rank_of(const struct atoll_baseline *baseline, double time_ns)
{
    size_t low = 0, high = baseline->count - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (baseline->times[middle] < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return (double)low;
}

/* ---- curves ---- */

int atoll_curves_init(struct atoll_curves *curves, size_t runs, size_t budget, struct atoll_err *err)
{
    *curves = (struct atoll_curves){runs, budget, calloc(runs * budget + 1, sizeof(double))};
    if (!curves->best)
        return atoll_err_set(err, ATOLL_E_MEMORY, "curves: out of memory");
    for (size_t i = 0; i < runs * budget; i++)
        curves->best[i] = INFINITY;
    return 0;
}

void atoll_curves_fini(struct atoll_curves *curves)
{
    free(curves->best);
    curves->best = NULL;
}

void atoll_curves_set(struct atoll_curves *curves, size_t run, size_t evaluation, double time_ns)
{
    for (size_t i = evaluation - 1; i < curves->budget; i++)
        curves->best[run * curves->budget + i] = time_ns;
}

/* Overwrites values, one per run. */
static double quantile_of(double *values, size_t count, const struct atoll_baseline *baseline,
                          double quantile)
{
    double place = quantile * (double)(count - 1);
    size_t low = (size_t)floor(place), high = (size_t)ceil(place);
    qsort(values, count, sizeof(*values), ascending);
    double low_rank = rank_of(baseline, values[low]), high_rank = rank_of(baseline, values[high]);
    return baseline->times[(size_t)nearbyint(low_rank + (place - (double)low) * (high_rank - low_rank))];
}

/* picks: which runs; scratch: room for as many. */
static double picked_quantile(const struct atoll_curves *curves, const struct atoll_baseline *baseline,
                              size_t evaluation, double quantile, const size_t *picks, double *scratch)
{
    for (size_t r = 0; r < curves->runs; r++)
        scratch[r] = curves->best[(picks ? picks[r] : r) * curves->budget + evaluation - 1];
    return quantile_of(scratch, curves->runs, baseline, quantile);
}

double atoll_curves_quantile(const struct atoll_curves *curves, const struct atoll_baseline *baseline,
                             size_t evaluation, double quantile)
{
    double *scratch = malloc((curves->runs + 1) * sizeof(*scratch)), value = NAN;
    if (scratch && curves->runs)
        value = picked_quantile(curves, baseline, evaluation, quantile, NULL, scratch);
    free(scratch);
    return value;
}

static double picked_score(const struct atoll_curves *curves, const struct atoll_baseline *baseline,
                           size_t budget, const size_t *picks, double *scratch)
{
    double sum = 0, optimum = baseline->times[0];
    size_t count = 0;
    for (size_t i = 1; i <= budget && i <= curves->budget; i++) {
        double random = atoll_baseline_at(baseline, i);
        if (!(random > optimum))
            continue;
        sum += (random - picked_quantile(curves, baseline, i, 0.5, picks, scratch)) / (random - optimum);
        count++;
    }
    return count ? sum / (double)count : NAN;
}

double atoll_curves_score(const struct atoll_curves *curves, const struct atoll_baseline *baseline,
                          size_t budget)
{
    double *scratch = malloc((curves->runs + 1) * sizeof(*scratch)), score = NAN;
    if (scratch && curves->runs)
        score = picked_score(curves, baseline, budget, NULL, scratch);
    free(scratch);
    return score;
}

int atoll_curves_score_error(const struct atoll_curves *curves, const struct atoll_baseline *baseline,
                             size_t budget, size_t resamples, double *ret_error, struct atoll_err *err)
{
    struct atoll_random random = {.key = 1};
    size_t *picks = malloc((curves->runs + 1) * sizeof(*picks));
    double *scratch = malloc((curves->runs + 1) * sizeof(*scratch)), sum = 0, squares = 0;
    for (size_t i = 0; picks && scratch && curves->runs && i < resamples; i++) {
        for (size_t r = 0; r < curves->runs; r++)
            picks[r] = (size_t)atoll_random_below(atoll_random_next(&random), curves->runs);
        double score = picked_score(curves, baseline, budget, picks, scratch);
        sum += score;
        squares += score * score;
    }
    int is_short = !picks || !scratch;
    free(picks);
    free(scratch);
    if (is_short)
        return atoll_err_set(err, ATOLL_E_MEMORY, "score: out of memory");
    double mean = sum / (double)resamples;
    *ret_error = sqrt(fmax(0, squares / (double)resamples - mean * mean));
    return 0;
}
