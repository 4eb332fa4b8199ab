/* evaluator.h - the evaluator process: a loop between the coordinator's socket, compile children and the
 * referee's thread (docs/spec/wire.md).  It is a process of its own in every case, started by the spawner; no
 * candidate code runs in it. Layer: mpi-eval. */
#ifndef ATOLL_MPI_EVAL_EVALUATOR_EVALUATOR_H
#define ATOLL_MPI_EVAL_EVALUATOR_EVALUATOR_H

#include "base/err.h"

/* Speaks on fd (taken) until STOP or the end of the socket.  0: STOP came; -1: it could not go on,
 * and has sent FAILED with the reason. */
int atoll_evaluator_run(int fd, struct atoll_err *err);

#endif
