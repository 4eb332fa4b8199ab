/* Greedy maximin distance over random legal points (Johnson, Moore, Ylvisaker, J. Statistical Planning and Inference
 * 26, 1990): with few trials in many parameters no formula for a low-discrepancy sequence survives the constraints. */
#include "evolution/tuner/tune_start.h"

#include <math.h>

#define HINTS_FIRST  3     /* trials that the best hints get */
#define EFFORT       32768 /* in questions whether a point is legal: fewer candidates where legal ones are rare */
#define CANDIDATES   30 /* random points of which the farthest is taken ... */
#define RANDOM_FIRST 2  /* ... but for the first trials: far points are extreme ones, and seldom fast */

static double distance2(const struct atoll_space *space, const struct atoll_point *a,
                        const struct atoll_point *b)
{
    double sum = 0;
    for (size_t i = 0; i < space->count; i++) {
        double steps = (double)space->params[i].value_count - 1;
        double d = steps > 0 ? (a->digits[i] - b->digits[i]) / steps : 0;
        sum += d * d;
    }
    return sum;
}

static double nearest2(const struct atoll_tune *tune, const struct atoll_point *point)
{
    double nearest = HUGE_VAL;
    for (uint32_t i = 0; i < tune->trial_count; i++)
        nearest = fmin(nearest, distance2(tune->space, point, &tune->trials[i].point));
    return nearest;
}

static int pick_hint(const struct atoll_tune *tune, struct atoll_point *ret_point)
{
    const struct atoll_trial *best = NULL;
    for (uint32_t i = 0; i < tune->hint_count; i++) {
        const struct atoll_trial *hint = &tune->hints[i];
        if (hint->state == TRIAL_CORRECT && (!best || hint->time_ns < best->time_ns) &&
            atoll_tune_available(tune, &hint->point))
            best = hint;
    }
    if (best)
        *ret_point = best->point;
    return best != NULL;
}

int atoll_tune_start(const struct atoll_tune *tune, struct atoll_random *random,
                     struct atoll_point *ret_point)
{
    if (tune->trial_count < HINTS_FIRST && pick_hint(tune, ret_point))
        return 1;
    if (tune->trial_count >= tune->settings.start)
        return 0;
    uint32_t effort = EFFORT;
    double farthest = -1;
    for (unsigned k = 0; k < (tune->trial_count < RANDOM_FIRST ? 1 : CANDIDATES); k++) {
        struct atoll_point point;
        if (!atoll_tune_draw(tune, random, &effort, &point))
            break;
        double distance = nearest2(tune, &point);
        if (distance > farthest) {
            farthest = distance;
            *ret_point = point;
        }
    }
    return farthest >= 0;
}
