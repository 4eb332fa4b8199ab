#include "evolution/tuner/legal.h"

#include <math.h>
#include <string.h>

#define SAMPLE_SEARCHES 8

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
        if (!d->space->prefix || d->space->prefix(d->space->context, &d->point, at + 1)) {
            ret_digits[kept++] = d->point.digits[at];
        }
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
    if (at == d->space->count) {
        return d->accept(d->context, &d->point);
    }
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
    if (!l->space->legal(l->space->context, point)) {
        return 0;
    }
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
    if (!descend(&d, 0)) {
        return 0;
    }
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
        if (!search(space, random, node_limit / SAMPLE_SEARCHES, accept, context, &point, &log_weight)) {
            continue;
        }
        /* The largest of weight times an exponential's inverse is a draw in proportion to the weights. */
        double key = log_weight - log(-log1p(-atoll_random_unit(atoll_random_next(random))));
        if (key > best || best == -HUGE_VAL) {
            best = key;
            *ret_point = point;
        }
    }
    return best > -HUGE_VAL || atoll_legal_search(space, random, node_limit, accept, context, ret_point);
}
