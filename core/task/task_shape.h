/* task_shape.h - which shapes a task allows beside those that it names.  A task says nothing of it: K experts of E, an
 * even G and a V that is 2 E hold in its reference alone.  So a shape is taken for allowed that lies within the task's
 * own extents and shares whatever all of the task's variants have in common, known by comparing them.
 * Layer: core.  Pure. */
#ifndef ATOLL_CORE_TASK_TASK_SHAPE_H
#define ATOLL_CORE_TASK_TASK_SHAPE_H

#include "core/task/task.h"

#define ATOLL_TASK_SHAPE_RULE_LIMIT 512

enum atoll_task_shape_rule_kind {
    ATOLL_SHAPE_AT_MOST,    /* dims i <= dims j */
    ATOLL_SHAPE_MULTIPLE,   /* dims i is a multiple of dims j */
    ATOLL_SHAPE_LINE,       /* (dims i - a) * d == (dims j - b) * c */
    ATOLL_SHAPE_PRODUCT,    /* dims i == dims j * dims k */
    ATOLL_SHAPE_SUM,        /* dims i == dims j + dims k + a */
    ATOLL_SHAPE_DIFFERENCE, /* dims i == dims j - dims k + a */
};

struct atoll_task_shape_rule {
    enum atoll_task_shape_rule_kind kind;
    unsigned char i, j, k;
    int64_t a, b, c, d;
};

struct atoll_task_shape {
    int64_t least[ATOLL_TASK_DIM_LIMIT], most[ATOLL_TASK_DIM_LIMIT];
    int64_t divisor
        [ATOLL_TASK_DIM_LIMIT]; /* of a dim at every variant; of fewer than 3 values its power of two */
    size_t rule_count;          /* of more than the limit the first are kept */
    struct atoll_task_shape_rule rules[ATOLL_TASK_SHAPE_RULE_LIMIT];
};

/* A line through two dims takes 3 different values to be believed, a rule of three dims 4 variants. */
void atoll_task_shape_find(const struct atoll_task *task, struct atoll_task_shape *ret_shape);
/* 1 when the task's tensors, inits, units and work make sense at a variant and the rules hold there, else 0. */
int atoll_task_shape_allows(const struct atoll_task *task, const struct atoll_task_shape *shape,
                            const struct atoll_variant *variant);

#endif
