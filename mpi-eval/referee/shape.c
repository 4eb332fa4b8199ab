#include "mpi-eval/referee/shape.h"

#include <stdio.h>

int atoll_shape_of(const struct atoll_task *task, size_t tensor, const struct atoll_variant *variant,
                   struct atoll_shape *ret_shape, struct atoll_err *err)
{
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT];
    size_t bound = atoll_task_bindings(task, variant, bindings);
    const struct atoll_tensor *t = &task->tensors[tensor];
    struct atoll_shape s = {.rank = t->rank};
    if (atoll_task_element_count(task, tensor, variant, &s.count, err) != 0)
        return -1;
    for (size_t i = 0; i < t->rank; i++) {
        int64_t extent;
        if (atoll_expression_eval(t->shape[i], bindings, bound, &extent, err) != 0)
            return -1;
        s.extent[i] = (size_t)extent;
    }
    *ret_shape = s;
    return 0;
}

const char *atoll_shape_index_text(const struct atoll_shape *shape, const char *name, size_t index,
                                   char *ret_text, size_t bytes)
{
    size_t at[ATOLL_TASK_RANK_LIMIT] = {0};
    for (size_t i = shape->rank; i-- > 0;) {
        at[i] = index % shape->extent[i];
        index /= shape->extent[i];
    }
    int n = snprintf(ret_text, bytes, "%s[", name);
    for (size_t i = 0; i < shape->rank && n >= 0 && (size_t)n < bytes; i++)
        n += snprintf(ret_text + n, bytes - (size_t)n, "%s%zu", i ? ", " : "", at[i]);
    if (n >= 0 && (size_t)n < bytes)
        snprintf(ret_text + n, bytes - (size_t)n, "]");
    return ret_text;
}

size_t atoll_shape_columns(const struct atoll_shape *shape)
{
    return shape->rank ? shape->extent[shape->rank - 1] : 1;
}

size_t atoll_shape_rows(const struct atoll_shape *shape)
{
    return shape->rank > 1 ? shape->extent[shape->rank - 2] : 1;
}
