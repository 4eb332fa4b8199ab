/* plan_place.h - a plan's expressions evaluated at one variant, with errors that name the field.
 * Layer: core, private to plan*.c. */
#ifndef ATOLL_CORE_PLAN_PLAN_PLACE_H
#define ATOLL_CORE_PLAN_PLAN_PLACE_H

#include "core/plan/plan.h"

#define ATOLL_PLAN_FIELD_BYTES   96
#define ATOLL_PLAN_BINDING_LIMIT (ATOLL_TASK_DIM_LIMIT + ATOLL_PLAN_PARAM_LIMIT)

struct atoll_plan_place {
    const struct atoll_task *task;
    const struct atoll_plan *plan;
    const struct atoll_variant *variant;
    size_t binding_count;
    struct atoll_binding bindings[ATOLL_PLAN_BINDING_LIMIT];
    struct atoll_err *err;
};

/* choice has as many values as the plan has params. */
void atoll_plan_place_init(struct atoll_plan_place *place, const struct atoll_task *task,
                           const struct atoll_plan *plan, const struct atoll_choice *choice,
                           const struct atoll_variant *variant, struct atoll_err *err);
/* Evaluates e and checks low <= value <= high; NULL means absent: ret_value is left alone and all is well.
 * ret_value may be NULL.  Errors: ATOLL_E_INPUT "plan: field 'launch[0].grid[1]': 'N / 2' is 0 at variant ..." */
int atoll_plan_place_value(const struct atoll_plan_place *place, const struct atoll_expression *e,
                           int64_t low, int64_t high, const char *field, int64_t *ret_value);

#endif
