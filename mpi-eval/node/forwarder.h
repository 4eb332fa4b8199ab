/* forwarder.h - a rank other than 0: carries frames between rank 0 and the evaluator process of this rank,
 * and nothing else. Layer: mpi-eval.  A crash of the evaluator never kills the rank. */
#ifndef ATOLL_MPI_EVAL_NODE_FORWARDER_H
#define ATOLL_MPI_EVAL_NODE_FORWARDER_H

#include "mpi-eval/node/evaluator_pool.h"
#include "mpi-eval/node/peers.h"

/* Runs until rank 0 sends STOP, which stops the evaluator and is answered with PEER_LOST, and then STOP with
 * one byte of payload, which allows MPI_Finalize.  up: peer 0 is rank 0.  heartbeat_timeout_ns: a silent
 * evaluator is ended and started again. 1: rank 0 allowed MPI_Finalize; 0: it sent that ranks are lost, or does not answer: leave with
 * _exit. */
int atoll_forwarder_run(const struct atoll_peers *up, struct atoll_evaluator_pool *pool,
                        double heartbeat_timeout_ns);

#endif
