/* gp_scale.h - where the values of a parameter lie, and the covariance of two points as a product of tables.
 * Layer: evolution, pure, private to gp.c.  Lifetime: create/destroy; the space is borrowed. */
#ifndef ATOLL_EVOLUTION_TUNER_GP_SCALE_H
#define ATOLL_EVOLUTION_TUNER_GP_SCALE_H

#include "evolution/tuner/space.h"

struct atoll_gp_scale;
struct atoll_gp_scale *atoll_gp_scale_create(const struct atoll_space *space); /* NULL: no memory */
void atoll_gp_scale_destroy(struct atoll_gp_scale *scale);

/* What tells two values apart besides their places; shares of 1. */
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
#endif
