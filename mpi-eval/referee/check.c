/* check.c - on the host; a device compares by backend/cuda/kernels/expected.cu, which must judge alike. */
#include "mpi-eval/referee/check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "mpi-eval/referee/shape.h"
#include "mpi-eval/referee/wide.h"

#define CHUNK           1024
#define PART_LEAST      ((size_t)32 * CHUNK)
#define PARTS_LIMIT     128
#define UNWRITTEN_TIMES 4.0
#define SLIGHT          0.05 /* of an element's value */

/* ---- why an output is probably wrong, in one phrase: transposed, shifted, a constant factor, a missing tail ---- */

/* The facts that guesses start from. */
struct symptoms {
    const struct atoll_check *check;
    const struct atoll_finding *finding;
    struct atoll_shape shape;
    size_t first_wrong, last_wrong; /* flat */
    size_t first_column;            /* least last-axis index among wrong elements */
    size_t sample_count;
    size_t samples[512]; /* wrong elements, spread over the tensor */
};

static double got(const struct symptoms *s, size_t i)
{
    const struct atoll_check *c = s->check;
    return atoll_dtype_load(c->task->tensors[c->tensor].dtype, c->data, i);
}

static int near(double a, double b)
{
    return fabs(a - b) <= 1e-3 * fmax(fabs(a), fabs(b)) + 1e-12;
}

/* Share of the sampled wrong elements for which y[i] is what r[source(i)] is. */
static double share_from(const struct symptoms *s, size_t (*source)(const struct symptoms *, size_t, long),
                         long parameter)
{
    size_t hits = 0;
    for (size_t k = 0; k < s->sample_count; k++) {
        size_t i = s->samples[k], j = source(s, i, parameter);
        hits += j < s->shape.count && near(got(s, i), s->check->values[j]);
    }
    return s->sample_count ? (double)hits / (double)s->sample_count : 0;
}

static size_t source_transposed(const struct symptoms *s, size_t i, long unused)
{
    size_t rows = atoll_shape_rows(&s->shape), columns = atoll_shape_columns(&s->shape),
           plane = rows * columns;
    size_t p = i % plane;
    (void)unused;
    return i - p + p % rows * columns + p / rows;
}

static size_t source_shifted(const struct symptoms *s, size_t i, long by)
{
    (void)s;
    return (size_t)((long)i + by);
}

static int guess_unwritten(const struct symptoms *s, char *text, size_t bytes)
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

static int guess_tail(const struct symptoms *s, char *text, size_t bytes)
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

static int guess_transposed(const struct symptoms *s, char *text, size_t bytes)
{
    if (s->shape.rank < 2 || atoll_shape_rows(&s->shape) < 2 || atoll_shape_columns(&s->shape) < 2)
        return 0;
    return share_from(s, source_transposed, 0) > 0.9 ? snprintf(text, bytes, "transposed") : 0;
}

static int guess_constant(const struct symptoms *s, char *text, size_t bytes)
{
    double first = got(s, s->samples[0]);
    for (size_t k = 1; k < s->sample_count; k++)
        if (!(got(s, s->samples[k]) == first))
            return 0;
    if (s->sample_count < 2 || isnan(first))
        return 0;
    return snprintf(text, bytes, "the same value %.6g everywhere", first);
}

static int guess_shifted(const struct symptoms *s, char *text, size_t bytes)
{
    long columns = (long)atoll_shape_columns(&s->shape);
    long steps[] = {1, 2, 4, 8, 16, 32, 64, 128, columns};
    for (size_t k = 0; k < sizeof(steps) / sizeof(*steps); k++)
        for (long sign = -1; sign <= 1; sign += 2)
            if (share_from(s, source_shifted, sign * steps[k]) > 0.9)
                return snprintf(text, bytes, "off by %ld elements: each holds what belongs at its index %+ld",
                                steps[k], sign * steps[k]);
    return 0;
}

static int guess_factor(const struct symptoms *s, char *text, size_t bytes)
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

