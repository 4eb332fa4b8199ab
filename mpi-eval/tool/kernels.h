/* kernels.h - the kernels of a campaign, searched by words and patterns.
 * Layer: mpi-eval.  Lifetime: create/destroy.  Single owner.  Of one engine: what was indexed is not looked at again. */
#ifndef ATOLL_MPI_EVAL_TOOL_KERNELS_H
#define ATOLL_MPI_EVAL_TOOL_KERNELS_H

#include "core/tool.h"
#include "evolution/engine/engine.h"

struct atoll_kernels;

struct atoll_kernels *atoll_kernels_create(struct atoll_err *err);
void atoll_kernels_destroy(struct atoll_kernels *kernels); /* NULL is fine */
/* Appends the result of a call.  task, model: whose kernels come first where no words rank them.  -1 with INPUT: what the model is
 * told instead. */
int atoll_kernels_search(struct atoll_kernels *kernels, const struct atoll_engine *engine, uint32_t task,
                         uint32_t model, const struct atoll_tool_arguments *arguments,
                         struct atoll_buffer *out, struct atoll_err *err);

#endif
