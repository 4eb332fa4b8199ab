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

static int holds_at(const struct atoll_task *task, const struct atoll_variant *variant,
                    const struct atoll_plan *plan, const struct atoll_choice *choice, size_t require,
                    struct atoll_err *err)
{
    struct atoll_binding bindings[BINDING_LIMIT];
    int64_t value = 0;
    size_t n = atoll_plan_bindings(task, variant, plan, choice, bindings);
    if (atoll_expression_eval(plan->require[require], bindings, n, &value, err))
        return atoll_err_add(err, "; while checking plan field 'require[%zu]'", require);
    return value != 0;
}

static int requirement_holds(const struct atoll_task *task, const struct atoll_plan *plan,
                             const struct atoll_choice *choice, size_t require, struct atoll_err *err)
{
    if (!uses_dims(task, plan->require[require]))
        return holds_at(task, NULL, plan, choice, require, err);
    for (size_t i = 0; i < task->variant_count; i++) {
        const struct atoll_variant *v = &task->variants[i];
        if (v->kind == ATOLL_VARIANT_HIDDEN || !atoll_plan_concerns(plan, v))
            continue;
        int rc = holds_at(task, v, plan, choice, require, err);
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
        int rc = requirement_holds(task, plan, choice, i, err);
        if (rc != 1)
            return rc;
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
