/* shape_trials.c - legal points in the order of their cost. */
#include "evolution/tuner/shape_trials.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NODES  (1u << 15) /* values tried */
#define POINTS (1u << 13) /* legal ones looked at */

struct ranked {
    struct atoll_point point;
    double cost;
    uint32_t order; /* of the listing */
};

struct listing {
    const struct atoll_space *space;
    const enum atoll_shape_role *roles;
    atoll_shape_cost *cost;
    void *context;
    struct ranked *items;
    size_t count;
    uint32_t seen;
};

static int visit(void *context, const struct atoll_point *point)
{
    struct listing *l = context;
    struct ranked one = {*point, l->cost(l->context, point), l->seen++};
    if (one.cost > 0)
        l->items[l->count++] = one;
    return l->count < POINTS;
}

static int compare(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static size_t differences(const struct listing *l, const struct atoll_point *a, const struct atoll_point *b,
                          int with_role)
{
    size_t count = 0;
    for (size_t i = 0; i < l->space->count; i++)
        count += (l->roles[i] != ATOLL_SHAPE_NONE) == with_role && a->digits[i] != b->digits[i];
    return count;
}

/* Sizes that differ from all before in one value only are as good as tried. */
static int is_far(const struct listing *l, const struct atoll_point *point, const struct atoll_point *taken,
                  size_t count, size_t apart)
{
    for (size_t i = 0; i < count; i++)
        if (differences(l, point, &taken[i], 1) < apart)
            return 0;
    return 1;
}

/* Of the points with these sizes the one whose other values were tried least; nobody knows which of them are good. */
static struct atoll_point vary(const struct listing *l, const struct atoll_point *point,
                               const struct atoll_point *taken, size_t count)
{
    struct atoll_point best = *point;
    size_t most = 0;
    for (size_t i = 0; count && i < l->count; i++) {
        size_t least = SIZE_MAX;
        if (differences(l, &l->items[i].point, point, 1))
            continue;
        for (size_t k = 0; k < count; k++) {
            size_t d = differences(l, &l->items[i].point, &taken[k], 0);
            least = d < least ? d : least;
        }
        if (least > most) {
            most = least;
            best = l->items[i].point;
        }
    }
    return best;
}

static size_t choose(struct listing *l, size_t limit, struct atoll_point *ret_points)
{
    size_t sized = 0, count = 0;
    for (size_t i = 0; i < l->space->count; i++)
        sized += l->roles[i] != ATOLL_SHAPE_NONE;
    qsort(l->items, l->count, sizeof(*l->items), compare);
    if (!sized || !l->count ||
        l->items[0].cost == l->items[l->count - 1].cost) /* nothing is known of these params */
        return 0;
    for (size_t apart = sized > 2 ? 2 : 1; apart; apart--)
        for (size_t i = 0; i < l->count && count < limit; i++)
            if (is_far(l, &l->items[i].point, ret_points, count, apart)) {
                ret_points[count] = vary(l, &l->items[i].point, ret_points, count);
                count++;
            }
    return count;
}

int atoll_shape_trials(const struct atoll_space *space, const enum atoll_shape_role *roles,
                       atoll_shape_cost *cost, void *context, size_t limit, struct atoll_point *ret_points,
                       size_t *ret_count, struct atoll_err *err)
{
    struct listing l = {.space = space, .roles = roles, .cost = cost, .context = context};
    l.items = malloc(POINTS * sizeof(*l.items));
    *ret_count = 0;
    if (!l.items)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the first trials of a template");
    atoll_legal_list(space, NODES, visit, &l);
    *ret_count = choose(&l, limit < ATOLL_SHAPE_LIMIT ? limit : ATOLL_SHAPE_LIMIT, ret_points);
    free(l.items);
    return 0;
}

/* ---- of a plan ---- */

struct of_plan {
    const struct atoll_task *task;
    const struct atoll_plan *plan;
    const struct atoll_space *space;
    const struct atoll_device_shape *device;
    enum atoll_shape_role roles[ATOLL_PLAN_PARAM_LIMIT];
    size_t variant_count;
    const struct atoll_variant *variants[ATOLL_TASK_VARIANT_LIMIT];
    struct atoll_shape_problem problems[ATOLL_TASK_VARIANT_LIMIT];
};

static double evaluate(const struct atoll_expression *e, const struct atoll_binding *bindings, size_t count,
                       double otherwise)
{
    int64_t value;
    if (!e || atoll_expression_eval(e, bindings, count, &value, NULL))
        return otherwise;
    return (double)value;
}

/* The launch with the most threads says what a candidate does; a plan of language "c" says its units. */
static void set_launch(const struct of_plan *of, const struct atoll_variant *variant,
                       const struct atoll_choice *choice, struct atoll_shape *shape)
{
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT + ATOLL_PLAN_PARAM_LIMIT];
    size_t count = atoll_plan_bindings(of->task, variant, of->plan, choice, bindings), path = 0;
    double most = 0;
    if (atoll_plan_path_at(of->task, of->plan, variant, &path, NULL))
        return;
    for (size_t i = 0; i < of->plan->paths[path].count; i++) {
        const struct atoll_launch *l = &of->plan->launches[of->plan->paths[path].first + i];
        double blocks = l->units ? evaluate(l->units, bindings, count, 1) : 1, threads = 1;
        for (size_t a = 0; a < 3; a++) {
            blocks *= evaluate(l->grid[a], bindings, count, 1);
            threads *= evaluate(l->block[a], bindings, count, 1);
        }
        int has_threads = l->block[0] != NULL || l->num_warps != NULL;
        if (l->num_warps)
            threads = 32 * evaluate(l->num_warps, bindings, count, 4);
        if (blocks * threads < most)
            continue;
        most = blocks * threads;
        shape->blocks = blocks;
        shape->threads = has_threads ? threads : 0;
        shape->shared_bytes = evaluate(l->shared_bytes, bindings, count, 0);
    }
}