static int guess_precision(const struct symptoms *s, char *text, size_t bytes)
{
    const struct atoll_finding *f = s->finding;
    if (f->nonfinite_count)
        return 0;
    if (f->worst_error < 100)
        return snprintf(text, bytes, "precision: all errors are within 100 times the tolerance");
    if ((double)f->wrong_count < 0.01 * (double)f->count)
        return snprintf(text, bytes,
                        "few and scattered: a race between threads, or an edge case of the values");
    /* No wrong index does that to most elements: another one's value is no neighbour of theirs. */
    double r = s->check->values[f->worst_index], off = fabs(got(s, f->worst_index) - r);
    if (2 * f->wrong_count > f->count && off <= SLIGHT * fabs(r))
        return snprintf(text, bytes,
                        "precision: most elements are off, and the worst by %.2g %% of its value",
                        100 * off / fabs(r));
    return 0;
}

/* Writes the phrase, "" when nothing fits. */
static void guess_cause(const struct symptoms *symptoms, char *ret_text, size_t bytes)
{
    static int (*const guesses[])(const struct symptoms *, char *,
                                  size_t) = {guess_unwritten, guess_tail,   guess_constant, guess_transposed,
                                             guess_shifted,   guess_factor, guess_precision};
    ret_text[0] = 0;
    for (size_t i = 0; symptoms->sample_count && i < sizeof(guesses) / sizeof(*guesses); i++)
        if (guesses[i](symptoms, ret_text, bytes) > 0)
            return;
}

/* ---- the comparison ---- */

int atoll_check_has_element_bound(const struct atoll_tolerance *tolerance)
{
    return tolerance->rtol > 0 || tolerance->atol > 0 || !(tolerance->norm > 0 || tolerance->cosine > 0);
}

/* Sums over all elements; plain data so that the loop over them stays simple. */
struct totals {
    size_t wrong, nonfinite;
    double worst;
    size_t worst_index;
    double error2, expected2, got2, product;
};

/* Error of one element in units of its bound: <= 1 is right.  Every comparison is false for NaN. */
static double element_error(const struct atoll_tolerance *t, double y, double r, double scale)
{
    if (!isfinite(r))
        return (isnan(r) && isnan(y)) || y == r ? 0 : ATOLL_WORST_ERROR_MAX;
    if (!isfinite(y))
        return ATOLL_WORST_ERROR_MAX;
    double difference = fabs(y - r), bound = t->atol + t->rtol * fmax(fabs(r), scale);
    if (difference <= bound)
        return bound > 0 ? difference / bound : 0;
    return bound > 0 ? fmin(difference / bound, ATOLL_WORST_ERROR_MAX) : ATOLL_WORST_ERROR_MAX;
}

/* Where only norm or cosine decide, every finite element is within its bound; one that nobody wrote is wrong none the
 * less. */
struct element_rule {
    struct atoll_tolerance t;
    double unwritten_atol,
        unwritten_rtol; /* what still holds the fill beyond this was not written; HUGE_VAL: see t */
};

static struct element_rule element_rule_of(const struct atoll_task *task)
{
    struct element_rule rule = {.t = task->tolerance, .unwritten_atol = HUGE_VAL};
    if (!atoll_check_has_element_bound(&rule.t))
        rule.t.atol = HUGE_VAL;
    return rule;
}

#define SUMS_SLACK 1e-9 /* of sums of squares that others add up in another order */

struct atoll_norm_rule atoll_norm_rule_of(const struct atoll_tolerance *t, double expected2, double bound2)
{
    double limit2 = t->norm * t->norm * expected2;
    struct atoll_norm_rule rule = {1, limit2};
    if (!(t->norm > 0))
        rule.error2_limit = HUGE_VAL;
    else if (!(bound2 <= limit2 * (1 - SUMS_SLACK)))
        rule.bound_ratio = limit2 > 0 && isfinite(bound2) ? sqrt(limit2 / bound2) * (1 - SUMS_SLACK) : 0;
    return rule;
}

double atoll_check_unwritten_ratio(const struct atoll_tolerance *tolerance)
{
    double angle = tolerance->cosine > 0 ? sqrt(2 * fmax(0, 1 - tolerance->cosine)) : 0;
    return UNWRITTEN_TIMES * fmax(tolerance->norm, angle);
}

static int element_is_unwritten(const struct atoll_check *c, const struct element_rule *rule, size_t i,
                                double y)
{
    double r = c->values[i], size = fmax(fabs(r), c->scale ? c->scale[i] : 0);
    return c->fill && !isinf(rule->unwritten_atol) &&
           !(fabs(y - r) <= fmax(rule->unwritten_atol, rule->unwritten_rtol * size)) &&
           atoll_fill_holds(c->fill, c->data, i);
}

