/* ensemble.c - the order of all models of a request is drawn anew for each n: a few draws, and no state to keep. */
#include "llm-gateway/broker/ensemble.h"

#include "base/random.h"

#define ORDER_LIMIT (2 * ATOLL_ENSEMBLE_MEMBER_LIMIT)

struct order {
    size_t count;
    unsigned models[ORDER_LIMIT];
};

static void append(struct order *order, unsigned model)
{
    for (size_t i = 0; i < order->count; i++) {
        if (order->models[i] == model)
            return;
    }
    order->models[order->count++] = model;
}

/* Draws one of those marked, takes its mark away.  Those without weight come when nothing else is left, in order. */
static size_t draw(const struct atoll_ensemble *e, unsigned char *marks, double unit)
{
    double total = 0.0, at;
    size_t chosen = e->member_count;
    for (size_t i = 0; i < e->member_count; i++)
        total += marks[i] && e->members[i].weight > 0.0 ? e->members[i].weight : 0.0;
    at = unit * total;
    for (size_t i = 0; i < e->member_count; i++) {
        if (!marks[i] || (total > 0.0 && !(e->members[i].weight > 0.0)))
            continue;
        chosen = i;
        at -= e->members[i].weight;
        if (total <= 0.0 || at < 0.0)
            break;
    }
    if (chosen < e->member_count)
        marks[chosen] = 0;
    return chosen;
}

static void append_drawn(const struct atoll_ensemble *e, unsigned char *marks, struct atoll_random *random,
                         struct order *order)
{
    for (;;) {
        size_t i = draw(e, marks, atoll_random_unit(atoll_random_next(random)));
        if (i >= e->member_count)
            return;
        append(order, e->members[i].model);
    }
}

static int is_of_generation(const struct atoll_ensemble_member *member, uint32_t generation)
{
    return generation >= member->from_generation && generation < member->until_generation;
}

int atoll_ensemble_choose(const struct atoll_ensemble *ensemble, uint32_t generation,
                          const struct atoll_id *request, unsigned n)
{
    unsigned char fitting[ATOLL_ENSEMBLE_MEMBER_LIMIT] = {0}, others[ATOLL_ENSEMBLE_MEMBER_LIMIT] = {0};
    struct atoll_random random = {atoll_id_u64(request), 0};
    struct order order = {0, {0}};
    for (size_t i = 0; i < ensemble->member_count; i++) {
        fitting[i] = (unsigned char)is_of_generation(&ensemble->members[i], generation);
        others[i] = !fitting[i];
    }
    append_drawn(ensemble, fitting, &random, &order);
    append_drawn(ensemble, others, &random, &order);
    for (size_t i = 0; i < ensemble->fallback_count; i++)
        append(&order, ensemble->fallbacks[i]);
    return n < order.count ? (int)order.models[n] : -1;
}
