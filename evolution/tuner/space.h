/* space.h - a grid of parameter values and which of its points are legal: of a template's plan, or of a recorded space.
 * Layer: evolution, pure.  Plain value; immutable while a tuner uses it; what it points to is borrowed.
 * A point is a row of digits, one per parameter: the position of its value. */
#ifndef ATOLL_EVOLUTION_TUNER_SPACE_H
#define ATOLL_EVOLUTION_TUNER_SPACE_H

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
};
void atoll_space_init_plan(struct atoll_space *space, struct atoll_space_of_plan *of);

struct atoll_choice atoll_space_choice(const struct atoll_space *space, const struct atoll_point *point);
/* 1, or 0 when a value is not one of the parameter's. */
int atoll_space_point(const struct atoll_space *space, const struct atoll_choice *choice,
                      struct atoll_point *ret_point);

#endif
