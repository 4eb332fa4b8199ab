/* What was tried, and what is near it. */
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "evolution/tuner/legal.h"
#include "evolution/tuner/tune_model.h"
#include "evolution/tuner/tune_state.h"

#define PICK_ATTEMPTS 64 /* random points before a search for an untried one */
#define PICK_EFFORT   65536
#define PICK_NODES    4096 /* of that search */

static uint64_t key_of(const struct atoll_point *point)
{
    uint64_t halves[2];
    memcpy(halves, point->digits, sizeof halves);
    return atoll_mix64(halves[0]) + halves[1];
}

struct query {
    const struct atoll_tune *tune;
    const struct atoll_point *point;
};

static int equal(const void *context, uint32_t position)
{
    const struct query *q = context;
    return memcmp(&q->tune->trials[position].point, q->point, sizeof *q->point) == 0;
}

uint32_t atoll_tune_find(const struct atoll_tune *tune, const struct atoll_point *point)
{
    struct query q = {tune, point};
    return atoll_index_find(&tune->index, key_of(point), equal, &q);
}

int atoll_tune_available(const struct atoll_tune *tune, const struct atoll_point *point)
{
    if (tune->points.enumerated)
        return atoll_tune_points_untried(&tune->points, point);
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
        if (p->untried_count)
            *ret_point =
                p->legal[p->untried[atoll_random_below(atoll_random_next(random), p->untried_count)]];
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

/* The nth neighbour; 0 beyond the values. */
static int neighbour(const struct atoll_space *space, const struct atoll_point *centre, size_t n, int any,
                     struct atoll_point *ret_point)
{
    size_t per = any ? ATOLL_PLAN_VALUE_LIMIT : 2, i = n / per, k = n % per;
    size_t old = centre->digits[i], digit = any ? k : k ? old + 1 : old - 1;
    if (digit >= space->params[i].value_count || digit == old)
        return 0;
    *ret_point = *centre;
    ret_point->digits[i] = (uint8_t)digit;
    return 1;
}

int atoll_tune_pick_neighbour(const struct atoll_tune *tune, struct atoll_random *random,
                              const struct atoll_point *centre, int any, struct atoll_point *ret_point)
{
    size_t count = tune->space->count * (any ? ATOLL_PLAN_VALUE_LIMIT : 2);
    size_t start = count ? atoll_random_below(atoll_random_next(random), count) : 0;
    for (size_t k = 0; k < count; k++)
        if (neighbour(tune->space, centre, (start + k) % count, any, ret_point) &&
            atoll_tune_available(tune, ret_point))
            return 1;
    return 0;
}

uint32_t atoll_tune_fastest(const struct atoll_tune *tune, uint32_t limit, uint32_t *ret_trials)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < tune->trial_count; i++) {
        const struct atoll_trial *trial = &tune->trials[i];
        if (trial->state != TRIAL_CORRECT ||
            (count == limit && !(trial->time_ns < tune->trials[ret_trials[count - 1]].time_ns)))
            continue;
        uint32_t at = count < limit ? count++ : count - 1;
        for (; at > 0 && trial->time_ns < tune->trials[ret_trials[at - 1]].time_ns; at--)
            ret_trials[at] = ret_trials[at - 1];
        ret_trials[at] = i;
    }
    return count;
}

int atoll_tune_append(struct atoll_tune *tune, const struct atoll_trial *trial, struct atoll_err *err)
{
    if (atoll_array_reserve(&tune->trials, &tune->trial_capacity, tune->trial_count + 1, sizeof *tune->trials,
                            err) ||
        atoll_index_add(&tune->index, key_of(&trial->point), tune->trial_count, err))
        return -1;
    tune->trials[tune->trial_count++] = *trial;
    if (!tune->points.enumerated)
        return 0;
    atoll_tune_points_remove(&tune->points, &trial->point);
    tune->exhausted = !tune->points.untried_count;
    return 0;
}

int atoll_tune_append_hint(struct atoll_tune *tune, const struct atoll_trial *hint, struct atoll_err *err)
{
    if (atoll_array_reserve(&tune->hints, &tune->hint_capacity, tune->hint_count + 1, sizeof *tune->hints,
                            err))
        return -1;
    tune->hints[tune->hint_count++] = *hint;
    return 0;
}

static void digits_codec(const struct atoll_space *space, struct atoll_point *point,
                         struct atoll_codec *codec)
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
    digits_codec(space, &trial->point, codec);
    atoll_codec_u8(codec, &trial->state);
    atoll_codec_u8(codec, &trial->strategy);
    atoll_codec_u32(codec, &trial->centre);
    atoll_codec_f64(codec, &trial->time_ns);
    atoll_codec_f64(codec, &trial->lo_ns);
    atoll_codec_f64(codec, &trial->hi_ns);
    int timed = trial->state == TRIAL_CORRECT || trial->state == TRIAL_CENSORED;
    if (codec->in && (trial->state >= TRIAL_STATES || trial->strategy > ATOLL_TUNE_STRATEGIES ||
                      !isfinite(trial->time_ns) || timed != (trial->time_ns > 0) || !isfinite(trial->lo_ns) ||
                      !isfinite(trial->hi_ns) || !(trial->lo_ns >= 0) || trial->hi_ns < trial->lo_ns))
        codec->in->failed = 1;
}
