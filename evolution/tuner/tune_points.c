#include "evolution/tuner/tune_points.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "evolution/tuner/legal.h"

#define DRAW_ATTEMPTS 64   /* random rows before a search under the constraints */
#define DRAW_NODES    8192 /* of that search */
#define FIRST_NODES   4096

struct gather {
    struct atoll_tune_points *points;
    uint32_t capacity, limit;
    struct atoll_err *err;
    int failed;
};

static int gather_point(void *context, const struct atoll_point *point)
{
    struct gather *g = context;
    struct atoll_tune_points *p = g->points;
    if (p->legal_count == g->limit)
        return 0;
    g->failed = atoll_array_reserve(&p->legal, &g->capacity, p->legal_count + 1, sizeof *p->legal, g->err);
    if (g->failed)
        return 0;
    p->legal[p->legal_count++] = *point;
    return 1;
}

static int list_untried(struct atoll_tune_points *p, struct atoll_err *err)
{
    p->untried = calloc(2 * (size_t)p->legal_count + 1, sizeof *p->untried);
    if (!p->untried)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the combinations of a template");
    p->position = p->untried + p->legal_count;
    for (uint32_t i = 0; i < p->legal_count; i++)
        p->untried[i] = p->position[i] = i;
    p->untried_count = p->legal_count;
    p->enumerated = 1;
    return 0;
}

int atoll_tune_points_enumerate(struct atoll_tune_points *points, uint64_t node_limit, uint32_t point_limit,
                                struct atoll_err *err)
{
    struct gather g = {.points = points, .limit = point_limit, .err = err};
    int all = atoll_legal_list(points->space, node_limit, gather_point, &g);
    if (all && !list_untried(points, err))
        return 0;
    free(points->legal);
    points->legal = NULL;
    points->legal_count = 0;
    return g.failed || all ? -1 : 0;
}

void atoll_tune_points_fini(struct atoll_tune_points *points)
{
    free(points->legal);
    free(points->untried);
}

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct atoll_point));
}

static uint32_t place_of(const struct atoll_tune_points *points, const struct atoll_point *point)
{
    const struct atoll_point *at =
        points->legal_count ? bsearch(point, points->legal, points->legal_count, sizeof *point, compare)
                            : NULL;
    return at ? (uint32_t)(at - points->legal) : ATOLL_NONE;
}

int atoll_tune_points_legal(const struct atoll_tune_points *points, const struct atoll_point *point)
{
    if (points->enumerated)
        return place_of(points, point) != ATOLL_NONE;
    return points->space->legal(points->space->context, point);
}

void atoll_tune_points_remove(struct atoll_tune_points *points, const struct atoll_point *point)
{
    uint32_t place = place_of(points, point);
    if (place == ATOLL_NONE || points->position[place] == ATOLL_NONE)
        return;
    uint32_t at = points->position[place], last = points->untried[--points->untried_count];
    points->untried[at] = last;
    points->position[last] = at;
    points->position[place] = ATOLL_NONE;
}

int atoll_tune_points_untried(const struct atoll_tune_points *points, const struct atoll_point *point)
{
    uint32_t place = place_of(points, point);
    return place != ATOLL_NONE && points->position[place] != ATOLL_NONE;
}

static int accept_legal(const void *context, const struct atoll_point *point)
{
    return atoll_tune_points_legal(context, point);
}

static uint32_t spend(uint32_t *effort, uint32_t cost)
{
    uint32_t left = *effort;
    *effort -= cost < left ? cost : left;
    return left;
}

int atoll_tune_points_draw(const struct atoll_tune_points *points, struct atoll_random *random,
                           uint32_t *effort, struct atoll_point *ret_point)
{
    const struct atoll_space *space = points->space;
    if (points->enumerated) {
        if (points->legal_count)
            *ret_point = points->legal[atoll_random_below(atoll_random_next(random), points->legal_count)];
        return points->legal_count > 0;
    }
    for (unsigned attempt = 0; attempt < DRAW_ATTEMPTS && spend(effort, 1); attempt++) {
        memset(ret_point, 0, sizeof *ret_point);
        for (size_t i = 0; i < space->count; i++)
            ret_point->digits[i] =
                (uint8_t)atoll_random_below(atoll_random_next(random), space->params[i].value_count);
        if (atoll_tune_points_legal(points, ret_point))
            return 1;
    }
    return spend(effort, DRAW_NODES) &&
           atoll_legal_sample(space, random, DRAW_NODES, accept_legal, points, ret_point);
}

static int keep_first(void *context, const struct atoll_point *point)
{
    *(struct atoll_point *)context = *point;
    return 0;
}

int atoll_tune_points_first(const struct atoll_tune_points *points, struct atoll_point *ret_point)
{
    struct atoll_random fixed = {0x61746f6c6cu, 0};
    uint32_t effort = DRAW_NODES;
    struct atoll_point none, first;
    if (points->enumerated) {
        if (points->legal_count)
            *ret_point = points->legal[0];
        return points->legal_count > 0;
    }
    memset(&none, 0xff, sizeof none);
    first = none;
    atoll_legal_list(points->space, FIRST_NODES, keep_first, &first);
    if (!memcmp(&first, &none, sizeof none))
        return atoll_tune_points_draw(points, &fixed, &effort, ret_point);
    *ret_point = first;
    return 1;
}