static double plan_cost(void *context, const struct atoll_point *point)
{
    const struct of_plan *of = context;
    struct atoll_choice choice = atoll_space_choice(of->space, point);
    double sum = 0, weights = 0;
    for (size_t v = 0; v < of->variant_count; v++) {
        struct atoll_shape shape = {.cost = 0};
        for (size_t i = 0; i < choice.count; i++)
            shape.values[of->roles[i]] = of->roles[i] ? choice.values[i] : 0;
        set_launch(of, of->variants[v], &choice, &shape);
        if (!atoll_shape_rate(&of->problems[v], of->device, &shape))
            return 0;
        sum += of->variants[v]->weight * log(shape.cost);
        weights += of->variants[v]->weight;
    }
    return weights > 0 ? exp(sum / weights) : 0;
}

static void set_variants(struct of_plan *of, const char *language)
{
    for (size_t i = 0; i < of->task->variant_count; i++) {
        const struct atoll_variant *v = &of->task->variants[i];
        if (v->kind != ATOLL_VARIANT_BENCH || !atoll_plan_concerns(of->plan, v))
            continue;
        if (atoll_shape_problem_of(of->task, v, language, &of->problems[of->variant_count], NULL) == 0)
            of->variants[of->variant_count++] = v;
    }
}

int atoll_shape_trials_of_plan(const struct atoll_task *task, const struct atoll_plan *plan,
                               const char *language, const struct atoll_device_shape *device, size_t limit,
                               struct atoll_choice *ret_choices, size_t *ret_count, struct atoll_err *err)
{
    struct of_plan of = {.task = task, .plan = plan, .device = device};
    struct atoll_space_of_plan space_of = {.task = task, .plan = plan};
    struct atoll_space space;
    struct atoll_point points[ATOLL_SHAPE_LIMIT];
    *ret_count = 0;
    atoll_space_init_plan(&space, &space_of);
    of.space = &space;
    set_variants(&of, language);
    if (!of.variant_count)
        return 0;
    for (size_t i = 0; i < plan->param_count; i++)
        of.roles[i] = atoll_shape_role_of(&of.problems[0], plan->params[i].name);
    if (atoll_shape_trials(&space, of.roles, plan_cost, &of, limit, points, ret_count, err))
        return -1;
    for (size_t i = 0; i < *ret_count; i++)
        ret_choices[i] = atoll_space_choice(&space, &points[i]);
    return 0;
}
