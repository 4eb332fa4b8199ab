/* shutdown.h - when a run ends before its search: a signal, a drain file, or a time that is nearly over.
 * Layer: mpi-eval.  Plain data; zero but for what the caller sets.
 *
 * RUNNING -> DRAINING (no order is sent any more, those under way are waited for) -> over (all came back, or only the time
 * for closing journal and archive is left).  The search goes on with the next resume. */
#ifndef ATOLL_MPI_EVAL_COORDINATOR_SHUTDOWN_H
#define ATOLL_MPI_EVAL_COORDINATOR_SHUTDOWN_H

#include <signal.h>
#include <stddef.h>

#include "base/err.h"

#define ATOLL_SHUTDOWN_UNSEEN_ORDER_NS 30e9 /* what an order may take before any came back */
#define ATOLL_SHUTDOWN_CLOSING_NS      10e9 /* the least reserve for closing journal, segment and archive */
#define ATOLL_SHUTDOWN_WINDOW          64   /* the last orders, whose longest is what one more may take */

struct atoll_shutdown {
    /* Set by the caller; borrowed. */
    const volatile sig_atomic_t *interrupts; /* not 0: a signal came; NULL = never */
    int drains_on_interrupt;                 /* 0: a signal asks the search for an orderly end instead */
    const char *const *drain_files;          /* when one of them is there the run is drained */
    size_t drain_file_count;
    double until_ns;   /* monotonic; the run has to be over by then; 0 = never */
    double archive_ns; /* how long writing the archive took last, 0 not known */
    /* Its own. */
    int is_draining;
    double round_trips_ns[ATOLL_SHUTDOWN_WINDOW];
    unsigned round_trip_count; /* recorded so far */
    double looked_ns;          /* for the drain files */
    double full_disk_logged_ns;
};

/* An order came back: from when it was sent, so what it waited for in its evaluator is in it. */
void atoll_shutdown_record_round_trip(struct atoll_shutdown *shutdown, double round_trip_ns);
/* What one more order may take: the longest of those that came back lately. */
double atoll_shutdown_longest_order_ns(const struct atoll_shutdown *shutdown);
/* What closing journal, segment and archive needs. */
double atoll_shutdown_closing_ns(const struct atoll_shutdown *shutdown);
int atoll_shutdown_has_room(const struct atoll_shutdown *shutdown, double left_ns);

/* A signal came and asks the search, not just this run, for its end. */
int atoll_shutdown_ends_search(const struct atoll_shutdown *shutdown);
/* Starts draining when it is asked for, or when the time that is left holds no other order.  1: it starts now. */
int atoll_shutdown_start_draining(struct atoll_shutdown *shutdown, double now_ns, size_t under_way_count);
int atoll_shutdown_is_over(const struct atoll_shutdown *shutdown, double now_ns, size_t under_way_count);
/* The disk is full: logs it now and then, and waits half a second.  0: try again; -1: the run has to end now. */
int atoll_shutdown_wait_for_space(struct atoll_shutdown *shutdown, double now_ns,
                                  const struct atoll_err *why);

#endif
