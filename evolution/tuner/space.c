/* space.c - the grid of a plan, and a depth-first search for its legal points. */
#include "evolution/tuner/space.h"

#include <math.h>
#include <string.h>

#define SAMPLE_SEARCHES 8

static struct atoll_choice choice_of(const struct atoll_plan *plan, const struct atoll_point *point)
{
    struct atoll_choice c;
    memset(&c, 0, sizeof(c));
    c.count = plan->param_count;
    for (size_t i = 0; i < c.count; i++)
        c.values[i] = plan->params[i].values[point->digits[i]];
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
        for (size_t i = due; i < plan->param_count; i++)
            if (!strcmp(plan->params[i].name, atoll_expression_name(require, n)))
                due = i + 1;
    }
    return due;
}

/* At every check and bench variant of the plan's backend, or those of them that take a path, as in
 * atoll_plan_choice_legal; path NULL: all. */
static int holds(const struct atoll_space_of_plan *of, const struct atoll_choice *choice,
                 const struct atoll_expression *require, const struct atoll_path *path)
{
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT + ATOLL_PLAN_PARAM_LIMIT];
    for (size_t v = 0; v < of->task->variant_count; v++) {
        const struct atoll_variant *variant = &of->task->variants[v];
        int64_t value;
        size_t taken = 0;
        if (variant->kind == ATOLL_VARIANT_HIDDEN || !atoll_plan_concerns(of->plan, variant))
            continue;
        if (path && (atoll_plan_path_at(of->task, of->plan, variant, &taken, NULL) ||
                     path != &of->plan->paths[taken]))
            continue;
        size_t count = atoll_plan_bindings(of->task, variant, of->plan, choice, bindings);
        if (atoll_expression_eval(require, bindings, count, &value, NULL) || !value)
            return 0;
    }
    return 1;
}

/* Shorter prefixes were asked before: only what the last digit made known is evaluated. */
static int plan_prefix(const void *context, const struct atoll_point *point, size_t known)
{
    const struct atoll_space_of_plan *of = context;
    struct atoll_choice c = choice_of(of->plan, point);
    for (size_t i = 0; i < of->plan->require_count; i++)
        if (of->due[i] == known && !holds(of, &c, of->plan->require[i], NULL))
            return 0;
    for (size_t k = 0; k < of->plan->path_count; k++) {
        const struct atoll_path *path = &of->plan->paths[k];
        for (size_t i = 0; i < path->require_count; i++)
            if (of->path_due[k][i] == known && !holds(of, &c, path->require[i], path))
                return 0;
    }
    return 1;
}

void atoll_space_init_plan(struct atoll_space *space, struct atoll_space_of_plan *of)
{
    memset(space, 0, sizeof(*space));
    space->count = of->plan->param_count;
    memcpy(space->params, of->plan->params, space->count * sizeof(*space->params));
    for (size_t i = 0; i < of->plan->require_count; i++)
        of->due[i] = (uint8_t)due_of(of->plan, of->plan->require[i]);
    for (size_t k = 0; k < of->plan->path_count; k++)
        for (size_t i = 0; i < of->plan->paths[k].require_count; i++)
            of->path_due[k][i] = (uint8_t)due_of(of->plan, of->plan->paths[k].require[i]);
    space->legal = plan_legal;
    space->prefix = plan_prefix;
    space->context = of;
}

struct atoll_choice atoll_space_choice(const struct atoll_space *space, const struct atoll_point *point)
{
    struct atoll_choice c;
    memset(&c, 0, sizeof(c));
    c.count = space->count;
    for (size_t i = 0; i < c.count; i++)
        c.values[i] = space->params[i].values[point->digits[i]];
    return c;
}

