/* compile.h - compile children with NVRTC: several per rank, reused, sandboxed, with a content-addressed cache in
 * node-local scratch.  The interface is compiler.h.
 * Layer: mpi-eval, backend/cuda. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_COMPILE_COMPILE_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_COMPILE_COMPILE_H

#include "mpi-eval/evaluator/compiler.h"

struct atoll_nvrtc_settings {
    struct atoll_compiler_settings compiler; /* command: "nvrtc", "nvcc" or the path of an nvcc */
    const char *include_path;                /* CUTLASS and the like, "" or NULL none */
    const char *
        program; /* of the compile child; NULL: ATOLL_COMPILE_CUDA, else atoll-compile-cuda beside the program */
    const char
        *cache; /* folder of the cache; NULL: atoll-cache-<uid> in ATOLL_SCRATCH, TMPDIR or /tmp; "" none */
};

/* ATOLL_E_MISSING with the remedy when there is neither NVRTC nor an nvcc. */
struct atoll_compiler *atoll_nvrtc_create(const struct atoll_nvrtc_settings *settings, struct atoll_err *err);

#endif
