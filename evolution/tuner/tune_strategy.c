/* tune_strategy.c - the bandit over the strategies, and the strategies without a model.  Local search looks around the best;
 * where that has no untried neighbours, from random trials that climb on their own (iterated local search: Lourenco,
 * Martin, Stuetzle, Handbook of Metaheuristics, 2003).  The genetic algorithm and differential evolution take the fastest
 * trials as population; a child that cannot be tried is bred anew a few times, then repaired: its nearest neighbours in
 * one digit. */
#include "evolution/tuner/tune_trials.h"

#include <math.h>

#include "base/array.h"

#define WINDOW         64 /* proposals that count */
#define WEIGHT         4  /* proposals that a starting claim is worth */
#define POPULATION     16
#define POPULATION_MIN 4 /* a target and three others */
#define ATTEMPTS       16
#define MUTATIONS      1.0 /* expected number per child (Baeck, Optimal mutation rates, ICGA 1993) */
#define SCALE          0.5 /* F and CR: first choices of Storn, Price, J. Global Optimization 11, 1997 */
#define CROSSOVER      0.9

/* The starting claims say what recorded and synthetic spaces say: the model is far ahead until it stalls. */
const struct atoll_tune_strategy atoll_tune_strategies[ATOLL_TUNE_STRATEGIES] = {
    [ATOLL_TUNE_MODEL] = {"model", 0.5, atoll_tune_model},
    [ATOLL_TUNE_LOCAL] = {"local", 0.08, atoll_tune_local},
    [ATOLL_TUNE_GENETIC] = {"genetic", 0.06, atoll_tune_genetic},
    [ATOLL_TUNE_DIFFERENTIAL] = {"differential", 0.05, atoll_tune_differential},
    [ATOLL_TUNE_RANDOM] = {"random", 0.02, atoll_tune_random},
};

const char *atoll_tune_strategy_name(unsigned strategy)
{
    return strategy < ATOLL_TUNE_STRATEGIES ? atoll_tune_strategies[strategy].name : "none";
}

struct record {
    unsigned proposed[ATOLL_TUNE_STRATEGIES + 1], improved[ATOLL_TUNE_STRATEGIES + 1];
};

/* Pending ones count as proposed: a strategy is not asked sixteen times on one claim. */
static struct record look_back(const struct atoll_tune *tune)
{
    struct record r = {{0}, {0}};
    uint32_t from = tune->trial_count > WINDOW ? tune->trial_count - WINDOW : 0;
    double best = HUGE_VAL;
    for (uint32_t i = 0; i < tune->trial_count; i++) {
        const struct atoll_trial *trial = &tune->trials[i];
        int improves = trial->state == TRIAL_CORRECT && trial->time_ns < best;
        best = improves ? trial->time_ns : best;
        if (i < from)
            continue;
        r.proposed[trial->strategy]++;
        r.improved[trial->strategy] += (unsigned)improves;
    }
    return r;
}

size_t atoll_tune_bandit(const struct atoll_tune *tune, uint8_t ret_order[ATOLL_TUNE_STRATEGIES])
{
    struct record r = look_back(tune);
    double claims[ATOLL_TUNE_STRATEGIES];
    size_t count = 0;
    for (unsigned s = 0; s < ATOLL_TUNE_STRATEGIES; s++) {
        if (!(tune->settings.strategies >> s & 1))
            continue;
        claims[s] = (WEIGHT * atoll_tune_strategies[s].claim + r.improved[s]) / (WEIGHT + r.proposed[s]);
        size_t at = count++;
        for (; at > 0 && claims[s] > claims[ret_order[at - 1]]; at--)
            ret_order[at] = ret_order[at - 1];
        ret_order[at] = (uint8_t)s;
    }
    return count;
}

int atoll_tune_random(struct atoll_tune *tune, struct atoll_random *random, struct atoll_trial *ret,
                      struct atoll_err *err)
{
    return atoll_tune_pick_random(tune, random, &ret->point);
}

static int pick_around(struct atoll_tune *t, struct atoll_random *random, uint32_t centre, int any,
                       struct atoll_trial *ret)
{
    if (centre == ATOLL_NONE ||
        !atoll_tune_pick_neighbour(t, random, &t->trials[centre].point, any, &ret->point)) {
        return 0;
    }
    ret->centre = centre;
    return 1;
}

int atoll_tune_local(struct atoll_tune *tune, struct atoll_random *random, struct atoll_trial *ret,
                     struct atoll_err *err)
{
    if (pick_around(tune, random, tune->best, 0, ret) || pick_around(tune, random, tune->climb, 0, ret))
        return 1;
    tune->climb = ATOLL_NONE;
    if (atoll_random_next(random) & 1 && pick_around(tune, random, tune->best, 1, ret))
        return 1;
    return atoll_tune_pick_random(tune, random, &ret->point);
}

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
