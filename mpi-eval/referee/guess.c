#include "mpi-eval/referee/guess.h"

#include <math.h>
#include <stdio.h>

static double got(const struct atoll_symptoms *s, size_t i)
{
    const struct atoll_check *c = s->check;
    return atoll_dtype_load(c->task->tensors[c->tensor].dtype, c->data, i);
}

static int near(double a, double b)
{
    return fabs(a - b) <= 1e-3 * fmax(fabs(a), fabs(b)) + 1e-12;
}

/* Share of the sampled wrong elements for which y[i] is what r[source(i)] is. */
static double share_from(const struct atoll_symptoms *s,
                         size_t (*source)(const struct atoll_symptoms *, size_t, long), long parameter)
{
    size_t hits = 0;
    for (size_t k = 0; k < s->sample_count; k++) {
        size_t i = s->samples[k], j = source(s, i, parameter);
        hits += j < s->shape.count && near(got(s, i), s->check->values[j]);
    }
    return s->sample_count ? (double)hits / (double)s->sample_count : 0;
}

static size_t source_transposed(const struct atoll_symptoms *s, size_t i, long unused)
{
    size_t rows = atoll_shape_rows(&s->shape), columns = atoll_shape_columns(&s->shape),
           plane = rows * columns;
    size_t p = i % plane;
    (void)unused;
    return i - p + p % rows * columns + p / rows;
}

static size_t source_shifted(const struct atoll_symptoms *s, size_t i, long by)
{
    (void)s;
    return (size_t)((long)i + by);
}

static int guess_unwritten(const struct atoll_symptoms *s, char *text, size_t bytes)
{
    const struct atoll_finding *f = s->finding;
    if (f->unwritten_count == f->count)
        return snprintf(text, bytes, "nothing was written");
    if (f->unwritten_count == f->wrong_count && s->last_wrong + 1 == f->count &&
        f->wrong_count == f->count - s->first_wrong)
        return snprintf(text, bytes,
                        "only a prefix was written; everything from flat index %zu on is missing",
                        s->first_wrong);
    return 0;
}

static int guess_tail(const struct atoll_symptoms *s, char *text, size_t bytes)
{
    size_t columns = atoll_shape_columns(&s->shape);
    const struct atoll_finding *f = s->finding;
    if (f->wrong_count == f->count)
        return 0;
    if (s->last_wrong + 1 == f->count && f->wrong_count == f->count - s->first_wrong && s->first_wrong > 0)
        return snprintf(
            text, bytes,
            "a missing tail: everything from flat index %zu on is wrong, everything before is right",
            s->first_wrong);
    if (s->first_column > 0 && columns > 1 &&
        f->wrong_count * 2 > (columns - s->first_column) * (f->count / columns))
        return snprintf(text, bytes,
                        "a missing tail of the last axis: only indices from %zu of %zu on are wrong",
                        s->first_column, columns);
    return 0;
}

static int guess_transposed(const struct atoll_symptoms *s, char *text, size_t bytes)
{
    if (s->shape.rank < 2 || atoll_shape_rows(&s->shape) < 2 || atoll_shape_columns(&s->shape) < 2)
        return 0;
    return share_from(s, source_transposed, 0) > 0.9 ? snprintf(text, bytes, "transposed") : 0;
}

static int guess_constant(const struct atoll_symptoms *s, char *text, size_t bytes)
{
    double first = got(s, s->samples[0]);
    for (size_t k = 1; k < s->sample_count; k++)
        if (!(got(s, s->samples[k]) == first))
            return 0;
    if (s->sample_count < 2 || isnan(first))
        return 0;
    return snprintf(text, bytes, "the same value %.6g everywhere", first);
}

static int guess_shifted(const struct atoll_symptoms *s, char *text, size_t bytes)
{
    long columns = (long)atoll_shape_columns(&s->shape);
    long steps[] = {1, 2, 4, 8, 16, 32, 64, 128, columns};
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
        for (long sign = -1; sign <= 1; sign += 2)
            if (share_from(s, source_shifted, sign * steps[k]) > 0.9)
                return snprintf(text, bytes, "off by %ld elements: each holds what belongs at its index %+ld",
                                steps[k], sign * steps[k]);
    return 0;
}

static int guess_factor(const struct atoll_symptoms *s, char *text, size_t bytes)
{
    double factor = 0, offset = 0;
    size_t factors = 0, offsets = 0;
    for (size_t k = 0; k < s->sample_count; k++) {
        double y = got(s, s->samples[k]), r = s->check->values[s->samples[k]];
        if (k == 0) {
            factor = r != 0 ? y / r : 0;
            offset = y - r;
        }
        factors += r != 0 && near(y, factor * r);
        offsets += near(y - r, offset) ? 1 : 0;
    }
    if (s->sample_count < 4)
        return 0;
    if (fabs(factor - 1) > 0.01 && factor != 0 && (double)factors > 0.9 * (double)s->sample_count)
        return snprintf(text, bytes, "a constant factor of %.6g", factor);
    if ((double)offsets > 0.9 * (double)s->sample_count)
        return snprintf(text, bytes, "a constant offset of %.6g", offset);
    return 0;
}

static int guess_precision(const struct atoll_symptoms *s, char *text, size_t bytes)
{
    const struct atoll_finding *f = s->finding;
    if (f->nonfinite_count)
        return 0;
    if (f->worst_error < 100)
        return snprintf(text, bytes, "precision: all errors are within 100 times the tolerance");
    if ((double)f->wrong_count < 0.01 * (double)f->count)
        return snprintf(text, bytes,
                        "few and scattered: a race between threads, or an edge case of the values");
    return 0;
}

void atoll_guess_cause(const struct atoll_symptoms *symptoms, char *ret_text, size_t bytes)
{
    static int (*const guesses[])(const struct atoll_symptoms *, char *,
                                  size_t) = {guess_unwritten, guess_tail,   guess_constant, guess_transposed,
                                             guess_shifted,   guess_factor, guess_precision};
    ret_text[0] = 0;
    for (size_t i = 0; symptoms->sample_count && i < sizeof guesses / sizeof *guesses; i++)
        if (guesses[i](symptoms, ret_text, bytes) > 0)
            return;
}
