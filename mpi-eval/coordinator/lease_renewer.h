/* lease_renewer.h - for how long rank 0 may write: its lease, renewed by a thread that does nothing else.
 * Layer: mpi-eval.  Lifetime: create/destroy.  One thread of its own; everything here is called by rank 0's main thread.
 *
 * The thread renews only while the main thread shows life, so that a hung rank 0 is seen from outside.  The main thread
 * asks before it writes and before it acknowledges.  NULL is a tenure without a lease: it always holds. */
#ifndef ATOLL_MPI_EVAL_COORDINATOR_LEASE_RENEWER_H
#define ATOLL_MPI_EVAL_COORDINATOR_LEASE_RENEWER_H

#include "base/lease.h"

#define ATOLL_TENURE_LIFE_S 300.0 /* without a sign of life for longer the lease is not renewed */

struct atoll_tenure_settings {
    double time_s; /* of the lease; 0 = ATOLL_LEASE_TIME_S */
    double beat_s; /* between renewals; 0 = ATOLL_LEASE_BEAT_S, or in proportion to time_s */
    double life_s; /* 0 = ATOLL_TENURE_LIFE_S */
};

struct atoll_tenure;

/* lease: claimed a moment ago; borrowed until destroy, and used by the thread alone in between. */
struct atoll_tenure *atoll_tenure_create(struct atoll_lease *lease,
                                         const struct atoll_tenure_settings *settings, struct atoll_err *err);
/* Ends the thread; the lease is as it was. */
void atoll_tenure_destroy(struct atoll_tenure *tenure);

/* The main thread lives. */
void atoll_tenure_show_life(struct atoll_tenure *tenure);
/* 0: nobody else may write now, and for the next fifth of the lease's time.  Waits where the last renewal is too old to know.
 * BUSY: the lease is lost, and the text says to whom; write and acknowledge nothing more. */
int atoll_tenure_check(struct atoll_tenure *tenure, struct atoll_err *err);

#endif
