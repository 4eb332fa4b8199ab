#include "core/task/task_value.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/spelling.h"

static int is_name(const char *text, size_t limit)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    size_t length = strlen(text);
    return length > 0 && length <= limit && strspn(text, letters) == length &&
           strchr(letters, text[0]) < letters + 53;
}

int atoll_value_flag(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    const char *text = atoll_document_scalar(node);
    if (!text || (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)) {
        return atoll_document_fail(d, node, "'%.32s' is neither true nor false; write one of them",
                                   text ? text : "");
    }
    *(int *)target = text[0] == 't';
    return 0;
}

int atoll_value_number(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    const char *text = atoll_document_scalar(node);
    char *end = NULL;
    double value = text ? strtod(text, &end) : 0;
    if (!text || *end || !isfinite(value) || strspn(text, "0123456789+-.eE") != strlen(text)) {
        return atoll_document_fail(d, node, "'%.40s' is not a finite number; write one like 1.0e-4",
                                   text ? text : "");
    }
    *(double *)target = value;
    return 0;
}

int atoll_value_positive(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    if (atoll_value_number(d, node, target)) {
        return -1;
    }
    return *(double *)target > 0
               ? 0
               : atoll_document_fail(d, node, "'%s' must be greater than 0", atoll_document_scalar(node));
}

int atoll_value_nonnegative(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    if (atoll_value_number(d, node, target)) {
        return -1;
    }
    return *(double *)target >= 0
               ? 0
               : atoll_document_fail(d, node, "'%s' must not be negative", atoll_document_scalar(node));
}

int atoll_value_share(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    if (atoll_value_nonnegative(d, node, target)) {
        return -1;
    }
    return *(double *)target <= 1
               ? 0
               : atoll_document_fail(d, node, "'%s' must lie between 0 and 1", atoll_document_scalar(node));
}

int atoll_value_parse_integer(const char *text, int64_t *ret)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || *end || end == text || strspn(text, "-0123456789") != strlen(text)) {
        return -1;
    }
    *ret = value;
    return 0;
}

int atoll_value_integer(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    int64_t value = 0;
    const char *text = atoll_document_scalar(node);
    if (!text || atoll_value_parse_integer(text, &value) || value > ATOLL_DIM_MAX || value < -ATOLL_DIM_MAX) {
        return atoll_document_fail(d, node, "'%.40s' is not an integer between -2^40 and 2^40",
                                   text ? text : "");
    }
    *(double *)target = (double)value;
    return 0;
}

int atoll_value_known_dim(const struct atoll_task *task, const char *name)
{
    for (size_t i = 0; i < task->dim_count; i++) {
        if (strcmp(task->dims[i], name) == 0) {
            return 1;
        }
    }
    return 0;
}

int atoll_value_expression(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    struct atoll_err inner = ATOLL_ERR_INIT;
    const char *text = atoll_document_scalar(node);
    if (!text) {
        return atoll_document_fail(d, node, "an expression over dims is expected here, like \"cdiv(N, 4)\"");
    }
    const struct atoll_expression *e = atoll_expression_parse(d->arena, text, &inner);
    if (!e) {
        return atoll_document_pass(d, node, &inner, "");
    }
    for (size_t i = 0; i < atoll_expression_name_count(e); i++) {
        const char *name = atoll_expression_name(e, i);
        const char *near = atoll_spelling_nearest(name, d->task->dims, d->task->dim_count);
        if (atoll_value_known_dim(d->task, name)) {
            continue;
        }
        if (near) {
            return atoll_document_fail(d, node, "unknown name '%s' in '%.80s'; did you mean '%s'?", name,
                                       text, near);
        }
        return atoll_document_fail(d, node, "unknown name '%s' in '%.80s'; use names listed in dims", name,
                                   text);
    }
    *(const struct atoll_expression **)target = e;
    return 0;
}

int atoll_value_name(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    const char *text = atoll_document_scalar(node);
    if (!text || !is_name(text, ATOLL_NAME_LIMIT)) {
        return atoll_document_fail(
            d, node, "name '%.40s' must match [A-Za-z_][A-Za-z0-9_]* with at most %d characters",
            text ? text : "", ATOLL_NAME_LIMIT);
    }
    return atoll_document_copy(d, text, target);
}

int atoll_value_path(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    const char *text = atoll_document_scalar(node);
    return text ? atoll_document_copy(d, text, target)
                : atoll_document_fail(d, node, "a file name is expected here, like seeds/naive.c");
}