static int element_is_wrong(const struct atoll_check *c, const struct element_rule *rule, size_t i, double y)
{
    return !(element_error(&rule->t, y, c->values[i], c->scale ? c->scale[i] : 0) <= 1.0) ||
           element_is_unwritten(c, rule, i, y);
}

/* Sums of one chunk, lane by lane. */
struct chunk_sums {
    double worst[ATOLL_WIDE_LANES], error2[ATOLL_WIDE_LANES], expected2[ATOLL_WIDE_LANES],
        got2[ATOLL_WIDE_LANES], product[ATOLL_WIDE_LANES];
    int64_t right[ATOLL_WIDE_LANES]; /* -1 while every element is right */
};

/* n: a multiple of the lanes.  NaN is right nowhere. */
ATOLL_WIDE_BODY int chunk_sum_body(const struct atoll_tolerance *t, const double *y, const double *r,
                                   const double *scale, size_t n, struct chunk_sums *ret)
{
    atoll_half_f64 worst[2] = {0}, error2[2] = {0}, expected2[2] = {0}, got2[2] = {0}, product[2] = {0};
    atoll_half_i64 right[2] = {~(atoll_half_i64){0}, ~(atoll_half_i64){0}};
    for (size_t i = 0; i < n; i += ATOLL_WIDE_LANES)
        for (size_t h = 0; h < 2; h++) {
            size_t at = i + h * ATOLL_WIDE_HALF_LANES;
            atoll_half_f64 got = *(const atoll_half_f64 *)(y + at), want = *(const atoll_half_f64 *)(r + at);
            atoll_half_f64 size = ATOLL_HALF_MAGNITUDE(want), s = {0};
            if (scale)
                s = *(const atoll_half_f64 *)(scale + at);
            atoll_half_f64 d = ATOLL_HALF_MAGNITUDE(got - want),
                           bound = t->atol + t->rtol * ATOLL_HALF_LARGER(s, size);
            atoll_half_f64 ratio = d / (bound + 1e-300);
            right[h] &= d <= bound;
            worst[h] = ATOLL_HALF_LARGER(ratio, worst[h]);
            error2[h] += d * d;
            expected2[h] += want * want;
            got2[h] += got * got;
            product[h] += got * want;
        }
    memcpy(ret->worst, worst, sizeof(worst));
    memcpy(ret->error2, error2, sizeof(error2));
    memcpy(ret->expected2, expected2, sizeof(expected2));
    memcpy(ret->got2, got2, sizeof(got2));
    memcpy(ret->product, product, sizeof(product));
    memcpy(ret->right, right, sizeof(right));
    return 0;
}
ATOLL_WIDE_FUNCTION(int, chunk_sum,
                    (const struct atoll_tolerance *t, const double *y, const double *r, const double *scale,
                     size_t n, struct chunk_sums *ret),
                    (t, y, r, scale, n, ret))

static int sums_add(const struct chunk_sums *s, struct totals *totals)
{
    double worst = 0, error2 = 0;
    int right = 1;
    for (size_t k = 0; k < ATOLL_WIDE_LANES; k++) {
        worst = fmax(worst, s->worst[k]);
        error2 += s->error2[k];
        totals->expected2 += s->expected2[k];
        totals->got2 += s->got2[k];
        totals->product += s->product[k];
        right &= s->right[k] != 0;
    }
    totals->error2 += error2;
    if (!right || !isfinite(error2))
        return 0;
    totals->worst = fmax(totals->worst, worst);
    return 1;
}

/* The bulk, at memory speed; says whether anything needs a second look. */
static int chunk_is_right(const struct atoll_tolerance *t, const double *y, const double *r,
                          const double *scale, size_t n, struct totals *totals)
{
    struct chunk_sums sums;
    size_t whole = n / ATOLL_WIDE_LANES * ATOLL_WIDE_LANES;
    int right = 1;
    if (whole) {
        chunk_sum(t, y, r, scale, whole, &sums);
        right = sums_add(&sums, totals);
    }
    if (n > whole) {
        /* The last elements fill lanes of their own; what is left of those is right by being zero. */
        double ends[3][ATOLL_WIDE_LANES] = {{0}};
        size_t rest = (n - whole) * sizeof(*y);
        memcpy(ends[0], y + whole, rest);
        memcpy(ends[1], r + whole, rest);
        if (scale)
            memcpy(ends[2], scale + whole, rest);
        chunk_sum(t, ends[0], ends[1], ends[2], ATOLL_WIDE_LANES, &sums);
        right &= sums_add(&sums, totals);
    }
    return right;
}

