/* tiles.h - whether a task's reference.cu says what its reference.c says (docs/adr/0025): which units are asked, and what is
 * made of the two answers.  Layer: mpi-eval, backend/cuda.  Pure; backend.c runs both. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_TILES_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_TILES_H

#include "mpi-eval/backend/cuda/measure/sample.h"

/* By how much the two may differ, of the larger of a value and its scale; scales by as much of themselves. */
#define ATOLL_CUDA_TILES_AGREE 1e-12

/* Local memory of a thread of reference.cu's kernel in an image, which is overwritten after it ran.  -1: there is no such kernel,
 * or it has more than can be overwritten. */
int atoll_cuda_tiles_stack(const void *image, size_t length, uint32_t *ret_bytes, struct atoll_err *err);

/* Units whose elements of one output fit the list: all of them where they do, else some that the secret picks.  elements:
 * of that output. */
int atoll_cuda_tiles_units(const struct atoll_task *task, const struct atoll_variant *variant,
                           uint64_t elements, uint64_t secret, struct atoll_cuda_units *ret_units,
                           struct atoll_err *err);

/* bytes: an atoll_agreement_area as read back.  1: they agree; 0: not, with the first difference in ret_text. */
int atoll_cuda_tiles_judge(const void *bytes, size_t length, const struct atoll_task *task, size_t tensor,
                           const struct atoll_variant *variant, char *ret_text, size_t text_bytes);

#endif
