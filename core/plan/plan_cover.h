/* plan_cover.h - the shapes that a plan with paths needs beside the task's own: a path that a bench variant takes is only
 * checked when a check variant and a hidden one take it too.  Where none does, one is made from the bench variant, scaled
 * down within what the task allows (task_shape.h), at which the path is taken and its plan is sound.
 * Layer: core.  Pure. */
#ifndef ATOLL_CORE_PLAN_PLAN_COVER_H
#define ATOLL_CORE_PLAN_PLAN_COVER_H

#include "core/plan/plan.h"

#define ATOLL_PLAN_MADE_LIMIT (2 * ATOLL_PLAN_PATH_LIMIT)

/* Variants "check.path[0]" and "hidden.path[0]"; those of a plan without paths are none. */
struct atoll_plan_cover {
    size_t count;
    struct atoll_variant variants[ATOLL_PLAN_MADE_LIMIT];
    unsigned char paths[ATOLL_PLAN_MADE_LIMIT];
};

/* salt: which of the many shapes hidden ones have; check variants have the same for every salt, and whether there are any does not
 * depend on it.  -1 with ATOLL_E_INPUT where a path that is measured cannot be checked: no smaller shape takes it. */
int atoll_plan_cover(const struct atoll_task *task, const struct atoll_plan *plan,
                     const struct atoll_choice *choice, uint64_t salt, struct atoll_plan_cover *ret_cover,
                     struct atoll_err *err);

#endif
