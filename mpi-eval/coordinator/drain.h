/* drain.h - whether the time that is left holds one more order: how long orders took lately, and what closing needs.
 * Layer: mpi-eval, pure.  Plain data; starts as all zero. */
#ifndef ATOLL_MPI_EVAL_COORDINATOR_DRAIN_H
#define ATOLL_MPI_EVAL_COORDINATOR_DRAIN_H

#define ATOLL_DRAIN_UNSEEN_NS   30e9 /* what an order may take before any came back */
#define ATOLL_DRAIN_SHUTDOWN_NS 10e9 /* the least reserve for closing journal, segment and archive */
#define ATOLL_DRAIN_WINDOW      64   /* orders that are lately */

struct atoll_drain {
    double round_trips_ns[ATOLL_DRAIN_WINDOW];
    unsigned count; /* noted so far */
    double seal_ns; /* how long the last seal took, 0 not known */
};

/* An order came back: from when it was sent, so what it waited for in its evaluator is in it. */
void atoll_drain_note(struct atoll_drain *drain, double round_trip_ns);
/* What one more order may take: the longest of those that came back lately. */
double atoll_drain_order_ns(const struct atoll_drain *drain);
double atoll_drain_shutdown_ns(const struct atoll_drain *drain);
int atoll_drain_has_room(const struct atoll_drain *drain, double left_ns);

#endif
