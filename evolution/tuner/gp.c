/* gp.c - a Gaussian process over the grid.  The covariance of two points is a product of tables, one per parameter.  The
 * factor L is kept packed by rows, the pool's whitened covariances V = L^-1 K by rows too, so that a new row is a run of
 * vector additions over the whole pool.  V is float: its errors, 1e-7 of a variance, are far below any noise. */
#include "evolution/tuner/gp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Share of a parameter's covariance that does not depend on it; chosen on recorded and synthetic spaces. */
#define LOWER_ORDERS 0.6
#define KIN_VALUES   3   /* from so many values on, what divides them may tell */
#define KIN_STEEP    2.0 /* chosen by how well recorded times near the optimum are predicted */

struct atoll_gp_scale {
    size_t count;
    size_t radix[ATOLL_SPACE_BYTES];
    double *distance[ATOLL_SPACE_BYTES]; /* radix x radix */
    double *kinship[ATOLL_SPACE_BYTES];
    double *table[ATOLL_SPACE_BYTES];
    struct atoll_gp_texture texture;
};

/* Places: half rank, half logarithm where the values are positive: tile sizes count by ratio, unroll factors by step. */
static void fill_distances(const struct atoll_param *param, double *ret_distances)
{
    double places[ATOLL_PLAN_VALUE_LIMIT], low = HUGE_VAL, high = -HUGE_VAL;
    for (size_t i = 0; i < param->value_count; i++) {
        low = fmin(low, (double)param->values[i]);
        high = fmax(high, (double)param->values[i]);
    }
    for (size_t i = 0; i < param->value_count; i++) {
        double rank = param->value_count > 1 ? (double)i / (double)(param->value_count - 1) : 0;
        int by_ratio = low > 0 && high > low;
        double ratio = by_ratio ? log((double)param->values[i] / low) / log(high / low) : rank;
        places[i] = (rank + ratio) / 2;
    }
    for (size_t i = 0; i < param->value_count; i++)
        for (size_t j = 0; j < param->value_count; j++)
            ret_distances[i * param->value_count + j] = fabs(places[i] - places[j]);
}

/* The cosine of two values' prime factors, log gcd / sqrt(log a log b): a positive definite function, and so is its
 * exponential (both are sums with positive weights over the prime powers that divide a and b). */
static double common_factors(int64_t a, int64_t b)
{
    if (a == b)
        return 1;
    if (a < 2 || b < 2)
        return 0;
    int64_t divisor = a, rest = b;
    while (rest) {
        int64_t next = divisor % rest;
        divisor = rest;
        rest = next;
    }
    return log((double)divisor) / sqrt(log((double)a) * log((double)b));
}

struct atoll_gp_scale *atoll_gp_scale_create(const struct atoll_space *space)
{
    size_t cells = 0;
    for (size_t i = 0; i < space->count; i++)
        cells += space->params[i].value_count * space->params[i].value_count;
    struct atoll_gp_scale *s = calloc(1, sizeof(*s) + 3 * cells * sizeof(**s->table));
    if (!s)
        return NULL;
    double *free_cells = (double *)(s + 1);
    s->count = space->count;
    for (size_t i = 0; i < space->count; i++) {
        s->radix[i] = space->params[i].value_count;
        s->distance[i] = free_cells;
        s->kinship[i] = free_cells + cells;
        s->table[i] = free_cells + 2 * cells;
        free_cells += s->radix[i] * s->radix[i];
        fill_distances(&space->params[i], s->distance[i]);
        for (size_t c = 0; c < s->radix[i] * s->radix[i]; c++) {
            const int64_t *values = space->params[i].values;
            double common = common_factors(values[c / s->radix[i]], values[c % s->radix[i]]);
            s->kinship[i][c] = s->radix[i] < KIN_VALUES ? 1 : exp(-KIN_STEEP * (1 - common));
        }
    }
    return s;
}

void atoll_gp_scale_destroy(struct atoll_gp_scale *scale)
{
    free(scale);
}

void atoll_gp_scale_texture(struct atoll_gp_scale *scale, const struct atoll_gp_texture *texture)
{
    scale->texture = *texture;
}

