/* lease_renewer.h - for how long rank 0 may write: its lease, renewed by a thread that does nothing else.
 * Layer: mpi-eval.  Lifetime: create/destroy.  One thread of its own; everything here is called by rank 0's main thread.
 *
 * The thread renews only while the main thread shows life, so that a hung rank 0 is seen from outside.  The main thread
 * asks before it writes and before it acknowledges.  NULL is a lease renewer without a lease: it always holds. */
#ifndef ATOLL_MPI_EVAL_COORDINATOR_LEASE_RENEWER_H
#define ATOLL_MPI_EVAL_COORDINATOR_LEASE_RENEWER_H

#include "base/lease.h"

#define ATOLL_LEASE_RENEWER_LIFE_S 300.0 /* without a sign of life for longer the lease is not renewed */

struct atoll_lease_renewer_settings {
    double time_s; /* of the lease; 0 = ATOLL_LEASE_TIME_S */
    double beat_s; /* between renewals; 0 = ATOLL_LEASE_BEAT_S, or in proportion to time_s */
    double life_s; /* 0 = ATOLL_LEASE_RENEWER_LIFE_S */
};

struct atoll_lease_renewer;

/* lease: claimed a moment ago; borrowed until destroy, and used by the thread alone in between. */
struct atoll_lease_renewer *atoll_lease_renewer_create(struct atoll_lease *lease,
                                                       const struct atoll_lease_renewer_settings *settings,
                                                       struct atoll_err *err);
/* Ends the thread; the lease is as it was. */
void atoll_lease_renewer_destroy(struct atoll_lease_renewer *lease_renewer);

/* The main thread lives. */
void atoll_lease_renewer_show_life(struct atoll_lease_renewer *lease_renewer);
/* 0: nobody else may write now, and for the next fifth of the lease's time.  Waits where the last renewal is too old to know.
 * BUSY: the lease is lost, and the text says to whom; write and acknowledge nothing more. */
int atoll_lease_renewer_check(struct atoll_lease_renewer *lease_renewer, struct atoll_err *err);

#endif
