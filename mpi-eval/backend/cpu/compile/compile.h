/* compile.h - the C compiler of candidates: cc, which makes shared objects.  The interface is compiler.h.
 * Layer: mpi-eval, backend/cpu. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CPU_COMPILE_COMPILE_H
#define ATOLL_MPI_EVAL_BACKEND_CPU_COMPILE_COMPILE_H

#include "mpi-eval/evaluator/compiler.h"

/* The unit that is a candidate's: what the preprocessor makes of it is judged by the static rules of "c". */
#define ATOLL_CC_CANDIDATE ATOLL_COMPILE_CANDIDATE "c"
/* What #line calls the harness's part behind it. */
#define ATOLL_CC_HARNESS "plan"

/* Errors: ATOLL_E_MISSING with the remedy when there is no compiler that makes a working shared object. */
struct atoll_compiler *atoll_cc_create(const struct atoll_compiler_settings *settings, struct atoll_err *err);

#endif
