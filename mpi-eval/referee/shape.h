/* shape.h - extents of a tensor at a variant, and a flat index as people read it.
 * Layer: mpi-eval, referee.  Plain value. */
#ifndef ATOLL_MPI_EVAL_REFEREE_SHAPE_H
#define ATOLL_MPI_EVAL_REFEREE_SHAPE_H

#include "core/task/task.h"

struct atoll_shape {
    size_t rank, count;
    size_t extent[ATOLL_TASK_RANK_LIMIT];
};

int atoll_shape_of(const struct atoll_task *task, size_t tensor, const struct atoll_variant *variant,
                   struct atoll_shape *ret_shape, struct atoll_err *err);
/* "y[3, 17]"; returned for use in printf. */
const char *atoll_shape_index_text(const struct atoll_shape *shape, const char *name, size_t index,
                                   char *ret_text, size_t bytes);
/* Rows and columns of the last two axes (1 where there are fewer). */
size_t atoll_shape_columns(const struct atoll_shape *shape);
size_t atoll_shape_rows(const struct atoll_shape *shape);

#endif