int atoll_space_point(const struct atoll_space *space, const struct atoll_choice *choice,
                      struct atoll_point *ret_point)
{
    struct atoll_point point;
    memset(&point, 0, sizeof(point));
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

struct dive {
    const struct atoll_space *space;
    struct atoll_random *random; /* NULL: in order */
    uint64_t nodes_left;
    atoll_legal_accept *accept;
    const void *context;
    struct atoll_point point;
    double log_weight; /* of the point found */
};

/* The digits that may stand at a place, in order or from a random one on. */
static size_t choices(struct dive *d, size_t at, uint8_t *ret_digits)
{
    size_t count = d->space->params[at].value_count, kept = 0;
    size_t start = d->random ? atoll_random_below(atoll_random_next(d->random), count) : 0;
    for (size_t k = 0; k < count && d->nodes_left; k++) {
        d->nodes_left--;
        d->point.digits[at] = (uint8_t)((start + k) % count);
        if (!d->space->prefix || d->space->prefix(d->space->context, &d->point, at + 1))
            ret_digits[kept++] = d->point.digits[at];
    }
    d->point.digits[at] = 0;
    return kept;
}

/* Random searches shuffle what is left, so that each choice is equally likely, not the one after a gap. */
static void shuffle(struct dive *d, uint8_t *digits, size_t count)
{
    for (size_t i = count; d->random && i > 1; i--) {
        size_t j = atoll_random_below(atoll_random_next(d->random), i);
        uint8_t held = digits[i - 1];
        digits[i - 1] = digits[j];
        digits[j] = held;
    }
}

/* Sets the digit at a place and all after it. */
static int descend(struct dive *d, size_t at)
{
    uint8_t digits[ATOLL_PLAN_VALUE_LIMIT];
    if (at == d->space->count)
        return d->accept(d->context, &d->point);
    size_t count = choices(d, at, digits);
    shuffle(d, digits, count);
    for (size_t k = 0; k < count; k++) {
        d->point.digits[at] = digits[k];
        if (descend(d, at + 1)) {
            d->log_weight += log((double)count);
            return 1;
        }
    }
    d->point.digits[at] = 0;
    return 0;
}

struct listing {
    const struct atoll_space *space;
    atoll_legal_visit *visit;
    void *context;
    int *stopped;
};

static int list_point(const void *context, const struct atoll_point *point)
{
    const struct listing *l = context;
    if (!l->space->legal(l->space->context, point))
        return 0;
    *l->stopped = !l->visit(l->context, point);
    return *l->stopped;
}

int atoll_legal_list(const struct atoll_space *space, uint64_t node_limit, atoll_legal_visit *visit,
                     void *context)
{
    int stopped = 0;
    struct listing l = {space, visit, context, &stopped};
    struct dive d = {.space = space, .nodes_left = node_limit, .accept = list_point, .context = &l};
    descend(&d, 0);
    return !stopped && (d.nodes_left > 0 || !space->count);
}

static int search(const struct atoll_space *space, struct atoll_random *random, unsigned node_limit,
                  atoll_legal_accept *accept, const void *context, struct atoll_point *ret_point,
                  double *ret_log_weight)
{
    struct dive d = {
        .space = space, .random = random, .nodes_left = node_limit, .accept = accept, .context = context};
    if (!descend(&d, 0))
        return 0;
    *ret_point = d.point;
    *ret_log_weight = d.log_weight;
    return 1;
}

int atoll_legal_search(const struct atoll_space *space, struct atoll_random *random, unsigned node_limit,
                       atoll_legal_accept *accept, const void *context, struct atoll_point *ret_point)
{
    double log_weight;
    return search(space, random, node_limit, accept, context, ret_point, &log_weight);
}

int atoll_legal_sample(const struct atoll_space *space, struct atoll_random *random, unsigned node_limit,
                       atoll_legal_accept *accept, const void *context, struct atoll_point *ret_point)
{
    double best = -HUGE_VAL;
    for (unsigned k = 0; k < SAMPLE_SEARCHES; k++) {
        struct atoll_point point;
        double log_weight;
        if (!search(space, random, node_limit / SAMPLE_SEARCHES, accept, context, &point, &log_weight))
            continue;
        /* The largest of weight times an exponential's inverse is a draw in proportion to the weights. */
        double key = log_weight - log(-log1p(-atoll_random_unit(atoll_random_next(random))));
        if (key > best || best == -HUGE_VAL) {
            best = key;
            *ret_point = point;
        }
    }
    return best > -HUGE_VAL || atoll_legal_search(space, random, node_limit, accept, context, ret_point);
}
