/* tune_trials.c - the legal points of a tuner's space, which of them were tried, and what is near one. */
#include "evolution/tuner/tune_trials.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define DRAW_ATTEMPTS 64   /* random rows before a search under the constraints */
#define DRAW_NODES    8192 /* of that search */
#define FIRST_NODES   4096
#define PICK_ATTEMPTS 64 /* random points before a search for an untried one */
#define PICK_EFFORT   65536
#define PICK_NODES    4096 /* of that search */

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
    g->failed = atoll_array_reserve(&p->legal, &g->capacity, p->legal_count + 1, sizeof(*p->legal), g->err);
    if (g->failed)
        return 0;
    p->legal[p->legal_count++] = *point;
    return 1;
}

int atoll_tune_points_enumerate(struct atoll_tune_points *points, uint64_t node_limit, uint32_t point_limit,
                                struct atoll_err *err)
{
    struct gather g = {.points = points, .limit = point_limit, .err = err};
    int all = atoll_legal_list(points->space, node_limit, gather_point, &g);
    if (all) {
        uint32_t count = points->legal_count;
        points->untried = calloc(2 * (size_t)count + 1, sizeof(*points->untried));
        if (points->untried) {
            points->position = points->untried + count;
            for (uint32_t i = 0; i < count; i++)
                points->untried[i] = points->position[i] = i;
            points->untried_count = count;
            points->enumerated = 1;
            return 0;
        }
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the combinations of a template");
    }
    free(points->legal);
    points->legal = NULL;
    points->legal_count = 0;
    return g.failed || all ? -1 : 0;
}

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct atoll_point));
}

static uint32_t place_of(const struct atoll_tune_points *points, const struct atoll_point *point)
{
    const struct atoll_point *at =
        points->legal_count ? bsearch(point, points->legal, points->legal_count, sizeof(*point), compare)
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
        memset(ret_point, 0, sizeof(*ret_point));
        for (size_t i = 0; i < space->count; i++) {
            ret_point->digits[i] =
                (uint8_t)atoll_random_below(atoll_random_next(random), space->params[i].value_count);
        }
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
    memset(&none, 0xff, sizeof(none));
    first = none;
    atoll_legal_list(points->space, FIRST_NODES, keep_first, &first);
    if (!memcmp(&first, &none, sizeof(none)))
        return atoll_tune_points_draw(points, &fixed, &effort, ret_point);
    *ret_point = first;
    return 1;
}

static uint64_t key_of(const struct atoll_point *point)
{
    uint64_t halves[2];
    memcpy(halves, point->digits, sizeof(halves));
    return atoll_mix64(halves[0]) + halves[1];
}

struct query {
    const struct atoll_tune *tune;
    const struct atoll_point *point;
};

static int equal(const void *context, uint32_t position)
{
    const struct query *q = context;
    return memcmp(&q->tune->trials[position].point, q->point, sizeof(*q->point)) == 0;
}

uint32_t atoll_tune_find(const struct atoll_tune *tune, const struct atoll_point *point)
{
    struct query q = {tune, point};
    return atoll_index_find(&tune->index, key_of(point), equal, &q);
}

int atoll_tune_available(const struct atoll_tune *tune, const struct atoll_point *point)
{
    if (tune->points.enumerated) {
        uint32_t place = place_of(&tune->points, point);
        return place != ATOLL_NONE && tune->points.position[place] != ATOLL_NONE;
    }
    return atoll_tune_find(tune, point) == ATOLL_NONE && atoll_tune_points_legal(&tune->points, point);
}

static int accept_available(const void *context, const struct atoll_point *point)
{
    return atoll_tune_available(context, point);
}

int atoll_tune_draw(const struct atoll_tune *tune, struct atoll_random *random, uint32_t *effort,
                    struct atoll_point *ret_point)
{
    const struct atoll_tune_points *p = &tune->points;
    if (p->enumerated) {
        if (p->untried_count) {
            *ret_point =
                p->legal[p->untried[atoll_random_below(atoll_random_next(random), p->untried_count)]];
        }
        return p->untried_count > 0;
    }
    for (unsigned attempt = 0; attempt < PICK_ATTEMPTS; attempt++) {
        if (!atoll_tune_points_draw(p, random, effort, ret_point))
            break;
        if (atoll_tune_find(tune, ret_point) == ATOLL_NONE)
            return 1;
    }
    return 0;
}

