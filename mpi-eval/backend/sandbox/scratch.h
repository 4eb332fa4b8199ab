/* scratch.h - a private folder on node-local storage that goes with its process, or with the next one to
 * come. Layer: mpi-eval, backend/sandbox.  Lifetime: create/destroy. */
#ifndef ATOLL_MPI_EVAL_BACKEND_SANDBOX_SCRATCH_H
#define ATOLL_MPI_EVAL_BACKEND_SANDBOX_SCRATCH_H

#include "base/err.h"

struct atoll_scratch;

/* Where node-local files go: ATOLL_SCRATCH, else TMPDIR, else /tmp. */
const char *atoll_scratch_base(void);
/* Makes a folder of mode 0700 there and holds a lock on it.  Folders
 * there that a killed process left behind (this user's, not locked, older than a minute) are removed first.
 */
struct atoll_scratch *atoll_scratch_create(struct atoll_err *err);
struct atoll_scratch *atoll_scratch_create_in(const char *base, struct atoll_err *err); /* elsewhere */
void atoll_scratch_destroy(struct atoll_scratch *scratch); /* removes the folder; NULL is fine */
const char *atoll_scratch_path(const struct atoll_scratch *scratch);
/* Removes everything in a folder, without following links; depth bounds how far down.  The folder itself
 * stays. */
void atoll_scratch_empty(int folder_fd, int depth);

#endif
