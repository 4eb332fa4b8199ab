/* Random search, and local search around the best; where that has no untried neighbours, from random trials that climb
 * on their own (iterated local search: Lourenco, Martin, Stuetzle, Handbook of Metaheuristics, 2003). */
#include "base/array.h"
#include "evolution/tuner/tune_strategy.h"

int atoll_tune_random(struct atoll_tune *tune, struct atoll_random *random, struct atoll_trial *ret,
                      struct atoll_err *err)
{
    return atoll_tune_pick_random(tune, random, &ret->point);
}

static int pick_around(struct atoll_tune *t, struct atoll_random *random, uint32_t centre, int any,
                       struct atoll_trial *ret)
{
    if (centre == ATOLL_NONE ||
        !atoll_tune_pick_neighbour(t, random, &t->trials[centre].point, any, &ret->point))
        return 0;
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
