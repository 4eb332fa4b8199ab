/* drain.c - the longest of a window: an order that does not end in time is measured for nothing. */
#include "mpi-eval/coordinator/drain.h"

void atoll_drain_note(struct atoll_drain *d, double round_trip_ns)
{
    d->round_trips_ns[d->count++ % ATOLL_DRAIN_WINDOW] = round_trip_ns;
}

double atoll_drain_order_ns(const struct atoll_drain *d)
{
    double longest = d->count > 0 ? 0 : ATOLL_DRAIN_UNSEEN_NS;
    for (unsigned i = 0; i < d->count && i < ATOLL_DRAIN_WINDOW; i++)
        longest = d->round_trips_ns[i] > longest ? d->round_trips_ns[i] : longest;
    return longest;
}

double atoll_drain_shutdown_ns(const struct atoll_drain *d)
{
    return d->seal_ns > ATOLL_DRAIN_SHUTDOWN_NS ? d->seal_ns : ATOLL_DRAIN_SHUTDOWN_NS;
}

int atoll_drain_has_room(const struct atoll_drain *d, double left_ns)
{
    return left_ns >= atoll_drain_order_ns(d) + atoll_drain_shutdown_ns(d);
}
