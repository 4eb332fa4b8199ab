/* space.h - a grid of parameter values, which of its points are legal (of a template's plan, or of a recorded space), and the
 * legal points without the product of the values: listed, the first one, random ones where they are rare.
 * Layer: evolution, pure but for the random stream.  Plain value; immutable while a tuner uses it; what it points to is
 * borrowed.  A point is a row of digits, one per parameter: the position of its value.  Points are searched depth first over
 * the digits; a partial point is dropped as soon as the space's prefix predicate refuses it. */
#ifndef ATOLL_EVOLUTION_TUNER_SPACE_H
#define ATOLL_EVOLUTION_TUNER_SPACE_H

#include "base/random.h"
#include "core/plan/plan.h"

#define ATOLL_SPACE_BYTES ATOLL_PLAN_PARAM_LIMIT

/* Unused digits are 0. */
struct atoll_point {
    uint8_t digits[ATOLL_SPACE_BYTES];
};

/* 1 when the point is legal, 0 when not. */
typedef int atoll_space_legal(const void *context, const struct atoll_point *point);
/* 0 when no legal point starts with these first `known` digits; 1 when one may.  NULL: nothing is known of parts. */
typedef int atoll_space_prefix(const void *context, const struct atoll_point *point, size_t known);

struct atoll_space {
    size_t count;                                 /* parameters, 0..ATOLL_PLAN_PARAM_LIMIT */
    struct atoll_param params[ATOLL_SPACE_BYTES]; /* values in their natural order where they are ordered */
    atoll_space_legal *legal;
    atoll_space_prefix *prefix;
    const void *context;
};

/* Of a plan on a task, both borrowed: legal is atoll_plan_choice_legal; a prefix is refused when a requirement over
 * its parameters alone does not hold.  Fill task and plan; the rest is atoll_space_init_plan's. */
struct atoll_space_of_plan {
    const struct atoll_task *task;
    const struct atoll_plan *plan;
    uint8_t due[ATOLL_PLAN_REQUIRE_LIMIT]; /* how many parameters a requirement needs to be known */
    uint8_t path_due[ATOLL_PLAN_PATH_LIMIT][ATOLL_PLAN_REQUIRE_LIMIT];
};
void atoll_space_init_plan(struct atoll_space *space, struct atoll_space_of_plan *of);

struct atoll_choice atoll_space_choice(const struct atoll_space *space, const struct atoll_point *point);
/* 1, or 0 when a value is not one of the parameter's. */
int atoll_space_point(const struct atoll_space *space, const struct atoll_choice *choice,
                      struct atoll_point *ret_point);

/* 1: go on; 0: enough. */
typedef int atoll_legal_visit(void *context, const struct atoll_point *point);
/* Every legal point in the order of the digits.  1: all were visited; 0: visit stopped it, or node_limit values
 * were tried before the end. */
int atoll_legal_list(const struct atoll_space *space, uint64_t node_limit, atoll_legal_visit *visit,
                     void *context);

/* accept decides finally, legality included.  1: ret_point is one that it took; 0: there is none, or none was found
 * within node_limit values tried. */
typedef int atoll_legal_accept(const void *context, const struct atoll_point *point);
int atoll_legal_search(const struct atoll_space *space, struct atoll_random *random, unsigned node_limit,
                       atoll_legal_accept *accept, const void *context, struct atoll_point *ret_point);

/* The same, nearly uniform over the accepted points: of a few searches one, in proportion to what it stands for, the
 * product of the choices it had (Knuth, Mathematics of Computation 29, 1975; importance resampling). */
int atoll_legal_sample(const struct atoll_space *space, struct atoll_random *random, unsigned node_limit,
                       atoll_legal_accept *accept, const void *context, struct atoll_point *ret_point);

#endif