void atoll_gp_scale_set(struct atoll_gp_scale *scale, size_t param, double length)
{
    const struct atoll_gp_texture *t = &scale->texture;
    size_t radix = scale->radix[param];
    for (size_t i = 0; i < radix * radix; i++) {
        double s = sqrt(5) * (scale->distance[param][i] / length);
        double near = (1 + s + s * s / 3) * exp(-s); /* Matern 5/2 */
        double kin = 1 - t->kin + t->kin * scale->kinship[param][i];
        double own = i % (radix + 1) == 0; /* the diagonal */
        scale->table[param][i] =
            LOWER_ORDERS + (1 - LOWER_ORDERS) * ((1 - t->own) * near * kin + t->own * own);
    }
}

double atoll_gp_scale_covariance(const struct atoll_gp_scale *scale, const struct atoll_point *a,
                                 const struct atoll_point *b)
{
    double k = 1;
    for (size_t i = 0; i < scale->count; i++)
        k *= scale->table[i][a->digits[i] * scale->radix[i] + b->digits[i]];
    return k;
}

/* Steps of about a factor of two: the likelihood is flat between them at the number of rows there are. */
static const double lengths[] = {0.08, 0.15, 0.3, 0.6, 1.2, 2.5, 5, 20};
static const double noises[] = {1e-4, 1e-3, 5e-3, 2e-2, 0.1, 0.3};
static const double transfers[] = {0, 0.5, 0.8, 0.95, 0.99};
static const struct atoll_gp_texture textures[] = {{0, 0}, {.kin = 0.5}, {.own = 0.1}};
#define COUNT(table) (sizeof(table) / sizeof(*(table)))

#define LENGTH_FIRST   3 /* half of a parameter's range: also the prior's mode */
#define NOISE_FIRST    1
#define TRANSFER_FIRST 2
#define FIT_PASSES     2
#define VARIANCE_LEAST 1e-9

struct atoll_gp {
    const struct atoll_space *space;
    struct atoll_gp_scale *scale;
    struct atoll_gp_kernel kernel;
    size_t row_count, pool_count;
    struct atoll_gp_row rows[ATOLL_GP_ROW_LIMIT];
    double factor[ATOLL_GP_ROW_LIMIT * (ATOLL_GP_ROW_LIMIT + 1) / 2];
    double fit[ATOLL_GP_FIT_LIMIT * (ATOLL_GP_FIT_LIMIT + 1) / 2];
    struct atoll_point *pool;
    float *whitened; /* ATOLL_GP_ROW_LIMIT rows of pool_count */
    float *variances;
};

struct atoll_gp *atoll_gp_create(const struct atoll_space *space, struct atoll_err *err)
{
    struct atoll_gp *gp = calloc(1, sizeof(*gp));
    if (gp)
        gp->scale = atoll_gp_scale_create(space);
    if (!gp || !gp->scale) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a model of a template's times");
        atoll_gp_destroy(gp);
        return NULL;
    }
    gp->space = space;
    gp->kernel = atoll_gp_kernel_default();
    atoll_gp_scale_texture(gp->scale, &textures[gp->kernel.texture]);
    for (size_t i = 0; i < space->count; i++)
        atoll_gp_scale_set(gp->scale, i, lengths[gp->kernel.scale[i]]);
    return gp;
}

void atoll_gp_destroy(struct atoll_gp *gp)
{
    if (!gp)
        return;
    atoll_gp_scale_destroy(gp->scale);
    free(gp->pool);
    free(gp->whitened);
    free(gp->variances);
    free(gp);
}

struct atoll_gp_kernel atoll_gp_kernel_default(void)
{
    struct atoll_gp_kernel k;
    memset(&k, 0, sizeof(k));
    memset(k.scale, LENGTH_FIRST, sizeof(k.scale));
    k.noise = NOISE_FIRST;
    k.transfer = TRANSFER_FIRST;
    return k;
}

int atoll_gp_kernel_valid(const struct atoll_gp_kernel *kernel)
{
    for (size_t i = 0; i < ATOLL_SPACE_BYTES; i++)
        if (kernel->scale[i] >= COUNT(lengths))
            return 0;
    return kernel->noise < COUNT(noises) && kernel->texture < COUNT(textures) &&
           kernel->transfer < COUNT(transfers);
}

