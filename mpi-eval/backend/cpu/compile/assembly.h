/* assembly.h - the loop of an assembler text that a kernel spends its time in, as far as the text tells: of the loops without a
 * further one inside that with the most arithmetic on floats.
 * Layer: mpi-eval, backend/cpu.  Pure.  The text (of gcc or clang for x86-64, AT&T's form) is a candidate's doing. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CPU_COMPILE_ASSEMBLY_H
#define ATOLL_MPI_EVAL_BACKEND_CPU_COMPILE_ASSEMBLY_H

#include <stddef.h>

/* Writes its lines without directives, "" where there is none, cut at a line's end.  Returns how many loops there are. */
size_t atoll_assembly_hot_loop(const char *text, char *ret_loop, size_t bytes);

#endif
