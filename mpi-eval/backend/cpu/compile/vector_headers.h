/* vector_headers.h - the compiler's headers of vector functions, which take long to parse, and which units can do with less of them.
 * Layer: mpi-eval, backend/cpu.  Pure. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CPU_COMPILE_VECTOR_HEADERS_H
#define ATOLL_MPI_EVAL_BACKEND_CPU_COMPILE_VECTOR_HEADERS_H

#include "mpi-eval/backend/compile/parsed_headers.h"

/* Of x86 each name twice: first without AVX-512 and AMX, which can be made only where neither is compiled for. */
extern const struct atoll_parsed_header atoll_vector_headers[];

/* Whether a unit, preprocessed (text of a candidate), declares nothing at file scope by a name that AVX-512's headers may
 * declare.  Any other use of such a name does not compile without them. */
int atoll_vector_headers_suit(const char *preprocessed);

#endif
