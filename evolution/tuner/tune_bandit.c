#include <math.h>

#include "evolution/tuner/tune_strategy.h"

#define WINDOW 64 /* proposals that count */
#define WEIGHT 4  /* proposals that a starting claim is worth */

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
