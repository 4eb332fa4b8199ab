#include "evolution/tuner/space.h"

#include <string.h>

static struct atoll_choice choice_of(const struct atoll_plan *plan, const struct atoll_point *point)
{
    struct atoll_choice c;
    memset(&c, 0, sizeof(c));
    c.count = plan->param_count;
    for (size_t i = 0; i < c.count; i++) {
        c.values[i] = plan->params[i].values[point->digits[i]];
    }
    return c;
}

static int plan_legal(const void *context, const struct atoll_point *point)
{
    const struct atoll_space_of_plan *of = context;
    struct atoll_choice c = choice_of(of->plan, point);
    return atoll_plan_choice_legal(of->task, of->plan, &c, NULL) == 1;
}

static size_t due_of(const struct atoll_plan *plan, const struct atoll_expression *require)
{
    size_t due = 1;
    for (size_t n = 0; n < atoll_expression_name_count(require); n++) {
        for (size_t i = due; i < plan->param_count; i++) {
            if (!strcmp(plan->params[i].name, atoll_expression_name(require, n))) {
                due = i + 1;
            }
        }
    }
    return due;
}

/* At every check and bench variant of the plan's backend, as in atoll_plan_choice_legal. */
static int holds(const struct atoll_space_of_plan *of, const struct atoll_choice *choice,
                 const struct atoll_expression *require)
{
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT + ATOLL_PLAN_PARAM_LIMIT];
    for (size_t v = 0; v < of->task->variant_count; v++) {
        const struct atoll_variant *variant = &of->task->variants[v];
        int64_t value;
        if (variant->kind == ATOLL_VARIANT_HIDDEN || !atoll_plan_concerns(of->plan, variant)) {
            continue;
        }
        size_t count = atoll_plan_bindings(of->task, variant, of->plan, choice, bindings);
        if (atoll_expression_eval(require, bindings, count, &value, NULL) || !value) {
            return 0;
        }
    }
    return 1;
}

/* Shorter prefixes were asked before: only what the last digit made known is evaluated. */
static int plan_prefix(const void *context, const struct atoll_point *point, size_t known)
{
    const struct atoll_space_of_plan *of = context;
    struct atoll_choice c = choice_of(of->plan, point);
    for (size_t i = 0; i < of->plan->require_count; i++) {
        if (of->due[i] == known && !holds(of, &c, of->plan->require[i])) {
            return 0;
        }
    }
    return 1;
}

void atoll_space_init_plan(struct atoll_space *space, struct atoll_space_of_plan *of)
{
    memset(space, 0, sizeof(*space));
    space->count = of->plan->param_count;
    memcpy(space->params, of->plan->params, space->count * sizeof(*space->params));
    for (size_t i = 0; i < of->plan->require_count; i++) {
        of->due[i] = (uint8_t)due_of(of->plan, of->plan->require[i]);
    }
    space->legal = plan_legal;
    space->prefix = plan_prefix;
    space->context = of;
}

struct atoll_choice atoll_space_choice(const struct atoll_space *space, const struct atoll_point *point)
{
    struct atoll_choice c;
    memset(&c, 0, sizeof(c));
    c.count = space->count;
    for (size_t i = 0; i < c.count; i++) {
        c.values[i] = space->params[i].values[point->digits[i]];
    }
    return c;
}

int atoll_space_point(const struct atoll_space *space, const struct atoll_choice *choice,
                      struct atoll_point *ret_point)
{
    struct atoll_point point;
    memset(&point, 0, sizeof(point));
    if (choice->count != space->count) {
        return 0;
    }
    for (size_t i = 0; i < space->count; i++) {
        const struct atoll_param *p = &space->params[i];
        size_t v = 0;
        while (v < p->value_count && p->values[v] != choice->values[i]) {
            v++;
        }
        if (v == p->value_count) {
            return 0;
        }
        point.digits[i] = (uint8_t)v;
    }
    *ret_point = point;
    return 1;
}
