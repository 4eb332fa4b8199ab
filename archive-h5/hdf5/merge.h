/* merge.h - several archives into one: rows with equal keys once (the later file wins), each text once.
 * Layer: archive-h5. */
#ifndef ATOLL_ARCHIVE_H5_HDF5_MERGE_H
#define ATOLL_ARCHIVE_H5_HDF5_MERGE_H

#include "base/file.h"
#include "archive-h5/table/table.h"

/* Adds everything of `from` to `into`, which must come from a struct atoll_merge alone. */
struct atoll_merge;
struct atoll_merge *atoll_merge_create(size_t limit_bytes, struct atoll_err *err);
void atoll_merge_destroy(struct atoll_merge *merge); /* NULL is fine */
int atoll_merge_add(struct atoll_merge *merge, const struct atoll_tables *from, struct atoll_err *err);

struct atoll_tables *atoll_merge_take(struct atoll_merge *merge); /* ownership; the merge is empty after */

/* Reads the files in order, merges, and replaces out in one step.  out may be one of the files. */
int atoll_merge_files(const char *const *paths, size_t count, const char *out,
                      const struct atoll_file_ops *ops, struct atoll_err *err);

#endif
