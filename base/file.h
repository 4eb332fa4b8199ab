/* file.h - files and folders: the system calls through which everything durable is written, as a table that a test may
 * replace, and what is made of them (write all, replace in one step, make folders).  Layer: base.
 *
 * Reading needs no table: what matters is what survives a crash, and that is decided by these calls.  Every function of the
 * table behaves as the system call of its name (result, -1 with errno); context is the table's own. */
#ifndef ATOLL_BASE_FILE_H
#define ATOLL_BASE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"

struct atoll_file_ops {
    void *context;
    int (*open)(void *context, const char *path, int flags,
                mode_t mode); /* O_CLOEXEC is added by the callers */
    ssize_t (*write_at)(void *context, int fd, const void *bytes, size_t length, off_t offset);
    int (*ftruncate)(void *context, int fd, off_t length);
    int (*fdatasync)(void *context, int fd);
    int (*fsync)(void *context, int fd);
    int (*close)(void *context, int fd);
    int (*rename)(void *context, const char *from, const char *to);
    int (*unlink)(void *context, const char *path);
    int (*mkdir)(void *context, const char *path, mode_t mode);
    int (*link)(void *context, const char *from, const char *to);
};

/* The real calls.  Static storage.  The functions that say so take NULL for it. */
const struct atoll_file_ops *atoll_file_ops_real(void);

/* All of it to a descriptor of any kind that blocks, through short writes and signals: 0, or -1 with errno. */
int atoll_write_all(int fd, const void *bytes, size_t length);

/* Writes all bytes at offset: short writes and EINTR are continued.  0, or -1 with errno set. */
int atoll_file_write_all(const struct atoll_file_ops *ops, int fd, const void *bytes, size_t length,
                         off_t offset);

/* fsync of a directory, so that entries made or renamed in it survive a power loss.  Text of the error names
 * the path. */
int atoll_file_sync_directory(const struct atoll_file_ops *ops, const char *path, struct atoll_err *err);
/* The same for the directory that holds path. */
int atoll_file_sync_parent(const struct atoll_file_ops *ops, const char *path, struct atoll_err *err);

/* Makes a directory durable; an existing one is fine when exist_ok. */
int atoll_file_make_directory(const struct atoll_file_ops *ops, const char *path, int exist_ok,
                              struct atoll_err *err);

/* Writes a new file (or over an old one) and syncs it, not its directory.  After a failure it is unlinked. */
int atoll_file_write(const struct atoll_file_ops *ops, const char *path, const void *bytes, size_t length,
                     struct atoll_err *err);

/* Renames a temporary file that is written to its place.  After a failure it is unlinked. */
int atoll_file_put_in_place(const struct atoll_file_ops *ops, const char *temporary, const char *path,
                            struct atoll_err *err);

/* Replaces path by bytes in one step: "<path>.tmp", write, fsync, rename, fsync of the directory.  After a
 * failure path is what it was and the temporary file is gone.  ops: NULL = the real calls. */
int atoll_file_replace(const struct atoll_file_ops *ops, const char *path, const void *bytes, size_t length,
                       struct atoll_err *err);

/* Fills err for a failed write below path; a full disk, a missing permission and a read-only file system get
 * their remedy. */
int atoll_file_write_failed(const char *path, const char *doing, int sys_errno, struct atoll_err *err);

/* Opens a regular file for reading, whatever lies at path: a FIFO or a device does not make the caller wait.  ret_bytes: its size;
 * may be NULL.  A descriptor, or -1.  Errors: NOTFOUND, DENIED, INPUT (no regular file), IO. */
int atoll_file_open(const char *path, uint64_t *ret_bytes, struct atoll_err *err);

/* The same for stdio; the caller closes it. */
FILE *atoll_file_stream(const char *path, struct atoll_err *err);
/* Opens a regular file for writing with flags (O_WRONLY, O_CREAT, O_APPEND ...), whatever lies at path.  A descriptor, or -1.
 * Errors: as atoll_file_write_failed, INPUT (no regular file). */
int atoll_file_open_to_write(const char *path, int flags, mode_t mode, struct atoll_err *err);

/* Reads a whole regular file of at most limit_bytes: owned bytes with a NUL behind them, free() them.  Errors: NOTFOUND, LIMIT,
 * INPUT (no regular file), MEMORY, IO. */
char *atoll_file_read(const char *path, size_t limit_bytes, size_t *ret_length, struct atoll_err *err);

/* 1: the folder is not there, or holds nothing. */
int atoll_folder_is_empty(const char *path);
/* mkdir -p. */
int atoll_folder_make(const char *path, struct atoll_err *err);
/* mkdir -p of what holds path; path itself is left alone. */
int atoll_folder_make_parents(const char *path, struct atoll_err *err);
/* Absolute form of a path whose last names need not be there; makes nothing.  Errors: USAGE (empty, or ".." below what is not
 * there), LIMIT, what opening its folders says. */
int atoll_folder_absolute(const char *path, char *ret_path, size_t bytes, struct atoll_err *err);

#endif
