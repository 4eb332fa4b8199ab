/* task.c - lookups in a task, and its numbers at a variant. */
#include "core/task/task.h"

#include <string.h>

#define ELEMENT_LIMIT ((int64_t)1 << 40)

size_t atoll_task_bindings(const struct atoll_task *task, const struct atoll_variant *variant,
                           struct atoll_binding *ret_bindings)
{
    for (size_t i = 0; i < task->dim_count; i++) {
        ret_bindings[i].name = task->dims[i];
        ret_bindings[i].value = variant->dims[i];
    }
    return task->dim_count;
}

int atoll_task_element_count(const struct atoll_task *task, size_t tensor,
                             const struct atoll_variant *variant, size_t *ret_count, struct atoll_err *err)
{
    const struct atoll_tensor *t = &task->tensors[tensor];
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT];
    size_t binding_count = atoll_task_bindings(task, variant, bindings);
    int64_t count = 1;
    for (size_t i = 0; i < t->rank; i++) {
        int64_t extent = 0;
        if (atoll_expression_eval(t->shape[i], bindings, binding_count, &extent, err))
            return atoll_err_add(err, "while sizing tensor '%s' at variant '%s'", t->name, variant->name);
        if (extent < 1) {
            return atoll_err_set(
                err, ATOLL_E_INPUT, "tensor '%s': extent '%s' is %lld at variant '%s', must be at least 1",
                t->name, atoll_expression_text(t->shape[i]), (long long)extent, variant->name);
        }
        if (extent > ELEMENT_LIMIT / count) {
            return atoll_err_set(err, ATOLL_E_LIMIT,
                                 "tensor '%s' has more than 2^40 elements at variant '%s'", t->name,
                                 variant->name);
        }
        count *= extent;
    }
    *ret_count = (size_t)count;
    return 0;
}

/* The bytes that roles say must be read or written. */
static int role_bytes(const struct atoll_task *task, const struct atoll_variant *variant,
                      struct atoll_work *work, struct atoll_err *err)
{
    for (size_t i = 0; i < task->tensor_count; i++) {
        size_t count = 0;
        if (atoll_task_element_count(task, i, variant, &count, err))
            return -1;
        double bytes = (double)count * (double)atoll_dtype_bytes(task->tensors[i].dtype);
        if (task->tensors[i].role != ATOLL_ROLE_OUT)
            work->read_bytes += bytes;
        if (task->tensors[i].role == ATOLL_ROLE_OUT || task->tensors[i].role == ATOLL_ROLE_INOUT)
            work->write_bytes += bytes;
    }
    return 0;
}

int atoll_task_work(const struct atoll_task *task, const struct atoll_variant *variant,
                    struct atoll_work *ret_work, struct atoll_err *err)
{
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT];
    size_t binding_count = atoll_task_bindings(task, variant, bindings);
    struct atoll_work work = {.is_split = task->matrix_flops != NULL};
    if (role_bytes(task, variant, &work, err))
        return -1;
    const struct {
        const char *name;
        const struct atoll_expression *e;
        double *ret;
    } rows[] = {{"flops", task->flops, &work.flops},
                {"matrix_flops", task->matrix_flops, &work.matrix_flops},
                {"reads", task->reads, &work.read_bytes},
                {"writes", task->writes, &work.write_bytes}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        int64_t value = 0;
        if (!rows[i].e)
            continue;
        if (atoll_expression_eval(rows[i].e, bindings, binding_count, &value, err))
            return atoll_err_add(err, "while computing work.%s at variant '%s'", rows[i].name, variant->name);
        if (value < 0) {
            return atoll_err_set(err, ATOLL_E_INPUT, "work.%s is %lld at variant '%s', must not be negative",
                                 rows[i].name, (long long)value, variant->name);
        }
        *rows[i].ret = (double)value;
    }
    *ret_work = work;
    return 0;
}

int atoll_task_find_tensor(const struct atoll_task *task, const char *name)
{
    for (size_t i = 0; i < task->tensor_count; i++)
        if (strcmp(task->tensors[i].name, name) == 0)
            return (int)i;
    return -1;
}

int atoll_task_segment_count(const struct atoll_task *task, const struct atoll_segment *segment,
                             const struct atoll_variant *variant, size_t *ret_count, struct atoll_err *err)
{
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT];
    size_t binding_count = atoll_task_bindings(task, variant, bindings);
    int64_t count = 0;
    if (atoll_expression_eval(segment->count, bindings, binding_count, &count, err))
        return atoll_err_add(err, "while sizing a segment at variant '%s'", variant->name);
    if (count < 1 || count > ELEMENT_LIMIT) {
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "segment '%s': count '%s' is %lld at variant '%s', must lie between 1 and 2^40",
                             segment->parameter ? segment->parameter : "",
                             atoll_expression_text(segment->count), (long long)count, variant->name);
    }
    *ret_count = (size_t)count;
    return 0;
}

int atoll_task_needs_c(const struct atoll_task *task, const char *part, struct atoll_err *err)
{
    if (!task->torch)
        return 0;
    return atoll_err_set(err, ATOLL_E_INPUT, "task '%s' is defined by PyTorch (%s); %s", task->name,
                         task->torch->file, part);
}
