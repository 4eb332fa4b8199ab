/* fakes.h - degenerate outputs that a task's check must refuse (MEASUREMENT.md 7), made from right ones.
 * Layer: mpi-eval, referee.  Pure but for memory. */
#ifndef ATOLL_MPI_EVAL_REFEREE_FAKES_H
#define ATOLL_MPI_EVAL_REFEREE_FAKES_H

#include <stddef.h>

#include "core/task/task.h"
#include "mpi-eval/referee/input_set.h"

/* What the fakes are made of; all borrowed.  Arrays by tensor number. */
struct atoll_fakes_source {
    const struct atoll_task *task;
    uint32_t variant;
    const struct atoll_input_set *input_set;
    const size_t *counts;
    double *const *right;    /* expected values of the input set; NULL where nothing is expected */
    double *const *previous; /* of another input set */
};

struct atoll_fakes_row {
    const char *test; /* "rejects zeros" */
    int is_right;     /* 1: the one that must be accepted */
};

size_t atoll_fakes_count(void);
const struct atoll_fakes_row *atoll_fakes_row(size_t fake);
/* Raw outputs, as a candidate would have written them; the caller frees each.  0: the fake does not apply to this task
 * (no input of that size, too few elements), or there is no memory; ret_data is all NULL then. */
int atoll_fakes_make(size_t fake, const struct atoll_fakes_source *source,
                     void *ret_data[ATOLL_TASK_TENSOR_LIMIT]);
void atoll_fakes_free(void *data[ATOLL_TASK_TENSOR_LIMIT]);

#endif
