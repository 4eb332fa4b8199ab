/* program.h - where the running program lies, and what was built or installed with it: its other programs and its data.
 * Nothing is compiled in, so an installation works from wherever it is moved to.  Layer: base.  Thread-safe. */
#ifndef ATOLL_BASE_PROGRAM_H
#define ATOLL_BASE_PROGRAM_H

#include <stddef.h>

#include "base/err.h"

/* Path of the running program.  ATOLL_E_LIMIT when it does not fit. */
int atoll_program_path(char *ret_path, size_t bytes, struct atoll_err *err);

/* Path of `name` in the running program's folder, whether it is there or not; name may begin with "../". */
int atoll_program_beside(const char *name, char *ret_path, size_t bytes, struct atoll_err *err);

/* Path of a data file or folder ("suites/starter") that is there: in ../share/atoll of an installation, in share/atoll of
 * a build folder.  ATOLL_E_NOTFOUND when it is in neither. */
int atoll_program_data(const char *name, char *ret_path, size_t bytes, struct atoll_err *err);

#endif