/* Tables are dear: only what changed. */
static void set_kernel(struct atoll_gp *gp, const struct atoll_gp_kernel *kernel)
{
    int is_other = gp->kernel.texture != kernel->texture;
    atoll_gp_scale_texture(gp->scale, &textures[kernel->texture]);
    for (size_t i = 0; i < gp->space->count; i++)
        if (is_other || gp->kernel.scale[i] != kernel->scale[i])
            atoll_gp_scale_set(gp->scale, i, lengths[kernel->scale[i]]);
    gp->kernel = *kernel;
}

static double covariance(const struct atoll_gp *gp, const struct atoll_gp_row *a,
                         const struct atoll_gp_row *b)
{
    double k = atoll_gp_scale_covariance(gp->scale, &a->point, &b->point);
    return a->foreign == b->foreign ? k : k * transfers[gp->kernel.transfer];
}

static double variance_of(const struct atoll_gp *gp, const struct atoll_gp_row *row)
{
    return 1 + noises[gp->kernel.noise] + row->noise;
}

/* Four sums, so that they need not wait for one another. */
static double dot(const double *a, const double *b, size_t count)
{
    double s[4] = {0};
    size_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (size_t k = 0; k < 4; k++)
            s[k] += a[i + k] * b[i + k];
    for (; i < count; i++)
        s[0] += a[i] * b[i];
    return (s[0] + s[1]) + (s[2] + s[3]);
}

static const double *packed_row(const double *factor, size_t i)
{
    return factor + i * (i + 1) / 2;
}

/* x = L^-1 x over the first count rows. */
static void whiten(const double *factor, size_t count, double *x)
{
    for (size_t i = 0; i < count; i++) {
        const double *row = packed_row(factor, i);
        x[i] = (x[i] - dot(row, x, i)) / row[i];
    }
}

/* Appends to a factor of `at` rows the row that starts with x: its covariances with them. */
static void extend(double *factor, size_t at, double variance, const double *covariances)
{
    double *row = factor + at * (at + 1) / 2;
    memcpy(row, covariances, at * sizeof(*row));
    whiten(factor, at, row);
    double rest = variance - dot(row, row, at);
    row[at] = sqrt(rest > VARIANCE_LEAST ? rest : VARIANCE_LEAST);
}

/* Log likelihood up to constants, mean and variance at their best (Rasmussen, Williams, section 2.7). */
static double likelihood(const struct atoll_gp *gp, const struct atoll_gp_row *rows, const double *targets,
                         size_t count, double *ret_variance)
{
    double y[ATOLL_GP_FIT_LIMIT], one[ATOLL_GP_FIT_LIMIT], log_determinant = 0;
    for (size_t i = 0; i < count; i++) {
        y[i] = targets[i];
        one[i] = !rows[i].foreign;
        log_determinant += log(packed_row(gp->fit, i)[i]);
    }
    whiten(gp->fit, count, y);
    whiten(gp->fit, count, one);
    double yy = dot(y, y, count), yo = dot(y, one, count), oo = dot(one, one, count);
    double variance = (yy - (oo > 0 ? yo * yo / oo : 0)) / (double)count;
    *ret_variance = variance > VARIANCE_LEAST ? variance : VARIANCE_LEAST;
    return -0.5 * (double)count * log(*ret_variance) - log_determinant;
}

/* Log-normal, sd 1 for lengths and 2 for the noise: a hint, not a wall. */
static double prior(const struct atoll_gp *gp)
{
    double p = 0;
    for (size_t i = 0; i < gp->space->count; i++) {
        double e = log(lengths[gp->kernel.scale[i]] / lengths[LENGTH_FIRST]);
        p -= 0.5 * e * e;
    }
    double e = log(noises[gp->kernel.noise] / noises[NOISE_FIRST]) / 2;
    return p - 0.5 * e * e;
}

static double score(struct atoll_gp *gp, const struct atoll_gp_kernel *kernel,
                    const struct atoll_gp_row *rows, const double *targets, size_t count,
                    double *ret_variance)
{
    double k[ATOLL_GP_FIT_LIMIT] = {0};
    set_kernel(gp, kernel);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++)
            k[j] = covariance(gp, &rows[i], &rows[j]);
        extend(gp->fit, i, variance_of(gp, &rows[i]), k);
    }
    return likelihood(gp, rows, targets, count, ret_variance) + prior(gp);
}

