/* compile_judge.h - what the end of a compile child and its words mean: the candidate's error, a limit, or a failure of
 * ours.  Layer: mpi-eval, backend/cpu.  Pure. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CPU_COMPILE_COMPILE_JUDGE_H
#define ATOLL_MPI_EVAL_BACKEND_CPU_COMPILE_COMPILE_JUDGE_H

#include "mpi-eval/evaluator/compiler.h"

/* output: NUL-terminated words of cc, as, ld, cicc, ptxas ...  file_name: of the source; lines that start with it are the
 * candidate's, whatever they say.  wait_status: of wait(2). */
enum atoll_compile_status atoll_compile_judge(const char *output, const char *file_name, int wait_status);

#endif
