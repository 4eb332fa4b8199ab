/* evaluator_pool.h - keeps the evaluator processes of this machine alive: starts them through the spawner, speaks
 * frames with each over its socket, starts another when one is lost.  One of the two carriers behind peers.h.
 * Layer: mpi-eval.  Lifetime: create/destroy.  Single owner. */
#ifndef ATOLL_MPI_EVAL_NODE_EVALUATOR_POOL_H
#define ATOLL_MPI_EVAL_NODE_EVALUATOR_POOL_H

#include "mpi-eval/node/peers.h"
#include "mpi-eval/node/spawner.h"

struct atoll_evaluator_pool;

/* How often in a row a lost evaluator is started again; one that lived for a minute counts as new. */
#define ATOLL_EVALUATOR_POOL_RESTART_LIMIT 5

/* Starts `count` evaluators.  spawner: borrowed. */
struct atoll_evaluator_pool *atoll_evaluator_pool_create(struct atoll_spawner *spawner, unsigned count,
                                                         struct atoll_err *err);
void atoll_evaluator_pool_destroy(
    struct atoll_evaluator_pool *pool); /* closes the sockets: the evaluators leave */
/* Borrows the evaluator pool. */
struct atoll_peers atoll_evaluator_pool_peers(struct atoll_evaluator_pool *pool);
/* Sockets that are open: 0 when every evaluator has gone for good. */
unsigned atoll_evaluator_pool_alive(const struct atoll_evaluator_pool *pool);
/* From now on a lost evaluator is not started again (the run is ending). */
void atoll_evaluator_pool_retire(struct atoll_evaluator_pool *pool);

#endif
