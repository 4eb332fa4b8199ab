/* task_rival.c - rivals of a task: what PyTorch makes of it, named among the baselines of task.yaml. */
#include "core/task/task_parse.h"

#include <string.h>

#include "base/arena.h"

#define EXPRESSION_LIMIT 8192 /* bytes */

static const char *const mode_names[ATOLL_TORCH_MODE_COUNT] = {
    [ATOLL_TORCH_EAGER] = "eager",
    [ATOLL_TORCH_COMPILE] = "compile",
    [ATOLL_TORCH_MAX_AUTOTUNE] = "max-autotune",
};

const char *atoll_torch_mode_name(enum atoll_torch_mode mode)
{
    return (unsigned)mode < ATOLL_TORCH_MODE_COUNT ? mode_names[mode] : "?";
}

int atoll_task_add_rival(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, const char *name,
                         const char *expression, enum atoll_torch_mode mode)
{
    struct atoll_task *task = atoll_task_of(w);
    if (strlen(name) > ATOLL_NAME_LIMIT) {
        return atoll_yaml_fail(w, node,
                               "torch baseline '%.60s': a name has at most %d characters; shorten it", name,
                               ATOLL_NAME_LIMIT);
    }
    if (strcmp(expression, "module") == 0) {
        if (!task->torch) {
            return atoll_yaml_fail(
                w, node, "'torch: module' needs a reference {torch: ...}; write an expression instead");
        }
        expression = NULL;
    }
    if (expression && strlen(expression) > EXPRESSION_LIMIT) {
        return atoll_yaml_fail(w, node, "an expression of torch has at most %d bytes; shorten it",
                               EXPRESSION_LIMIT);
    }
    for (size_t i = 0; i < task->rival_count; i++) {
        if (strcmp(task->rivals[i].name, name) == 0) {
            return atoll_yaml_fail(w, node, "two torch baselines are called '%s'; give one another name",
                                   name);
        }
    }
    if (task->rival_count == ATOLL_TASK_RIVAL_LIMIT)
        return atoll_yaml_fail(w, node, "more than %d torch baselines; remove some", ATOLL_TASK_RIVAL_LIMIT);
    task->rivals[task->rival_count++] = (struct atoll_rival_spec){name, expression, mode};
    return 0;
}

/* Expressions see torch under this name, and the task's own names before all others. */
static int check_names(struct atoll_task_parse *p, const struct atoll_yaml_node *root)
{
    static const char *const taken[] = {
        "torch", "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",
        "break", "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",
        "for",   "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal",
        "not",   "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
    for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++) {
        if (atoll_task_is_dim(p->task, taken[i]) || atoll_task_find_tensor(p->task, taken[i]) >= 0) {
            return atoll_yaml_fail(&p->walk, root,
                                   "name '%s' means something else in Python, and this task has torch "
                                   "baselines; rename that dim or tensor",
                                   taken[i]);
        }
    }
    return 0;
}

int atoll_task_settle_rivals(struct atoll_task_parse *p, const struct atoll_yaml_node *root)
{
    struct atoll_task *task = p->task;
    if (task->torch && !task->rival_count)
        while (task->rival_count < ATOLL_TORCH_MODE_COUNT) {
            enum atoll_torch_mode mode = (enum atoll_torch_mode)task->rival_count;
            task->rivals[task->rival_count++] = (struct atoll_rival_spec){mode_names[mode], NULL, mode};
        }
    return task->rival_count ? check_names(p, root) : 0;
}