/* The numbers of a kernel that can be fitted: a length per parameter with a choice, noise, transfer. */
static uint8_t *knob(struct atoll_gp_kernel *kernel, const struct atoll_space *space, size_t n, int foreign,
                     size_t *ret_limit)
{
    if (n < space->count) {
        *ret_limit = space->params[n].value_count > 1 ? COUNT(lengths) : 0;
        return &kernel->scale[n];
    }
    if (n == space->count) {
        *ret_limit = COUNT(noises);
        return &kernel->noise;
    }
    *ret_limit = foreign ? COUNT(transfers) : 0;
    return &kernel->transfer;
}

struct fit {
    const struct atoll_gp_row *rows;
    const double *targets;
    size_t count;
    struct atoll_gp_kernel *kernel; /* the best so far, with its score and the signal's variance */
    double score, variance;
};

static int try_kernel(struct atoll_gp *gp, const struct atoll_gp_kernel *kernel, struct fit *fit)
{
    double variance, s = score(gp, kernel, fit->rows, fit->targets, fit->count, &variance);
    if (s <= fit->score)
        return 0;
    fit->score = s;
    fit->variance = variance;
    *fit->kernel = *kernel;
    return 1;
}

double atoll_gp_fit(struct atoll_gp *gp, const struct atoll_gp_row *rows, const double *targets, size_t count,
                    struct atoll_gp_kernel *kernel)
{
    struct fit fit = {.rows = rows, .targets = targets, .count = count, .kernel = kernel};
    int foreign = 0, better = 1;
    for (size_t i = 0; i < count; i++)
        foreign |= rows[i].foreign;
    fit.score = score(gp, kernel, rows, targets, count, &fit.variance);
    for (int pass = 0; pass < FIT_PASSES && better; pass++) {
        better = 0;
        for (size_t t = 0; t < COUNT(textures); t++) {
            struct atoll_gp_kernel other = *fit.kernel;
            other.texture = (uint8_t)t;
            better |= t != fit.kernel->texture && try_kernel(gp, &other, &fit);
        }
        for (size_t n = 0; n < 2 * (gp->space->count + 2); n++) { /* each number one step down, one up */
            struct atoll_gp_kernel other = *fit.kernel;
            size_t limit;
            uint8_t *value = knob(&other, gp->space, n / 2, foreign, &limit);
            *value = (uint8_t)(n % 2 ? *value + 1 : *value - 1); /* below 0 wraps beyond any limit */
            better |= *value < limit && try_kernel(gp, &other, &fit);
        }
    }
    return fit.variance;
}

int atoll_gp_reset(struct atoll_gp *gp, const struct atoll_gp_kernel *kernel, const struct atoll_point *pool,
                   size_t pool_count, struct atoll_err *err)
{
    size_t room = pool_count ? pool_count : 1;
    if (pool_count > gp->pool_count || !gp->pool) {
        free(gp->pool);
        free(gp->whitened);
        free(gp->variances);
        gp->pool = malloc(room * sizeof(*gp->pool));
        gp->whitened = malloc(ATOLL_GP_ROW_LIMIT * room * sizeof(*gp->whitened));
        gp->variances = malloc(room * sizeof(*gp->variances));
    }
    gp->row_count = gp->pool_count = 0;
    if (!gp->pool || !gp->whitened || !gp->variances)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a model of a template's times");
    gp->pool_count = pool_count;
    if (pool_count)
        memcpy(gp->pool, pool, pool_count * sizeof(*pool));
    for (size_t i = 0; i < pool_count; i++)
        gp->variances[i] = 1;
    set_kernel(gp, kernel);
    return 0;
}

size_t atoll_gp_row_count(const struct atoll_gp *gp)
{
    return gp->row_count;
}

static void subtract(float *restrict to, const float *restrict what, float factor, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] -= factor * what[i];
}

