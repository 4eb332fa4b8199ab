/* Parameters are set in the plan's order; a requirement is evaluated when the last parameter it names is set,
 * at every check and bench variant of its backend (those it holds at, as in atoll_plan_choice_legal). */
#include "evolution/legal.h"

#include <string.h>

#include "core/plan_place.h"

struct dive {
    const struct atoll_task *task;
    const struct atoll_plan *plan;
    struct atoll_random *random;
    unsigned nodes_left;
    atoll_legal_accept *accept;
    const void *context;
    size_t due[ATOLL_PLAN_REQUIRE_LIMIT]; /* the parameter after which it can be evaluated */
    struct atoll_choice choice;
    uint8_t digits[ATOLL_PLAN_PARAM_LIMIT];
};

static size_t due_of(const struct atoll_plan *plan, const struct atoll_expression *require)
{
    size_t due = 0;
    for (size_t n = 0; n < atoll_expression_name_count(require); n++)
        for (size_t i = 0; i < plan->param_count; i++)
            if (!strcmp(plan->params[i].name, atoll_expression_name(require, n)) && i > due)
                due = i;
    return due;
}

static int holds(const struct dive *d, const struct atoll_expression *require)
{
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT + ATOLL_PLAN_PARAM_LIMIT];
    for (size_t v = 0; v < d->task->variant_count; v++) {
        const struct atoll_variant *variant = &d->task->variants[v];
        int64_t value;
        if (variant->kind == ATOLL_VARIANT_HIDDEN || !atoll_plan_concerns(d->plan, variant))
            continue;
        size_t count = atoll_plan_bindings(d->task, variant, d->plan, &d->choice, bindings);
        if (atoll_expression_eval(require, bindings, count, &value, NULL) || !value)
            return 0;
    }
    return 1;
}

static int may_go_on(const struct dive *d, size_t set)
{
    for (size_t i = 0; i < d->plan->require_count; i++)
        if (d->due[i] == set && !holds(d, d->plan->require[i]))
            return 0;
    return 1;
}

/* Sets parameter at and all after it. */
static int descend(struct dive *d, size_t at)
{
    if (at == d->plan->param_count)
        return d->accept(d->context, d->digits);
    const struct atoll_param *p = &d->plan->params[at];
    size_t start = atoll_random_below(atoll_random_next(d->random), p->value_count);
    for (size_t k = 0; k < p->value_count && d->nodes_left; k++) {
        size_t digit = (start + k) % p->value_count;
        d->nodes_left--;
        d->digits[at] = (uint8_t)digit;
        d->choice.values[at] = p->values[digit];
        if (may_go_on(d, at) && descend(d, at + 1))
            return 1;
    }
    return 0;
}

int atoll_legal_search(const struct atoll_task *task, const struct atoll_plan *plan,
                       struct atoll_random *random, unsigned node_limit, atoll_legal_accept *accept,
                       const void *context, uint8_t ret_digits[ATOLL_PLAN_PARAM_LIMIT])
{
    struct dive d = {.task = task,
                     .plan = plan,
                     .random = random,
                     .nodes_left = node_limit,
                     .accept = accept,
                     .context = context};
    for (size_t i = 0; i < plan->require_count; i++)
        d.due[i] = due_of(plan, plan->require[i]);
    atoll_plan_first_choice(plan, &d.choice);
    if (!descend(&d, 0))
        return 0;
    memcpy(ret_digits, d.digits, sizeof d.digits);
    return 1;
}
