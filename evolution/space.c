#include "evolution/space.h"

#include <string.h>

static int plan_legal(const void *context, const struct atoll_point *point)
{
    const struct atoll_space_of_plan *of = context;
    struct atoll_choice c;
    memset(&c, 0, sizeof c);
    c.count = of->plan->param_count;
    for (size_t i = 0; i < c.count; i++)
        c.values[i] = of->plan->params[i].values[point->digits[i]];
    return atoll_plan_choice_legal(of->task, of->plan, &c, NULL) == 1;
}

void atoll_space_init_plan(struct atoll_space *space, const struct atoll_space_of_plan *of)
{
    memset(space, 0, sizeof *space);
    space->count = of->plan->param_count;
    memcpy(space->params, of->plan->params, space->count * sizeof *space->params);
    space->legal = plan_legal;
    space->context = of;
}

struct atoll_choice atoll_space_choice(const struct atoll_space *space, const struct atoll_point *point)
{
    struct atoll_choice c;
    memset(&c, 0, sizeof c);
    c.count = space->count;
    for (size_t i = 0; i < c.count; i++)
        c.values[i] = space->params[i].values[point->digits[i]];
    return c;
}

int atoll_space_point(const struct atoll_space *space, const struct atoll_choice *choice,
                      struct atoll_point *ret_point)
{
    struct atoll_point point;
    memset(&point, 0, sizeof point);
    if (choice->count != space->count)
        return 0;
    for (size_t i = 0; i < space->count; i++) {
        const struct atoll_param *p = &space->params[i];
        size_t v = 0;
        while (v < p->value_count && p->values[v] != choice->values[i])
            v++;
        if (v == p->value_count)
            return 0;
        point.digits[i] = (uint8_t)v;
    }
    *ret_point = point;
    return 1;
}

uint64_t atoll_space_size(const struct atoll_space *space)
{
    uint64_t size = 1;
    for (size_t i = 0; i < space->count; i++)
        if (__builtin_mul_overflow(size, space->params[i].value_count, &size))
            return UINT64_MAX;
    return size;
}
