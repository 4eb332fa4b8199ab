/* object.h - static check of a shared object in memory, before ld.so may touch it.
 * Layer: mpi-eval, backend/cpu.  Pure.  The bytes are hostile: every offset and count is checked against the
 * length. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CPU_COMPILE_OBJECT_H
#define ATOLL_MPI_EVAL_BACKEND_CPU_COMPILE_OBJECT_H

#include <stddef.h>

#include "base/err.h"

/* Refuses what could run or reach anything at load time or beyond its own memory: constructors and
 * destructors, IFUNCs, text relocations, relocations outside its own data, an executable stack, writable
 * code, thread-local variables, libraries other than libc, libm and libmvec, imports that are not on the list
 * (memory and string primitives, maths), writable data unless allowed, and so many symbols, relocations by symbol or
 * symbols in one hash chain that ld.so would be slow.  symbols: functions that must be
 * defined in it. 0, or -1 with ATOLL_E_INPUT and what was found. */
int atoll_object_check(const void *data, size_t length, int allow_mutable_globals, const char *const *symbols,
                       size_t symbol_count, struct atoll_err *err);
/* What an object that passed the check may call of libm and libmvec, by the names that it imports. */
enum atoll_object_call { ATOLL_OBJECT_CALLS_LIBM = 1, ATOLL_OBJECT_CALLS_LIBMVEC = 2 };
unsigned atoll_object_calls(const void *data, size_t length);
/* Whether an object may import this function. */
int atoll_object_import_allowed(const char *name);

#endif
