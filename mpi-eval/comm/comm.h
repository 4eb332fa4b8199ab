/* comm.h - frames between ranks: the only part that knows MPI.
 * Layer: mpi-eval/comm.  Lifetime: create/destroy, once a process.  One thread.
 *
 * One frame is one message with one fixed tag.  After start-up nothing blocks: Isend, Iprobe, Irecv and Test
 * only; no collective, no matched probe.  A lost rank is silence: sends to it never complete and are
 * forgotten at the end. */
#ifndef ATOLL_MPI_EVAL_COMM_COMM_H
#define ATOLL_MPI_EVAL_COMM_COMM_H

#include "mpi-eval/node/peers.h"

struct atoll_comm;

/* MPI_Init.  Errors of MPI return instead of aborting. */
struct atoll_comm *atoll_comm_create(int *argc, char ***argv, struct atoll_err *err);
unsigned atoll_comm_rank(const struct atoll_comm *comm);
unsigned atoll_comm_size(const struct atoll_comm *comm);
/* Rank 0: peer k is rank k + 1.  Other ranks: peer 0 is rank 0. */
struct atoll_peers atoll_comm_peers(struct atoll_comm *comm);
/* all_answered: every rank has sent that it leaves, so MPI_Finalize (which waits for all) returns.  Otherwise
 * nothing of MPI is touched and the caller must leave with _exit after flushing what it has: a lost rank
 * would hold MPI_Finalize for ever. */
void atoll_comm_destroy(struct atoll_comm *comm, int all_answered);
/* Ends every rank of the run, those that hang too, and does not return.  For rank 0, when all it has is on disk: a launcher
 * takes a rank that leaves without MPI_Finalize for a failure, and may wait for ever for one that hangs. */
void atoll_comm_abort(struct atoll_comm *comm, int status) __attribute__((noreturn));

#endif