void atoll_gp_append(struct atoll_gp *gp, const struct atoll_gp_row *row)
{
    double k[ATOLL_GP_ROW_LIMIT] = {0};
    size_t at = gp->row_count;
    for (size_t i = 0; i < at; i++)
        k[i] = covariance(gp, row, &gp->rows[i]);
    gp->rows[at] = *row;
    extend(gp->factor, at, variance_of(gp, row), k);
    const double *of_row = packed_row(gp->factor, at);
    float *v = gp->whitened + at * gp->pool_count;
    const float scale = (float)(1 / of_row[at]);
    const double factor = row->foreign ? transfers[gp->kernel.transfer] : 1;
    for (size_t c = 0; c < gp->pool_count; c++)
        v[c] = (float)(factor * atoll_gp_scale_covariance(gp->scale, &gp->pool[c], &row->point));
    for (size_t i = 0; i < at; i++)
        subtract(v, gp->whitened + i * gp->pool_count, (float)of_row[i], gp->pool_count);
    for (size_t c = 0; c < gp->pool_count; c++) {
        v[c] *= scale;
        gp->variances[c] -= v[c] * v[c];
    }
    gp->row_count++;
}

/* Generalised least squares over the rows that are EXACT. */
static void estimate(const struct atoll_gp *gp, const struct atoll_gp_target *targets,
                     struct atoll_gp_weights *w)
{
    double y[ATOLL_GP_ROW_LIMIT] = {0}, one[ATOLL_GP_ROW_LIMIT] = {0};
    size_t known = 0;
    for (size_t i = 0; i < gp->row_count; i++) {
        const double *row = packed_row(gp->factor, i);
        int exact = targets[i].known == ATOLL_GP_EXACT;
        known += (size_t)exact;
        y[i] = exact ? (targets[i].value - dot(row, y, i)) / row[i] : 0;
        one[i] = exact ? (!gp->rows[i].foreign - dot(row, one, i)) / row[i] : 0;
    }
    double yy = dot(y, y, gp->row_count), yo = dot(y, one, gp->row_count), oo = dot(one, one, gp->row_count);
    w->mean = oo > 0 ? yo / oo : 0;
    w->variance = known ? (yy - w->mean * yo) / (double)known : 0;
    if (!(w->variance > VARIANCE_LEAST))
        w->variance = VARIANCE_LEAST;
}

void atoll_gp_solve(const struct atoll_gp *gp, const struct atoll_gp_target *targets, const double *mean,
                    struct atoll_gp_weights *ret_weights)
{
    if (mean) {
        ret_weights->mean = *mean;
        ret_weights->variance = 0;
    } else {
        estimate(gp, targets, ret_weights);
    }
    /* With the mean known: each row's share that those before it do not predict. */
    double *weights = ret_weights->weights;
    for (size_t i = 0; i < gp->row_count; i++) {
        const double *row = packed_row(gp->factor, i);
        double predicted = dot(row, weights, i);
        double observed = targets[i].value - (gp->rows[i].foreign ? 0 : ret_weights->mean);
        int known = targets[i].known == ATOLL_GP_EXACT ||
                    (targets[i].known == ATOLL_GP_AT_LEAST && observed > predicted);
        weights[i] = known ? (observed - predicted) / row[i] : 0;
    }
}

void atoll_gp_predict(struct atoll_gp *gp, const struct atoll_point *point,
                      const struct atoll_gp_weights *weights, size_t weights_count, double *ret_means,
                      double *ret_variance)
{
    struct atoll_gp_row row = {.point = *point};
    double k[ATOLL_GP_ROW_LIMIT];
    for (size_t i = 0; i < gp->row_count; i++)
        k[i] = covariance(gp, &row, &gp->rows[i]);
    whiten(gp->factor, gp->row_count, k);
    for (size_t w = 0; w < weights_count; w++)
        ret_means[w] = weights[w].mean + dot(k, weights[w].weights, gp->row_count);
    double variance = 1 - dot(k, k, gp->row_count);
    *ret_variance = variance > VARIANCE_LEAST ? variance : VARIANCE_LEAST;
}

void atoll_gp_pool_means(const struct atoll_gp *gp, const struct atoll_gp_weights *weights, float *ret_means)
{
    for (size_t c = 0; c < gp->pool_count; c++)
        ret_means[c] = (float)weights->mean;
    for (size_t i = 0; i < gp->row_count; i++)
        subtract(ret_means, gp->whitened + i * gp->pool_count, (float)-weights->weights[i], gp->pool_count);
}

const float *atoll_gp_pool_variances(const struct atoll_gp *gp)
{
    return gp->variances;
}

double atoll_gp_noise(const struct atoll_gp *gp)
{
    return noises[gp->kernel.noise];
}
