/* forwarder.h - a rank other than 0: carries frames between rank 0 and the evaluator process of this rank,
 * and nothing else. Layer: mpi-eval.  A crash of the evaluator never kills the rank. */
#ifndef ATOLL_MPI_EVAL_NODE_FORWARDER_H
#define ATOLL_MPI_EVAL_NODE_FORWARDER_H

#include "mpi-eval/node/evaluator_pool.h"
#include "mpi-eval/node/peers.h"

struct atoll_forwarder_times {
    double heartbeat_timeout_ns; /* an evaluator that is silent for longer is ended and started again */
    double answer_ns;            /* for which rank 0's last word is waited for; 0 = 12 s ... */
    double writing_ns;           /* ... and since it said that it writes its files; 0 = 300 s */
    double (*now_ns)(void);      /* monotonic clock; NULL = that of the system */
};

/* Runs until rank 0 sends STOP, which stops the evaluator and is answered with PEER_LOST, and then STOP with
 * one byte of payload, which allows MPI_Finalize (enum atoll_stop_word).  up: peer 0 is rank 0.  1: rank 0 allowed MPI_Finalize;
 * 0: it sent that ranks are lost, or does not answer: leave with _exit. */
int atoll_forwarder_run(const struct atoll_peers *up, struct atoll_evaluator_pool *pool,
                        const struct atoll_forwarder_times *times);

#endif
