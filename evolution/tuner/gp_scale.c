#include "evolution/tuner/gp_scale.h"

#include <math.h>
#include <stdlib.h>

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

/* Half rank, half logarithm where the values are positive: tile sizes count by ratio, unroll factors by step. */
static void fill_places(const struct atoll_param *param, double *ret_places)
{
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (size_t i = 0; i < param->value_count; i++) {
        low = fmin(low, (double)param->values[i]);
        high = fmax(high, (double)param->values[i]);
    }
    for (size_t i = 0; i < param->value_count; i++) {
        double rank = param->value_count > 1 ? (double)i / (double)(param->value_count - 1) : 0;
        int by_ratio = low > 0 && high > low;
        double ratio = by_ratio ? log((double)param->values[i] / low) / log(high / low) : rank;
        ret_places[i] = (rank + ratio) / 2;
    }
}

static void fill_distances(const struct atoll_param *param, double *ret_distances)
{
    double places[ATOLL_PLAN_VALUE_LIMIT];
    fill_places(param, places);
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

static void fill_kinship(const struct atoll_param *param, double *ret_kinship)
{
    for (size_t i = 0; i < param->value_count; i++)
        for (size_t j = 0; j < param->value_count; j++)
            ret_kinship[i * param->value_count + j] =
                param->value_count < KIN_VALUES
                    ? 1
                    : exp(-KIN_STEEP * (1 - common_factors(param->values[i], param->values[j])));
}

struct atoll_gp_scale *atoll_gp_scale_create(const struct atoll_space *space)
{
    size_t cells = 0;
    for (size_t i = 0; i < space->count; i++)
        cells += space->params[i].value_count * space->params[i].value_count;
    struct atoll_gp_scale *s = calloc(1, sizeof *s + 3 * cells * sizeof **s->table);
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
        fill_kinship(&space->params[i], s->kinship[i]);
    }
    return s;
}

void atoll_gp_scale_destroy(struct atoll_gp_scale *scale)
{
    free(scale);
}

static double matern52(double r)
{
    double s = sqrt(5) * r;
    return (1 + s + s * s / 3) * exp(-s);
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
        double near = matern52(scale->distance[param][i] / length);
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
