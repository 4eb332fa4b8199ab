/* torch_answer.h - expected values of tasks that PyTorch defines: a Python process with a context of its own on the device, or on
 * the host, gives doubles, and these are put into the plain area, where a compiled reference would have put them: by way of host
 * memory, or device to device where they are large (window.h).  Layer: mpi-eval, backend/cuda.
 *
 * It is asked where no candidate runs, and it is stopped and without kernels where one does.  Its memory on the device is kept free
 * of the areas (room).  On the host it works where the device takes one process only (compute mode), where the answer needs more
 * than 90 % of the device's memory, and where its torch cannot use the device. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_TORCH_ANSWER_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_TORCH_ANSWER_H

#include "mpi-eval/backend/cuda/measure/stage.h"

/* A task that PyTorch defines is made known: ATOLL_E_INPUT where there is no Python with torch.  From the next reserve on the areas
 * leave room for its answers. */
int atoll_cuda_torch_expect(struct atoll_referee *referee, struct atoll_case *known, struct atoll_err *err);

/* Puts the expected values of the stage's input set into the plain area that is set there; the batch that uses them ends with the
 * wipe.  Nothing for a task with a compiled reference.  0, 1 the device process was lost, -1. */
int atoll_cuda_torch_answer(struct atoll_cuda_stage *stage, struct atoll_err *err);

#endif