static void chunk_count(const struct atoll_check *c, const struct atoll_tolerance *t, const double *y,
                        size_t begin, size_t n, struct totals *totals)
{
    for (size_t i = 0; i < n; i++) {
        double r = c->values[begin + i], e = element_error(t, y[i], r, c->scale ? c->scale[begin + i] : 0);
        totals->nonfinite += isfinite(r) && !isfinite(y[i]);
        totals->wrong += !(e <= 1.0);
        if (e > totals->worst) {
            totals->worst = e;
            totals->worst_index = begin + i;
        }
    }
}

/* Parts of a tensor, compared by whoever is free and added up in their order: sums are the same with any number of threads. */
struct comparing {
    const struct atoll_check *check;
    const struct atoll_tolerance *tolerance;
    size_t count, part; /* elements */
    struct totals totals[PARTS_LIMIT];
};

static void compare_part(void *context, size_t begin, size_t end)
{
    struct comparing *w = context;
    const struct atoll_check *c = w->check;
    enum atoll_dtype dtype = c->task->tensors[c->tensor].dtype;
    size_t bytes = atoll_dtype_bytes(dtype), limit = end * w->part < w->count ? end * w->part : w->count;
    double y[CHUNK];
    for (size_t at = begin * w->part; at < limit; at += CHUNK) {
        struct totals *totals = &w->totals[at / w->part];
        size_t n = limit - at < CHUNK ? limit - at : CHUNK;
        atoll_dtype_load_array(dtype, (const char *)c->data + at * bytes, n, y);
        if (!chunk_is_right(w->tolerance, y, c->values + at, c->scale ? c->scale + at : NULL, n, totals))
            chunk_count(c, w->tolerance, y, at, n, totals);
    }
}

static void totals_add(struct totals *to, const struct totals *more)
{
    to->wrong += more->wrong;
    to->nonfinite += more->nonfinite;
    to->error2 += more->error2;
    to->expected2 += more->expected2;
    to->got2 += more->got2;
    to->product += more->product;
    if (more->worst > to->worst) {
        to->worst = more->worst;
        to->worst_index = more->worst_index;
    }
}

static void compare_all(const struct atoll_check *c, const struct atoll_tolerance *t, size_t count,
                        struct totals *totals)
{
    struct comparing w = {.check = c, .tolerance = t, .count = count, .part = PART_LEAST};
    while (w.part * PARTS_LIMIT < count)
        w.part *= 2;
    size_t parts = (count + w.part - 1) / w.part;
    atoll_team_run(c->team, parts, 1, compare_part, &w);
    for (size_t i = 0; i < parts; i++)
        totals_add(totals, &w.totals[i]);
}

/* Without a bound for each element: an output may come to hold what stood there before by chance, but not far from
 * what is expected.  Far: several times what norm or cosine allow an element of the output's usual size. */
static void count_unwritten(const struct atoll_check *c, size_t count, struct element_rule *rule,
                            struct totals *totals)
{
    enum atoll_dtype dtype = c->task->tensors[c->tensor].dtype;
    if (!c->fill || atoll_check_has_element_bound(&c->task->tolerance))
        return;
    rule->unwritten_rtol = atoll_check_unwritten_ratio(&c->task->tolerance);
    rule->unwritten_atol = rule->unwritten_rtol * sqrt(totals->expected2 / (double)count) +
                           (atoll_dtype_is_float(dtype) ? 0 : 1);
    for (size_t i = 0; i < count; i++) {
        double y = atoll_dtype_load(dtype, c->data, i);
        if (!isfinite(y) || !element_is_unwritten(c, rule, i, y))
            continue;
        totals->wrong++;
        totals->worst_index = totals->worst < ATOLL_WORST_ERROR_MAX ? i : totals->worst_index;
        totals->worst = ATOLL_WORST_ERROR_MAX;
    }
}

