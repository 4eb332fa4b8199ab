/* toolchain.h - the compiler of this machine: where it lies, its version, the folders that it needs.
 * Layer: mpi-eval, backend/compile.  Lifetime: init/fini.  Runs the trusted compiler with fixed arguments, no
 * candidate text. */
#ifndef ATOLL_MPI_EVAL_BACKEND_COMPILE_TOOLCHAIN_H
#define ATOLL_MPI_EVAL_BACKEND_COMPILE_TOOLCHAIN_H

#include "base/err.h"
#include "mpi-eval/backend/sandbox/sandbox.h"

#define ATOLL_TOOLCHAIN_PATH_LIMIT 64

struct atoll_toolchain {
    char *path;                                                   /* owned; the command, absolute */
    char *version;                                                /* owned; first line of --version */
    struct atoll_landlock_path paths[ATOLL_TOOLCHAIN_PATH_LIMIT]; /* read-only; texts owned */
    size_t path_count;
    char *environment[8]; /* owned texts; NULL ends */
};

/* command: a name searched in PATH, or a path.  ATOLL_E_MISSING with the remedy. */
int atoll_toolchain_init(struct atoll_toolchain *t, const char *command, struct atoll_err *err);
/* One more folder to read (resolved; what does not exist is left out). */
void atoll_toolchain_add_folder(struct atoll_toolchain *t, const char *folder);
void atoll_toolchain_fini(struct atoll_toolchain *t);

/* A program by its name in PATH, or by a path; the caller frees.  NULL: there is none that can be run. */
char *atoll_toolchain_find_program(const char *command);

#endif
