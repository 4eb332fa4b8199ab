/* examine.h - outputs that no candidate made, through the check that a candidate's get; and what the reference says on
 * the device (MEASUREMENT.md 7).  Layer: mpi-eval, backend/cuda.  For backend.h's table. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_EXAMINE_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_EXAMINE_H

#include "mpi-eval/referee/state.h"

int atoll_cuda_examine(struct atoll_referee *referee, struct atoll_case *known,
                       const struct atoll_input_set *draw, const void *const *data, char *ret_detail,
                       struct atoll_err *err);
int atoll_cuda_expect(struct atoll_referee *referee, struct atoll_case *known,
                      const struct atoll_input_set *draw, double **ret_values, struct atoll_err *err);

#endif
