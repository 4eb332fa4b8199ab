/* task_copy.h - copies the files of a task into a campaign, durably.
 * Layer: archive-h5. */
#ifndef ATOLL_ARCHIVE_H5_CAMPAIGN_TASK_COPY_H
#define ATOLL_ARCHIVE_H5_CAMPAIGN_TASK_COPY_H

#include "base/file.h"

#define ATOLL_TASK_COPY_FILE_LIMIT  256
#define ATOLL_TASK_COPY_DEPTH_LIMIT 3

/* Copies regular files and folders of `from` to `to` (made; files there are replaced), each synced.  Hidden
 * files are left out.  Errors: NOTFOUND, LIMIT (files, depth, size), INPUT (something that is neither file
 * nor folder), FULL, DENIED, IO. */
int atoll_task_copy(const struct atoll_file_ops *ops, const char *from, const char *to,
                    struct atoll_err *err);

/* Reads a whole regular file of at most limit_bytes: owned bytes with a NUL behind them, free() them. */
char *atoll_file_read(const char *path, size_t limit_bytes, size_t *ret_length, struct atoll_err *err);

#endif
