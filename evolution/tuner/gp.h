/* gp.h - Gaussian process regression on the grid of a space.
 * Layer: evolution, pure.  Lifetime: create/destroy; the space is borrowed.
 *
 * Covariance of two points: the product over the parameters of c + (1 - c) k(|u - u'| / l), k the Matern kernel of
 * smoothness 5/2, u a value's place on a scale between its rank and its logarithm (Rasmussen, Williams: Gaussian
 * Processes for Machine Learning, 2006, sections 4.2 and 5.4; the constant c keeps lower orders of interaction
 * apart, as in the ANOVA kernels of Durrande et al., Annales de Toulouse 21, 2012).  Where the rows say so, k is less
 * smooth: values are nearer that have factors in common (blocks of 96 and 128 threads, not of 112), or each value
 * has a part of its own.  Values being few, k is a
 * table per parameter and a covariance is a handful of multiplications.  Rows of another run or device are
 * foreign: their covariance with ours is scaled by a factor that is fitted too, so that what does not transfer
 * does no harm.
 *
 * Own Cholesky, not LAPACK's: rows are appended one at a time, in an order the caller keeps, and the factor of
 * the same rows in the same order has the same bits however it came about; a library that may pick another
 * kernel on another processor could not promise that, and at a few hundred rows it would gain nothing.
 *
 * A pool is a set of points whose predictions are kept up to date row by row, in O(rows) per point and row. */
#ifndef ATOLL_EVOLUTION_TUNER_GP_H
#define ATOLL_EVOLUTION_TUNER_GP_H

#include "evolution/tuner/space.h"

struct atoll_gp_scale;
struct atoll_gp_scale *atoll_gp_scale_create(const struct atoll_space *space); /* NULL: no memory */
void atoll_gp_scale_destroy(struct atoll_gp_scale *scale);

/* What makes two values differ besides their places; shares of 1. */
struct atoll_gp_texture {
    double kin; /* how much depends on the factors they have in common, from three values on */
    double own; /* what each value has for itself */
};
/* Of the tables that are filled from now on; smooth at first. */
void atoll_gp_scale_texture(struct atoll_gp_scale *scale, const struct atoll_gp_texture *texture);
/* Fills the table of one parameter for a length; before anything is asked of it. */
void atoll_gp_scale_set(struct atoll_gp_scale *scale, size_t param, double length);
/* 1 for equal points, else 0..1. */
double atoll_gp_scale_covariance(const struct atoll_gp_scale *scale, const struct atoll_point *a,
                                 const struct atoll_point *b);

#define ATOLL_GP_ROW_LIMIT 256

/* Positions in the tables of gp.c; of a file: atoll_gp_kernel_valid. */
struct atoll_gp_kernel {
    uint8_t scale[ATOLL_SPACE_BYTES]; /* l */
    uint8_t noise;                    /* variance of a row's noise in units of the signal's */
    uint8_t texture;                  /* what makes a value differ from another besides its place */
    uint8_t transfer;                 /* factor between foreign rows and ours */
};

struct atoll_gp_row {
    struct atoll_point point;
    double noise; /* on top of the kernel's, in units of the signal's variance */
    uint8_t foreign;
};

enum atoll_gp_known { ATOLL_GP_UNKNOWN, ATOLL_GP_EXACT, ATOLL_GP_AT_LEAST };
struct atoll_gp_target {
    double value;
    enum atoll_gp_known known;
};

/* What rows and targets say: predictions are mean + weights . (a point's covariances, whitened). */
struct atoll_gp_weights {
    double mean, variance;
    double weights[ATOLL_GP_ROW_LIMIT];
};

struct atoll_gp;
struct atoll_gp *atoll_gp_create(const struct atoll_space *space, struct atoll_err *err);
void atoll_gp_destroy(struct atoll_gp *gp);

struct atoll_gp_kernel atoll_gp_kernel_default(void);
int atoll_gp_kernel_valid(const struct atoll_gp_kernel *kernel);
/* Better ones near kernel, by the likelihood of the targets with mean and variance profiled out, and a weak prior; at
 * most ATOLL_GP_FIT_LIMIT rows, all EXACT; foreign targets have mean 0. Returns the signal's variance. */
#define ATOLL_GP_FIT_LIMIT 96
double atoll_gp_fit(struct atoll_gp *gp, const struct atoll_gp_row *rows, const double *targets, size_t count,
                    struct atoll_gp_kernel *kernel);

/* No rows, this kernel, this pool (copied). */
int atoll_gp_reset(struct atoll_gp *gp, const struct atoll_gp_kernel *kernel, const struct atoll_point *pool,
                   size_t pool_count, struct atoll_err *err);
size_t atoll_gp_row_count(const struct atoll_gp *gp);
/* Fewer than ATOLL_GP_ROW_LIMIT rows are there. */
void atoll_gp_append(struct atoll_gp *gp, const struct atoll_gp_row *row);

/* One target per row.  An UNKNOWN row says nothing but that its point is taken: its target is what the rows before
 * it predict (the kriging believer of Ginsbourger et al., 2010); AT_LEAST is EXACT where they predict less, else
 * UNKNOWN.  mean: NULL: estimated from our own rows, with the variance; else given, and the variance is 0. */
void atoll_gp_solve(const struct atoll_gp *gp, const struct atoll_gp_target *targets, const double *mean,
                    struct atoll_gp_weights *ret_weights);

/* ret_means: one per weights; ret_variance: in units of the signal's variance, > 0. */
void atoll_gp_predict(struct atoll_gp *gp, const struct atoll_point *point,
                      const struct atoll_gp_weights *weights, size_t weights_count, double *ret_means,
                      double *ret_variance);
/* The same for the whole pool: one number per point. */
void atoll_gp_pool_means(const struct atoll_gp *gp, const struct atoll_gp_weights *weights, float *ret_means);
const float *atoll_gp_pool_variances(const struct atoll_gp *gp);
/* The kernel's noise: where times are exact, the share of the variance that each point has for itself. */
double atoll_gp_noise(const struct atoll_gp *gp);

#endif
