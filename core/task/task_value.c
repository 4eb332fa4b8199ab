/* task_value.c - single values of task.yaml: names, integers, expressions over dims. */
#include "core/task/task_parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/spelling.h"

struct atoll_task_parse *atoll_task_parse_of(const struct atoll_yaml_walk *w)
{
    return w->owner;
}

struct atoll_task *atoll_task_of(const struct atoll_yaml_walk *w)
{
    return atoll_task_parse_of(w)->task;
}

int atoll_task_pass(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node,
                    const struct atoll_err *inner)
{
    return inner->code == ATOLL_E_MEMORY ? atoll_yaml_pass(w, node, inner)
                                         : atoll_yaml_fail(w, node, "%s", inner->text);
}

int atoll_task_copy(struct atoll_yaml_walk *w, const char *text, const char **ret)
{
    *ret = atoll_arena_text(w->arena, text, strlen(text), w->err);
    return *ret ? 0 : -1;
}

int atoll_task_parse_integer(const char *text, int64_t *ret)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || *end || end == text || strspn(text, "-0123456789") != strlen(text))
        return -1;
    *ret = value;
    return 0;
}

int atoll_task_is_dim(const struct atoll_task *task, const char *name)
{
    for (size_t i = 0; i < task->dim_count; i++)
        if (strcmp(task->dims[i], name) == 0)
            return 1;
    return 0;
}

int atoll_task_read_expression(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_err inner = ATOLL_ERR_INIT;
    const char *text = atoll_yaml_scalar(node);
    if (!text)
        return atoll_yaml_fail(w, node, "an expression over dims is expected here, like \"cdiv(N, 4)\"");
    const struct atoll_expression *e = atoll_expression_parse(w->arena, text, &inner);
    if (!e)
        return atoll_task_pass(w, node, &inner);
    for (size_t i = 0; i < atoll_expression_name_count(e); i++) {
        const char *name = atoll_expression_name(e, i);
        if (atoll_task_is_dim(atoll_task_of(w), name))
            continue;
        const char *near = atoll_spelling_nearest(name, atoll_task_of(w)->dims, atoll_task_of(w)->dim_count);
        if (near) {
            return atoll_yaml_fail(w, node, "unknown name '%s' in '%.80s'; did you mean '%s'?", name, text,
                                   near);
        }
        return atoll_yaml_fail(w, node, "unknown name '%s' in '%.80s'; use names listed in dims", name, text);
    }
    *(const struct atoll_expression **)target = e;
    return 0;
}

int atoll_task_read_name(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    const char *text = atoll_yaml_scalar(node);
    if (!text || strlen(text) > ATOLL_NAME_LIMIT || strspn(text, letters) != strlen(text) ||
        (text[0] >= '0' && text[0] <= '9')) {
        return atoll_yaml_fail(w, node,
                               "name '%.40s' must match [A-Za-z_][A-Za-z0-9_]* with at most %d characters",
                               text ? text : "", ATOLL_NAME_LIMIT);
    }
    return atoll_task_copy(w, text, target);
}

int atoll_task_read_word(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789-";
    const char *text = atoll_yaml_scalar(node);
    if (!text || strlen(text) > ATOLL_NAME_LIMIT || strspn(text, letters) != strlen(text) ||
        (text[0] >= '0' && text[0] <= '9') || text[0] == '-') {
        return atoll_yaml_fail(w, node,
                               "name '%.40s' must match [A-Za-z_][A-Za-z0-9_-]* with at most %d characters",
                               text ? text : "", ATOLL_NAME_LIMIT);
    }
    return atoll_task_copy(w, text, target);
}
