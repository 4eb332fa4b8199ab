#include "evolution/legal.h"

#include <string.h>

struct dive {
    const struct atoll_space *space;
    struct atoll_random *random;
    unsigned nodes_left;
    atoll_legal_accept *accept;
    const void *context;
    struct atoll_point point;
};

/* Sets parameter at and all after it. */
static int descend(struct dive *d, size_t at)
{
    const struct atoll_space *space = d->space;
    if (at == space->count)
        return d->accept(d->context, &d->point);
    size_t count = space->params[at].value_count;
    size_t start = atoll_random_below(atoll_random_next(d->random), count);
    for (size_t k = 0; k < count && d->nodes_left; k++) {
        d->nodes_left--;
        d->point.digits[at] = (uint8_t)((start + k) % count);
        if ((!space->prefix || space->prefix(space->context, &d->point, at + 1)) && descend(d, at + 1))
            return 1;
    }
    d->point.digits[at] = 0;
    return 0;
}

int atoll_legal_search(const struct atoll_space *space, struct atoll_random *random, unsigned node_limit,
                       atoll_legal_accept *accept, const void *context, struct atoll_point *ret_point)
{
    struct dive d = {space, random, node_limit, accept, context, {{0}}};
    if (!descend(&d, 0))
        return 0;
    *ret_point = d.point;
    return 1;
}
