/* compile_report.h - what ptxas says of resources, taken out of a compiler's output.
 * Layer: mpi-eval, backend/cuda.  Pure. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_COMPILE_COMPILE_REPORT_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_COMPILE_COMPILE_REPORT_H

#include "mpi-eval/backend/cpu/compile/compile.h"

/* Moves the lines of ptxas that are no errors out of output (NUL-terminated) into ret_report; how long it took is left
 * out, so that equal compilations have equal reports. */
void atoll_compile_report_split(char *output, char ret_report[ATOLL_COMPILE_REPORT_BYTES]);

#endif
