/* plan.c - what a parsed plan says for one choice of its parameters. */
#include "core/plan/plan.h"

#include <stdio.h>
#include <string.h>

#define BINDING_LIMIT (ATOLL_TASK_DIM_LIMIT + ATOLL_PLAN_PARAM_LIMIT)

int atoll_plan_concerns(const struct atoll_plan *plan, const struct atoll_variant *variant)
{
    return !variant->backend || strcmp(variant->backend, plan->backend) == 0;
}

size_t atoll_plan_bindings(const struct atoll_task *task, const struct atoll_variant *variant,
                           const struct atoll_plan *plan, const struct atoll_choice *choice,
                           struct atoll_binding *ret_bindings)
{
    size_t n = variant ? atoll_task_bindings(task, variant, ret_bindings) : 0;
    for (size_t i = 0; i < plan->param_count; i++, n++) {
        ret_bindings[n].name = plan->params[i].name;
        ret_bindings[n].value = choice->values[i];
    }
    return n;
}

static int uses_dims(const struct atoll_task *task, const struct atoll_expression *e)
{
    for (size_t i = 0; i < atoll_expression_name_count(e); i++) {
        for (size_t d = 0; d < task->dim_count; d++)
            if (strcmp(atoll_expression_name(e, i), task->dims[d]) == 0)
                return 1;
    }
    return 0;
}

/* ---- paths ---- */

int atoll_plan_path_at(const struct atoll_task *task, const struct atoll_plan *plan,
                       const struct atoll_variant *variant, size_t *ret_path, struct atoll_err *err)
{
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT];
    size_t n = atoll_task_bindings(task, variant, bindings), path = 0;
    for (; plan->paths[path].when; path++) {
        struct atoll_err inner = ATOLL_ERR_INIT;
        int64_t value = 0;
        if (atoll_expression_eval(plan->paths[path].when, bindings, n, &value, &inner))
            return atoll_err_set(err, ATOLL_E_INPUT, "plan: field 'paths[%zu].when' at variant '%s': %s",
                                 path, variant->name, inner.text);
        if (value)
            break;
    }
    *ret_path = path;
    return 0;
}

static int names_scratch(const struct atoll_plan *plan, const struct atoll_path *path, size_t scratch)
{
    for (size_t k = path->first; k < path->first + path->count; k++)
        for (size_t i = 0; i < plan->launches[k].arg_count; i++) {
            const struct atoll_arg *a = &plan->launches[k].args[i];
            int is_scratch =
                a->kind == ATOLL_ARG_SCRATCH || (a->kind == ATOLL_ARG_TENSORMAP && a->map->is_scratch);
            if (is_scratch && a->index == scratch)
                return 1;
        }
    return 0;
}

int atoll_plan_path_uses(const struct atoll_plan *plan, size_t path, size_t scratch)
{
    int is_elsewhere = 0;
    for (size_t i = 0; i < plan->path_count && !is_elsewhere; i++)
        is_elsewhere = i != path && names_scratch(plan, &plan->paths[i], scratch);
    return !is_elsewhere || names_scratch(plan, &plan->paths[path], scratch);
}

const char *atoll_plan_launch_field(const struct atoll_plan *plan, size_t index,
                                    char ret_field[ATOLL_PLAN_FIELD_BYTES])
{
    size_t path = 0;
    while (path + 1 < plan->path_count && index >= plan->paths[path].first + plan->paths[path].count)
        path++;
    if (plan->path_count > 1)
        snprintf(ret_field, ATOLL_PLAN_FIELD_BYTES, "paths[%zu].launch[%zu]", path,
                 index - plan->paths[path].first);
    else
        snprintf(ret_field, ATOLL_PLAN_FIELD_BYTES, "launch[%zu]", index);
    return ret_field;
}

/* ---- requirements ---- */

/* A requirement and the name of its field. */
struct requirement {
    const struct atoll_expression *e;
    size_t index;
    long path; /* -1: the plan's own */
};

