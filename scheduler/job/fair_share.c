#include "scheduler/job/fair_share.h"

int atoll_fair_share_has_turn(const struct atoll_fair_share_claim *claim)
{
    return claim->missing > 0 && claim->has_room;
}

int atoll_fair_share_is_before(const struct atoll_fair_share_claim *a, const struct atoll_fair_share_claim *b)
{
    if (!atoll_fair_share_has_turn(a) || !atoll_fair_share_has_turn(b)) {
        return atoll_fair_share_has_turn(a) && !atoll_fair_share_has_turn(b);
    }
    if (a->priority > b->priority || a->priority < b->priority) {
        return a->priority > b->priority;
    }
    return (double)a->live / a->share < (double)b->live / b->share;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

unsigned atoll_fair_share_elements(const struct atoll_fair_share_array *array)
{
    size_t count = array->missing;

    if (!array->is_allowed) {
        return 1;
    }
    if (array->ceiling) {
        count = least(count, array->ceiling > array->queued ? array->ceiling - array->queued : 0);
    }
    if (array->array_size) {
        count = least(count, array->array_size);
    }
    return count > 1 ? (unsigned)count : 1;
}
