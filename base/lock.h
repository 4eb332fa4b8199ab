/* lock.h - one owner at a time on one host: an open file description lock on a file whose text names its holder.
 * Layer: base. */
#ifndef ATOLL_BASE_LOCK_H
#define ATOLL_BASE_LOCK_H

#include "base/err.h"

/* Opens (makes) path and locks it without waiting.  The lock lives as long as the descriptor and the process.
 * 0 and ret_fd; -1: ATOLL_E_BUSY "...: in use by process 12 on host n7", DENIED, FULL, IO. */
int atoll_lock_take(const char *path, int *ret_fd, struct atoll_err *err);
void atoll_lock_release(int fd); /* -1 is fine */

#endif
