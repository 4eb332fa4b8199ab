/* parent_folder.h - the folders above a file that a gateway is about to make.  Layer: base. */
#ifndef ATOLL_BASE_PARENT_FOLDER_H
#define ATOLL_BASE_PARENT_FOLDER_H

#include "base/err.h"

/* Makes what is missing of them, as `mkdir -p "$(dirname PATH)"` does; path itself is left alone.  LIMIT, DENIED, IO ... */
int atoll_parent_make(const char *path, struct atoll_err *err);

#endif
