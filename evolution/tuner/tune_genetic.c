/* Two strategies over the fastest trials as population; a child that cannot be tried is bred anew a few times, then
 * repaired: its nearest neighbours in one digit. */
#include <math.h>

#include "base/array.h"
#include "evolution/tuner/tune_strategy.h"

#define POPULATION     16
#define POPULATION_MIN 4 /* a target and three others */
#define ATTEMPTS       16
#define MUTATIONS      1.0 /* expected number per child (Baeck, Optimal mutation rates, ICGA 1993) */
#define SCALE          0.5 /* F and CR: first choices of Storn, Price, J. Global Optimization 11, 1997 */
#define CROSSOVER      0.9

struct population {
    uint32_t count, trials[POPULATION];
};

static uint32_t below(struct atoll_random *random, size_t bound)
{
    return (uint32_t)atoll_random_below(atoll_random_next(random), bound);
}

static double unit(struct atoll_random *random)
{
    return atoll_random_unit(atoll_random_next(random));
}

typedef void breed(const struct atoll_tune *tune, const struct population *population,
                   struct atoll_random *random, struct atoll_point *ret_child);

static int offspring(struct atoll_tune *tune, struct atoll_random *random, breed *of, struct atoll_trial *ret)
{
    struct population p;
    p.count = atoll_tune_fastest(tune, POPULATION, p.trials);
    if (p.count < POPULATION_MIN)
        return 0;
    for (unsigned k = 0; k < ATTEMPTS; k++) {
        of(tune, &p, random, &ret->point);
        if (atoll_tune_available(tune, &ret->point))
            return 1;
    }
    struct atoll_point child = ret->point;
    return atoll_tune_pick_neighbour(tune, random, &child, 0, &ret->point);
}

/* Binary tournament; the population is sorted. */
static const struct atoll_point *parent(const struct atoll_tune *tune, const struct population *p,
                                        struct atoll_random *random)
{
    uint32_t a = below(random, p->count), b = below(random, p->count);
    return &tune->trials[p->trials[a < b ? a : b]].point;
}

static void cross(const struct atoll_tune *tune, const struct population *p, struct atoll_random *random,
                  struct atoll_point *ret_child)
{
    const struct atoll_point *mother = parent(tune, p, random), *father = parent(tune, p, random);
    *ret_child = *mother;
    for (size_t i = 0; i < tune->space->count; i++) {
        if (atoll_random_next(random) & 1)
            ret_child->digits[i] = father->digits[i];
        if (unit(random) * (double)tune->space->count < MUTATIONS)
            ret_child->digits[i] = (uint8_t)below(random, tune->space->params[i].value_count);
    }
}

static void differ(const struct atoll_tune *tune, const struct population *p, struct atoll_random *random,
                   struct atoll_point *ret_child)
{
    uint32_t at = below(random, p->count), step = 1 + below(random, (p->count - 1) / 3);
    const struct atoll_point *x[4]; /* different ones, the base x[1] the fastest of its three */
    uint32_t base = 1;
    for (uint32_t k = 2; k < 4; k++)
        base = (at + k * step) % p->count < (at + base * step) % p->count ? k : base;
    for (uint32_t k = 0; k < 4; k++)
        x[k == base ? 1 : k == 1 ? base : k] = &tune->trials[p->trials[(at + k * step) % p->count]].point;
    *ret_child = *x[0];
    size_t count = tune->space->count, forced = count ? below(random, count) : 0;
    for (size_t i = 0; i < count; i++) {
        if (i != forced && unit(random) >= CROSSOVER)
            continue;
        double digit = x[1]->digits[i] + SCALE * (x[2]->digits[i] - x[3]->digits[i]);
        double last = (double)tune->space->params[i].value_count - 1;
        ret_child->digits[i] = (uint8_t)lround(fmin(fmax(digit, 0), last));
    }
}

int atoll_tune_genetic(struct atoll_tune *tune, struct atoll_random *random, struct atoll_trial *ret,
                       struct atoll_err *err)
{
    return offspring(tune, random, cross, ret);
}

int atoll_tune_differential(struct atoll_tune *tune, struct atoll_random *random, struct atoll_trial *ret,
                            struct atoll_err *err)
{
    return offspring(tune, random, differ, ret);
}
