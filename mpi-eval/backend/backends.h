/* backends.h - the backends there are.  Another one is a folder beside these whose table (referee/backend.h) is
 * atoll_backend_<name>, and a word in this list; README.md says what a new language needs besides.
 * Layer: mpi-eval, backend.  Immutable. */
#ifndef ATOLL_MPI_EVAL_BACKEND_BACKENDS_H
#define ATOLL_MPI_EVAL_BACKEND_BACKENDS_H

#include "mpi-eval/referee/backend.h"

/* The first one is meant where none is named. */
#define ATOLL_BACKENDS(X) X(cpu) X(cuda)

#define ATOLL_BACKEND_DECLARE(name) extern const struct atoll_backend atoll_backend_##name;
ATOLL_BACKENDS(ATOLL_BACKEND_DECLARE)
#undef ATOLL_BACKEND_DECLARE

/* By name, "" is the first; NULL when there is none. */
const struct atoll_backend *atoll_backend_find(const char *name);

#endif
