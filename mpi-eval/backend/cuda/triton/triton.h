/* triton.h - the compiler of Triton sources (compiler.h): children forked from one process that has imported Triton make PTX, and
 * ptxas of Triton's own package makes the cubin, as Triton's launcher would.
 * Layer: mpi-eval, backend/cuda.  Nothing is started before the first job, unless starts_now says so. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_TRITON_TRITON_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_TRITON_TRITON_H

#include "mpi-eval/evaluator/compiler.h"

struct atoll_triton_settings {
    struct atoll_compiler_settings compiler; /* target, slots and limits */
    const char *python;                      /* as a setup says it: a path, "auto", "" or "none" */
    const char *script; /* NULL: ATOLL_TRITON_SCRIPT, else atoll_triton.py of this installation */
    const char *cache;  /* folder of the cache; NULL: as compile.h; "" none */
    int starts_now; /* 1: the process starts with the compiler and imports while others work; what fails is logged, and jobs say it */
};

/* Jobs whose file name ends in ".py" (request.h).  Where no interpreter has Triton, a job ends as BROKEN and says so. */
struct atoll_compiler *atoll_triton_create(const struct atoll_triton_settings *settings,
                                           struct atoll_err *err);

/* A compiler for both languages of the backend: jobs of Python to triton, the others to cuda.  Steals both, also on failure;
 * NULL with MEMORY. */
struct atoll_compiler *atoll_cuda_compiler_by_language_create(struct atoll_compiler *cuda,
                                                              struct atoll_compiler *triton,
                                                              struct atoll_err *err);

#endif