int atoll_tune_pick_random(const struct atoll_tune *tune, struct atoll_random *random,
                           struct atoll_point *ret_point)
{
    uint32_t effort = PICK_EFFORT;
    if (atoll_tune_draw(tune, random, &effort, ret_point))
        return 1;
    return !tune->points.enumerated &&
           atoll_legal_search(tune->space, random, PICK_NODES, accept_available, tune, ret_point);
}

int atoll_tune_pick_neighbour(const struct atoll_tune *tune, struct atoll_random *random,
                              const struct atoll_point *centre, int any, struct atoll_point *ret_point)
{
    size_t per = any ? ATOLL_PLAN_VALUE_LIMIT : 2, count = tune->space->count * per;
    size_t start = count ? atoll_random_below(atoll_random_next(random), count) : 0;
    for (size_t k = 0; k < count; k++) {
        size_t n = (start + k) % count, i = n / per, old = centre->digits[i];
        size_t digit = any ? n % per : n % per ? old + 1 : old - 1;
        if (digit >= tune->space->params[i].value_count || digit == old)
            continue;
        *ret_point = *centre;
        ret_point->digits[i] = (uint8_t)digit;
        if (atoll_tune_available(tune, ret_point))
            return 1;
    }
    return 0;
}

uint32_t atoll_tune_fastest(const struct atoll_tune *tune, uint32_t limit, uint32_t *ret_trials)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < tune->trial_count; i++) {
        const struct atoll_trial *trial = &tune->trials[i];
        if (trial->state != TRIAL_CORRECT ||
            (count == limit && !(trial->time_ns < tune->trials[ret_trials[count - 1]].time_ns))) {
            continue;
        }
        uint32_t at = count < limit ? count++ : count - 1;
        for (; at > 0 && trial->time_ns < tune->trials[ret_trials[at - 1]].time_ns; at--)
            ret_trials[at] = ret_trials[at - 1];
        ret_trials[at] = i;
    }
    return count;
}

int atoll_tune_append(struct atoll_tune *tune, const struct atoll_trial *trial, struct atoll_err *err)
{
    if (atoll_array_reserve(&tune->trials, &tune->trial_capacity, tune->trial_count + 1,
                            sizeof(*tune->trials), err) ||
        atoll_index_add(&tune->index, key_of(&trial->point), tune->trial_count, err)) {
        return -1;
    }
    tune->trials[tune->trial_count++] = *trial;
    if (!tune->points.enumerated)
        return 0;
    atoll_tune_points_remove(&tune->points, &trial->point);
    tune->exhausted = !tune->points.untried_count;
    return 0;
}

int atoll_tune_append_hint(struct atoll_tune *tune, const struct atoll_trial *hint, struct atoll_err *err)
{
    if (atoll_array_reserve(&tune->hints, &tune->hint_capacity, tune->hint_count + 1, sizeof(*tune->hints),
                            err)) {
        return -1;
    }
    tune->hints[tune->hint_count++] = *hint;
    return 0;
}

void atoll_point_codec(const struct atoll_space *space, struct atoll_point *point, struct atoll_codec *codec)
{
    for (size_t i = 0; i < space->count; i++) {
        atoll_codec_u8(codec, &point->digits[i]);
        if (codec->in && point->digits[i] >= space->params[i].value_count) {
            point->digits[i] = 0;
            codec->in->failed = 1;
        }
    }
}

void atoll_trial_codec(const struct atoll_space *space, struct atoll_trial *trial, struct atoll_codec *codec)
{
    atoll_point_codec(space, &trial->point, codec);
    atoll_codec_u8(codec, &trial->state);
    atoll_codec_u8(codec, &trial->strategy);
    atoll_codec_u32(codec, &trial->centre);
    atoll_codec_f64(codec, &trial->time_ns);
    atoll_codec_f64(codec, &trial->lo_ns);
    atoll_codec_f64(codec, &trial->hi_ns);
    int timed = trial->state == TRIAL_CORRECT || trial->state == TRIAL_CENSORED;
    if (codec->in && (trial->state >= TRIAL_STATES || trial->strategy > ATOLL_TUNE_STRATEGIES ||
                      !isfinite(trial->time_ns) || timed != (trial->time_ns > 0) || !isfinite(trial->lo_ns) ||
                      !isfinite(trial->hi_ns) || !(trial->lo_ns >= 0) || trial->hi_ns < trial->lo_ns)) {
        codec->in->failed = 1;
    }
}
