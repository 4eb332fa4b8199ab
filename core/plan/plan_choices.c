#include "core/plan/plan_choices.h"

#include <string.h>

#include "base/random.h"

#define TRIES 500 /* to find a legal combination at random */
#define DRAWS 100 /* of which the one that covers most is taken */

/* Adds what is legal and not there yet: 1, or 0. */
static int add_choice(struct atoll_plan_choices *c, const struct atoll_task *task,
                      const struct atoll_plan *plan, const struct atoll_choice *choice)
{
    for (size_t i = 0; i < c->count; i++)
        if (memcmp(c->choices[i].values, choice->values, choice->count * sizeof(*choice->values)) == 0)
            return 0;
    if (c->count == ATOLL_PLAN_CHOICES_LIMIT || atoll_plan_choice_legal(task, plan, choice, NULL) != 1)
        return 0;
    c->choices[c->count++] = *choice;
    return 1;
}

/* A legal combination at random, with parameter `fixed` as it is; SIZE_MAX: none is fixed. */
static int add_random(struct atoll_plan_choices *c, const struct atoll_task *task,
                      const struct atoll_plan *plan, struct atoll_choice choice, size_t fixed)
{
    for (uint64_t try = 0; try < TRIES; try++) {
        for (size_t i = 0; i < choice.count; i++) {
            uint64_t bits = atoll_random_at(c->count * TRIES + try, i + 1);
            if (i != fixed)
                choice.values[i] =
                    plan->params[i].values[atoll_random_below(bits, plan->params[i].value_count)];
        }
        if (add_choice(c, task, plan, &choice))
            return 1;
    }
    return 0;
}

static int has_value(const struct atoll_plan_choices *c, size_t param, int64_t value)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->choices[i].values[param] == value)
            return 1;
    return 0;
}

void atoll_plan_choices_extremes(const struct atoll_task *task, const struct atoll_plan *plan, unsigned more,
                                 struct atoll_plan_choices *ret_choices)
{
    struct atoll_choice first;
    ret_choices->count = 0;
    atoll_plan_first_choice(plan, &first);
    add_choice(ret_choices, task, plan, &first);
    for (size_t i = 0; i < plan->param_count; i++) {
        const struct atoll_param *p = &plan->params[i];
        int64_t low = p->values[0], high = p->values[0];
        for (size_t k = 1; k < p->value_count; k++) {
            low = p->values[k] < low ? p->values[k] : low;
            high = p->values[k] > high ? p->values[k] : high;
        }
        for (unsigned k = 0; k < 2; k++) {
            struct atoll_choice extreme = first;
            extreme.values[i] = k ? high : low;
            if (!has_value(ret_choices, i, extreme.values[i]) &&
                !add_choice(ret_choices, task, plan, &extreme))
                add_random(ret_choices, task, plan, extreme, i);
        }
    }
    while (more-- > 0 && add_random(ret_choices, task, plan, first, SIZE_MAX))
        ;
}

static size_t count_new(const struct atoll_plan_choices *c, const struct atoll_choice *choice)
{
    size_t count = 0;
    for (size_t i = 0; i < choice->count; i++)
        count += !has_value(c, i, choice->values[i]);
    return count;
}

/* Another value of a parameter: one that is nowhere yet, else the first. */
static int64_t draw(const struct atoll_plan_choices *c, const struct atoll_param *p, size_t param,
                    uint64_t bits)
{
    size_t at = atoll_random_below(bits, p->value_count);
    for (size_t k = 0; k < p->value_count; k++) {
        int64_t value = p->values[(at + k) % p->value_count];
        if (!has_value(c, param, value))
            return value;
    }
    return p->values[0];
}

/* One with this value of a parameter, of those that were drawn the one with most values that are new. */
static void add_covering(struct atoll_plan_choices *c, const struct atoll_task *task,
                         const struct atoll_plan *plan, const struct atoll_choice *with, size_t fixed)
{
    struct atoll_choice best = *with;
    size_t most = atoll_plan_choice_legal(task, plan, with, NULL) == 1 ? count_new(c, with) : 0;
    for (uint64_t try = 0; try < DRAWS; try++) {
        struct atoll_choice choice = *with;
        for (size_t i = 0; i < choice.count; i++) {
            uint64_t bits = atoll_random_at(c->count * DRAWS + try, i + 1);
            if (i != fixed &&
                bits & 1) /* else the first: what is asked of several seldom holds of all at random */
                choice.values[i] = draw(c, &plan->params[i], i, bits >> 1);
        }
        if (count_new(c, &choice) > most && atoll_plan_choice_legal(task, plan, &choice, NULL) == 1) {
            most = count_new(c, &choice);
            best = choice;
        }
    }
    if (most == 0 || !add_choice(c, task, plan, &best))
        add_random(c, task, plan, *with, fixed);
}

void atoll_plan_choices_cover(const struct atoll_task *task, const struct atoll_plan *plan,
                              struct atoll_plan_choices *ret_choices)
{
    struct atoll_choice first;
    ret_choices->count = 0;
    atoll_plan_first_choice(plan, &first);
    add_choice(ret_choices, task, plan, &first);
    for (size_t i = 0; i < plan->param_count; i++)
        for (size_t k = 0; k < plan->params[i].value_count; k++) {
            struct atoll_choice with = first;
            with.values[i] = plan->params[i].values[k];
            if (!has_value(ret_choices, i, with.values[i]))
                add_covering(ret_choices, task, plan, &with, i);
        }
}