static int holds_at(const struct atoll_task *task, const struct atoll_variant *variant,
                    const struct atoll_plan *plan, const struct atoll_choice *choice,
                    const struct requirement *r, struct atoll_err *err)
{
    struct atoll_binding bindings[BINDING_LIMIT];
    int64_t value = 0;
    size_t n = atoll_plan_bindings(task, variant, plan, choice, bindings);
    if (!atoll_expression_eval(r->e, bindings, n, &value, err))
        return value != 0;
    if (r->path >= 0)
        return atoll_err_add(err, "while checking plan field 'paths[%ld].require[%zu]'", r->path, r->index);
    return atoll_err_add(err, "while checking plan field 'require[%zu]'", r->index);
}

/* A path's requirement at every variant that takes it; the plan's own at all of them. */
static int requirement_holds(const struct atoll_task *task, const struct atoll_plan *plan,
                             const struct atoll_choice *choice, const struct requirement *r,
                             struct atoll_err *err)
{
    if (r->path < 0 && !uses_dims(task, r->e))
        return holds_at(task, NULL, plan, choice, r, err);
    for (size_t i = 0; i < task->variant_count; i++) {
        const struct atoll_variant *v = &task->variants[i];
        size_t path = 0;
        if (v->kind == ATOLL_VARIANT_HIDDEN || !atoll_plan_concerns(plan, v))
            continue;
        if (r->path >= 0 && atoll_plan_path_at(task, plan, v, &path, err) != 0)
            return -1;
        if (r->path >= 0 && (size_t)r->path != path)
            continue;
        int rc = holds_at(task, v, plan, choice, r, err);
        if (rc != 1)
            return rc;
    }
    return 1;
}

int atoll_plan_choice_legal(const struct atoll_task *task, const struct atoll_plan *plan,
                            const struct atoll_choice *choice, struct atoll_err *err)
{
    if (choice->count != plan->param_count) {
        return atoll_err_set(err, ATOLL_E_INPUT, "plan: %zu values chosen for %zu params", choice->count,
                             plan->param_count);
    }
    for (size_t i = 0; i < plan->param_count; i++) {
        const struct atoll_param *p = &plan->params[i];
        size_t k = 0;
        while (k < p->value_count && p->values[k] != choice->values[i])
            k++;
        if (k == p->value_count)
            return 0;
    }
    for (size_t i = 0; i < plan->require_count; i++) {
        int rc = requirement_holds(task, plan, choice, &(struct requirement){plan->require[i], i, -1}, err);
        if (rc != 1)
            return rc;
    }
    for (size_t k = 0; k < plan->path_count; k++) {
        for (size_t i = 0; i < plan->paths[k].require_count; i++) {
            struct requirement r = {plan->paths[k].require[i], i, (long)k};
            int rc = requirement_holds(task, plan, choice, &r, err);
            if (rc != 1)
                return rc;
        }
    }
    return 1;
}

/* ---- choices ---- */

void atoll_plan_first_choice(const struct atoll_plan *plan, struct atoll_choice *ret_choice)
{
    memset(ret_choice, 0, sizeof(*ret_choice));
    ret_choice->count = plan->param_count;
    for (size_t i = 0; i < plan->param_count; i++)
        ret_choice->values[i] = plan->params[i].values[0];
}

const char *atoll_choice_text(const struct atoll_plan *plan, const struct atoll_choice *choice,
                              char *ret_text, size_t bytes)
{
    size_t used = 0;
    if (bytes)
        ret_text[0] = 0;
    for (size_t i = 0; i < plan->param_count && i < choice->count && used < bytes; i++) {
        int n = snprintf(ret_text + used, bytes - used, "%s%s=%lld", i ? " " : "", plan->params[i].name,
                         (long long)choice->values[i]);
        used += n > 0 ? (size_t)n : 0;
    }
    return ret_text;
}
