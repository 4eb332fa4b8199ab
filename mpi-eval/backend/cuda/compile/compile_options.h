/* compile_options.h - the options of every NVRTC job of a compiler: target, headers, and what the user may ask for.
 * Layer: mpi-eval, backend/cuda.  Lifetime: init/fini. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_COMPILE_COMPILE_OPTIONS_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_COMPILE_COMPILE_OPTIONS_H

#include "mpi-eval/backend/cuda/compile/toolkit.h"
#include "mpi-eval/evaluator/compiler.h"

#define ATOLL_COMPILE_OPTION_LIMIT 64

struct atoll_compile_options {
    char *texts[ATOLL_COMPILE_OPTION_LIMIT]; /* owned */
    size_t count;
};

/* C++17 unless the flags say otherwise.  ATOLL_E_INPUT names a flag that reads files or is unknown.  After a failure fini
 * is due as well. */
int atoll_compile_options_init(struct atoll_compile_options *o,
                               const struct atoll_compiler_settings *settings,
                               const struct atoll_toolkit *toolkit, struct atoll_err *err);
void atoll_compile_options_fini(struct atoll_compile_options *o);

#endif
