/* instructions.h - the mix of machine instructions in a shared object for x86-64: how wide its arithmetic is.
 * Layer: mpi-eval, backend/cpu.  Pure.  The bytes are hostile: a section that does not fit is none, and what is no instruction is
 * passed over a byte at a time.  Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, "Instruction
 * Format" and appendix A (opcode maps). */
#ifndef ATOLL_MPI_EVAL_BACKEND_CPU_COMPILE_INSTRUCTIONS_H
#define ATOLL_MPI_EVAL_BACKEND_CPU_COMPILE_INSTRUCTIONS_H

#include <stddef.h>

#include "core/profile.h"

/* Adds nothing for objects of other machines.  Arithmetic on floats is FP32 or FP64, everything else OTHER; and besides
 * VECTOR_128 to GATHER as core/profile.h says. */
void atoll_instructions_count(const void *object, size_t length, uint32_t mix[ATOLL_MIX_COUNT]);
/* The level of x86-64 that this processor has ("x86-64-v4"), "" on other machines. */
const char *atoll_instructions_level(void);

#endif
