/* folder.h - folders as a user means them: with all above them.  Layer: base. */
#ifndef ATOLL_BASE_FOLDER_H
#define ATOLL_BASE_FOLDER_H

#include <stddef.h>

#include "base/err.h"

/* mkdir -p. */
int atoll_folder_make(const char *path, struct atoll_err *err);
/* mkdir -p of what holds path. */
int atoll_folder_make_parents(const char *path, struct atoll_err *err);
/* Absolute form of a path whose last names need not be there; makes nothing.  Errors: USAGE (empty, or ".." below what is not
 * there), LIMIT, what opening its folders says. */
int atoll_folder_absolute(const char *path, char *ret_path, size_t bytes, struct atoll_err *err);

#endif
