/* evaluator_pool.h - keeps the evaluator processes of this machine alive: starts them through the spawner, speaks
 * frames with each over its socket, starts another when one is lost.  One of the two carriers behind peers.h.
 * Layer: mpi-eval.  Lifetime: create/destroy.  Single owner. */
#ifndef ATOLL_MPI_EVAL_NODE_EVALUATOR_POOL_H
#define ATOLL_MPI_EVAL_NODE_EVALUATOR_POOL_H

#include "mpi-eval/node/peers.h"
#include "mpi-eval/node/spawner.h"

struct atoll_keeper;

/* How often in a row a lost evaluator is started again; one that lived for a minute counts as new. */
#define ATOLL_KEEPER_RESTART_LIMIT 5

/* Starts `count` evaluators.  spawner: borrowed. */
struct atoll_keeper *atoll_keeper_create(struct atoll_spawner *spawner, unsigned count,
                                         struct atoll_err *err);
void atoll_keeper_destroy(struct atoll_keeper *keeper); /* closes the sockets: the evaluators leave */
/* Borrows the keeper. */
struct atoll_peers atoll_keeper_peers(struct atoll_keeper *keeper);
/* Sockets that are open: 0 when every evaluator has gone for good. */
unsigned atoll_keeper_alive(const struct atoll_keeper *keeper);
/* From now on a lost evaluator is not started again (the run is ending). */
void atoll_keeper_retire(struct atoll_keeper *keeper);

#endif