/* Second pass, only when something is wrong: where, and what was never written. */
static void locate(const struct atoll_check *c, const struct element_rule *rule, struct atoll_finding *f,
                   struct symptoms *s)
{
    enum atoll_dtype dtype = c->task->tensors[c->tensor].dtype;
    size_t columns = atoll_shape_columns(&s->shape), seen = 0,
           limit = sizeof(s->samples) / sizeof(*s->samples);
    size_t stride = f->wrong_count / limit + 1;
    s->first_wrong = s->first_column = f->count;
    for (size_t i = 0; i < f->count; i++) {
        double y = atoll_dtype_load(dtype, c->data, i);
        if (!element_is_wrong(c, rule, i, y))
            continue;
        if (s->first_wrong == f->count)
            s->first_wrong = i;
        s->last_wrong = i;
        if (i % columns < s->first_column)
            s->first_column = i % columns;
        f->unwritten_count += c->fill && atoll_fill_holds(c->fill, c->data, i);
        if (seen++ % stride == 0 && s->sample_count < limit)
            s->samples[s->sample_count++] = i;
    }
}

static void append(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append(char *text, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, ATOLL_DETAIL_BYTES - used, format, args);
    va_end(args);
}

static void describe(const struct atoll_check *c, struct atoll_finding *f, struct symptoms *s)
{
    const struct atoll_tensor *t = &c->task->tensors[c->tensor];
    char where[160], cause[256];
    size_t i = f->worst_index;
    append(f->detail, "%s: %zu of %zu elements wrong (%.3g %%); worst %s: expected %.9g, got %.9g", t->name,
           f->wrong_count, f->count, 100.0 * (double)f->wrong_count / (double)f->count,
           atoll_shape_index_text(&s->shape, t->name, i, where, sizeof(where)), c->values[i],
           atoll_dtype_load(t->dtype, c->data, i));
    if (f->worst_error < ATOLL_WORST_ERROR_MAX)
        append(f->detail, ", error %.3g times the tolerance", f->worst_error);
    if (f->nonfinite_count)
        append(f->detail, "; %zu are NaN or Inf where the reference is finite", f->nonfinite_count);
    if (f->unwritten_count)
        append(f->detail, "; %zu were never written", f->unwritten_count);
    guess_cause(s, cause, sizeof(cause));
    if (cause[0])
        append(f->detail, "; probably %s", cause);
}

/* Criteria over the whole tensor. */
static void check_norms(const struct atoll_check *c, const struct totals *totals, struct atoll_finding *f)
{
    const struct atoll_tolerance *t = &c->task->tolerance;
    const char *name = c->task->tensors[c->tensor].name;
    if (t->norm > 0) {
        double error = sqrt(totals->error2), limit = t->norm * sqrt(totals->expected2);
        if (!(error <= limit)) {
            f->wrong = 1;
            append(f->detail, "%s%s: norm of the error %.6g is above %.6g", f->detail[0] ? "; " : "", name,
                   error, limit);
        }
    }
    if (t->cosine > 0 && totals->expected2 > 0) {
        double cosine = totals->product / sqrt(totals->expected2 * totals->got2);
        if (!(cosine >= t->cosine)) {
            f->wrong = 1;
            append(f->detail, "%s%s: cosine %.9g is below %.9g", f->detail[0] ? "; " : "", name, cosine,
                   t->cosine);
        }
    }
}

int atoll_check_compare(const struct atoll_check *check, struct atoll_finding *ret_finding,
                        struct atoll_err *err)
{
    struct symptoms s = {.check = check, .finding = ret_finding};
    struct totals totals = {0};
    struct element_rule rule = element_rule_of(check->task);
    if (atoll_shape_of(check->task, check->tensor, check->variant, &s.shape, err) != 0)
        return -1;
    memset(ret_finding, 0, sizeof(*ret_finding));
    ret_finding->count = s.shape.count;
    compare_all(check, &rule.t, s.shape.count, &totals);
    count_unwritten(check, s.shape.count, &rule, &totals);
    ret_finding->wrong_count = totals.wrong;
    ret_finding->nonfinite_count = totals.nonfinite;
    ret_finding->worst_error = fmin(totals.worst, ATOLL_WORST_ERROR_MAX);
    ret_finding->worst_index = totals.worst_index;
    if (totals.wrong) {
        locate(check, &rule, ret_finding, &s);
        ret_finding->wrong =
            ret_finding->unwritten_count > 0 || ret_finding->nonfinite_count > 0 ||
            (double)totals.wrong > check->task->tolerance.wrong_share * (double)s.shape.count;
        if (ret_finding->wrong)
            describe(check, ret_finding, &s);
    }
    check_norms(check, &totals, ret_finding);
    return 0;
}
