#include "mpi-eval/referee/check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "mpi-eval/referee/guess.h"
#include "mpi-eval/referee/shape.h"
#include "mpi-eval/referee/wide.h"

#define CHUNK 1024

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

/* Where only norm or cosine decide, every finite element is within its bound. */
static struct atoll_tolerance element_tolerance(const struct atoll_task *task)
{
    struct atoll_tolerance t = task->tolerance;
    if (!atoll_check_has_element_bound(&t))
        t.atol = HUGE_VAL;
    return t;
}

/* Sums of one chunk, lane by lane. */
struct chunk_sums {
    double worst[ATOLL_WIDE_LANES], error2[ATOLL_WIDE_LANES], expected2[ATOLL_WIDE_LANES],
        got2[ATOLL_WIDE_LANES], product[ATOLL_WIDE_LANES];
    int64_t right[ATOLL_WIDE_LANES]; /* -1 while every element is right */
};

#define MAGNITUDE(x) ((atoll_wide_f64)((atoll_wide_i64)(x)&INT64_MAX))
#define LARGER(x, y)                                                                                         \
    ((atoll_wide_f64)(((atoll_wide_i64)(x) & ((x) > (y))) | ((atoll_wide_i64)(y) & ~((x) > (y)))))

/* n: a multiple of the lanes.  NaN is right nowhere. */
ATOLL_WIDE_BODY int chunk_sum_body(const struct atoll_tolerance *t, const double *y, const double *r,
                                   const double *scale, size_t n, struct chunk_sums *ret)
{
    atoll_wide_f64 worst = {0}, error2 = {0}, expected2 = {0}, got2 = {0}, product = {0}, zero = {0};
    atoll_wide_i64 right = ~(atoll_wide_i64){0};
    for (size_t i = 0; i < n; i += ATOLL_WIDE_LANES) {
        atoll_wide_f64 got = *(const atoll_wide_f64 *)(y + i), want = *(const atoll_wide_f64 *)(r + i);
        atoll_wide_f64 s = scale ? *(const atoll_wide_f64 *)(scale + i) : zero, size = MAGNITUDE(want);
        atoll_wide_f64 d = MAGNITUDE(got - want), bound = t->atol + t->rtol * LARGER(s, size);
        atoll_wide_f64 ratio = d / (bound + 1e-300);
        right &= d <= bound;
        worst = LARGER(ratio, worst);
        error2 += d * d;
        expected2 += want * want;
        got2 += got * got;
        product += got * want;
    }
    memcpy(ret->worst, &worst, sizeof worst);
    memcpy(ret->error2, &error2, sizeof error2);
    memcpy(ret->expected2, &expected2, sizeof expected2);
    memcpy(ret->got2, &got2, sizeof got2);
    memcpy(ret->product, &product, sizeof product);
    memcpy(ret->right, &right, sizeof right);
    return 0;
}
ATOLL_WIDE_FUNCTION(int, chunk_sum,
                    (const struct atoll_tolerance *t, const double *y, const double *r, const double *scale,
                     size_t n, struct chunk_sums *ret),
                    (t, y, r, scale, n, ret))

/* The last elements fill lanes of their own; what is left of those is right by being zero. */
static void chunk_sum_rest(const struct atoll_tolerance *t, const double *y, const double *r,
                           const double *scale, size_t n, struct chunk_sums *ret)
{
    double ends[3][ATOLL_WIDE_LANES] = {{0}};
    memcpy(ends[0], y, n * sizeof *y);
    memcpy(ends[1], r, n * sizeof *r);
    if (scale)
        memcpy(ends[2], scale, n * sizeof *scale);
    chunk_sum(t, ends[0], ends[1], ends[2], ATOLL_WIDE_LANES, ret);
}

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
        chunk_sum_rest(t, y + whole, r + whole, scale ? scale + whole : NULL, n - whole, &sums);
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

static void compare_all(const struct atoll_check *c, size_t count, struct totals *totals)
{
    enum atoll_dtype dtype = c->task->tensors[c->tensor].dtype;
    const struct atoll_tolerance t = element_tolerance(c->task);
    size_t bytes = atoll_dtype_bytes(dtype);
    double y[CHUNK];
    for (size_t begin = 0; begin < count; begin += CHUNK) {
        size_t n = count - begin < CHUNK ? count - begin : CHUNK;
        atoll_dtype_load_array(dtype, (const char *)c->data + begin * bytes, n, y);
        if (!chunk_is_right(&t, y, c->values + begin, c->scale ? c->scale + begin : NULL, n, totals))
            chunk_count(c, &t, y, begin, n, totals);
    }
}

/* Second pass, only when something is wrong: where, and what was never written. */
static void locate(const struct atoll_check *c, struct atoll_finding *f, struct atoll_symptoms *s)
{
    const struct atoll_tolerance t = element_tolerance(c->task);
    enum atoll_dtype dtype = c->task->tensors[c->tensor].dtype;
    size_t columns = atoll_shape_columns(&s->shape), seen = 0, limit = sizeof s->samples / sizeof *s->samples;
    size_t stride = f->wrong_count / limit + 1;
    s->first_wrong = s->first_column = f->count;
    for (size_t i = 0; i < f->count; i++) {
        double y = atoll_dtype_load(dtype, c->data, i);
        if (element_error(&t, y, c->values[i], c->scale ? c->scale[i] : 0) <= 1.0)
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

static void describe(const struct atoll_check *c, struct atoll_finding *f, struct atoll_symptoms *s)
{
    const struct atoll_tensor *t = &c->task->tensors[c->tensor];
    char where[160], cause[256];
    size_t i = f->worst_index;
    append(f->detail, "%s: %zu of %zu elements wrong (%.3g %%); worst %s: expected %.9g, got %.9g", t->name,
           f->wrong_count, f->count, 100.0 * (double)f->wrong_count / (double)f->count,
           atoll_shape_index_text(&s->shape, t->name, i, where, sizeof where), c->values[i],
           atoll_dtype_load(t->dtype, c->data, i));
    if (f->worst_error < ATOLL_WORST_ERROR_MAX)
        append(f->detail, ", error %.3g times the tolerance", f->worst_error);
    if (f->nonfinite_count)
        append(f->detail, "; %zu are NaN or Inf where the reference is finite", f->nonfinite_count);
    if (f->unwritten_count)
        append(f->detail, "; %zu were never written", f->unwritten_count);
    atoll_guess_cause(s, cause, sizeof cause);
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
    struct atoll_symptoms s = {.check = check, .finding = ret_finding};
    struct totals totals = {0};
    if (atoll_shape_of(check->task, check->tensor, check->variant, &s.shape, err) != 0)
        return -1;
    memset(ret_finding, 0, sizeof *ret_finding);
    ret_finding->count = s.shape.count;
    compare_all(check, s.shape.count, &totals);
    ret_finding->wrong_count = totals.wrong;
    ret_finding->nonfinite_count = totals.nonfinite;
    ret_finding->worst_error = fmin(totals.worst, ATOLL_WORST_ERROR_MAX);
    ret_finding->worst_index = totals.worst_index;
    if (totals.wrong) {
        locate(check, ret_finding, &s);
        ret_finding->wrong =
            ret_finding->unwritten_count > 0 || ret_finding->nonfinite_count > 0 ||
            (double)totals.wrong > check->task->tolerance.wrong_share * (double)s.shape.count;
        if (ret_finding->wrong)
            describe(check, ret_finding, &s);
    }
    check_norms(check, &totals, ret_finding);
    return 0;
}
