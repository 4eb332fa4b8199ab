/* synthetic.h - answers without measuring, for the null backend: the time of a candidate is a function of its
 * identity, or what its source says of itself, so that coordinator, journal and search can be tested and timed without compilers
 * and devices.
 * Layer: mpi-eval.  Pure. */
#ifndef ATOLL_MPI_EVAL_EVALUATOR_SYNTHETIC_H
#define ATOLL_MPI_EVAL_EVALUATOR_SYNTHETIC_H

#include "core/message.h"
#include "core/rival.h"
#include "core/task/task.h"

void atoll_synthetic_device(struct atoll_device_info *ret_device);
/* 1 ms to 3 ms, from the first bytes of the identity. */
double atoll_synthetic_time_ns(const struct atoll_id *candidate);
/* The same, or the N of the first "null-time N" in its source, 1 to 1e9 ns.  source: NULL where it is not known. */
double atoll_synthetic_time_of(const struct atoll_order_candidate *candidate);
/* ret_evaluation: init'ed by the caller. */
int atoll_synthetic_evaluate(const struct atoll_task *task, const struct atoll_order *order,
                             struct atoll_evaluation *ret_evaluation, struct atoll_err *err);
/* From 2.5 ms down, half a millisecond less for each further rival.  ret_rival: init'ed by the caller. */
int atoll_synthetic_rival(const struct atoll_task *task, const struct atoll_order *order,
                          struct atoll_rival *ret_rival, struct atoll_err *err);
void atoll_synthetic_duel(const struct atoll_order *order, struct atoll_duel *ret_duel);

#endif
