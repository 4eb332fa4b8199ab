/* frame_file.h - an append-only file of frames (base/frame.h): ledger, journals and store are such files.
 * Layer: llm-gateway.  Lifetime: open/close.  One thread.  docs/spec/gateway.md, "Files of frames"
 *
 * Every payload begins with 16 bytes of this file's own: how much of the file was known to be durable when the record was
 * made, and the file's number, drawn at random when it was made.  The first tells a torn end (never acknowledged) from
 * damage; the second keeps bytes that others brought into a record from posing as a record. */
#ifndef ATOLL_LLM_GATEWAY_BUDGET_FRAME_FILE_H
#define ATOLL_LLM_GATEWAY_BUDGET_FRAME_FILE_H

#include <sys/types.h>

#include "base/frame.h"

#define ATOLL_FRAME_FILE_PREFIX_BYTES 16

/* The calls that decide what survives; each as the system call of its name.  Tests replace them. */
struct atoll_frame_file_ops {
    void *context;
    int (*open)(void *context, const char *path, int flags, mode_t mode);
    ssize_t (*write_at)(void *context, int fd, const void *bytes, size_t length, off_t offset);
    int (*ftruncate)(void *context, int fd, off_t length);
    int (*fdatasync)(void *context, int fd);
    int (*fsync)(void *context, int fd); /* of folders */
    int (*close)(void *context, int fd);
    int (*mkdir)(void *context, const char *path, mode_t mode);
};
const struct atoll_frame_file_ops *atoll_frame_file_real_ops(void);

/* An existing folder is fine; the entry is durable. */
int atoll_frame_file_make_folder(const struct atoll_frame_file_ops *ops, const char *path,
                                 struct atoll_err *err);

enum atoll_frame_file_mode { ATOLL_FRAME_FILE_READ, ATOLL_FRAME_FILE_WRITE };

struct atoll_frame_file;
/* WRITE makes the file when it is not there.  ops: NULL = the real calls; borrowed.  Nothing is read yet. */
struct atoll_frame_file *atoll_frame_file_open(const char *path, enum atoll_frame_file_mode mode,
                                               const struct atoll_frame_file_ops *ops, struct atoll_err *err);
void atoll_frame_file_close(struct atoll_frame_file *file); /* drops what is pending; the lock ends */

/* An exclusive lock of the whole file that belongs to this handle (OFD), not to the process.  BUSY when others kept it for
 * wait_s. */
int atoll_frame_file_lock(struct atoll_frame_file *file, double wait_s, struct atoll_err *err);
void atoll_frame_file_unlock(struct atoll_frame_file *file);
/* Whether another handle holds it; for any mode, takes nothing.  0 also where the file system does not tell. */
int atoll_frame_file_is_locked(const struct atoll_frame_file *file);

/* record: its payload is what stands behind the 16 bytes; borrowed for the call. */
typedef int atoll_frame_file_sink(void *context, uint64_t offset, const struct atoll_frame *record,
                                  struct atoll_err *err);
/* Reads on from the end of what was read or written.  is_live: somebody else may be appending, so what is not whole is not
 * yet there and no damage is looked for.  Errors: CORRUPT with offset and remedy, SCHEMA, IO, INPUT (a foreign file), the
 * sink's. */
int atoll_frame_file_scan(struct atoll_frame_file *file, int is_live, atoll_frame_file_sink *sink,
                          void *context, struct atoll_err *err);
/* 1 when the file has bytes behind the end of what was read; 0; -1 IO. */
int atoll_frame_file_has_more(struct atoll_frame_file *file, struct atoll_err *err);
/* Removes what stands behind the end of what was read: a torn end.  Only with the lock. */
int atoll_frame_file_cut(struct atoll_frame_file *file, struct atoll_err *err);

uint64_t atoll_frame_file_end(const struct atoll_frame_file *file);    /* where the next write begins */
uint64_t atoll_frame_file_number(const struct atoll_frame_file *file); /* 0 before the first record */
const char *atoll_frame_file_path(const struct atoll_frame_file *file);

/* Into memory.  ret_offset (may be NULL): where it will stand. */
int atoll_frame_file_append(struct atoll_frame_file *file, uint16_t type, const struct atoll_buffer *payload,
                            uint64_t *ret_offset, struct atoll_err *err);
/* Undoes the last append, which was at offset. */
void atoll_frame_file_take_back(struct atoll_frame_file *file, uint64_t offset);
int atoll_frame_file_is_dirty(const struct atoll_frame_file *file); /* something has to be written */
/* Writes everything appended: from then on the end of the process cannot undo it, the end of the machine can.  After a
 * failure the file is cut back and the same call may be repeated.  Syncs as well where a sync behind failed before, and
 * where the file had no record. */
int atoll_frame_file_write(struct atoll_frame_file *file, struct atoll_err *err);
int atoll_frame_file_is_synced(
    const struct atoll_frame_file *file); /* nothing is only in memory, or only written */
/* Writes, and has the rest done by syncer (borrowed until the file is closed).  One at a time: while it goes on, 0 and nothing. */
struct atoll_syncer;
int atoll_frame_file_sync_begin(struct atoll_frame_file *file, struct atoll_syncer *syncer,
                                struct atoll_err *err);
enum atoll_frame_file_sync {
    ATOLL_SYNC_NONE, /* none was under way */
    ATOLL_SYNC_RUNS,
    ATOLL_SYNC_ENDED, /* now */
    ATOLL_SYNC_FAILED /* now: the next write does it again, and says why if that fails, too */
};
enum atoll_frame_file_sync atoll_frame_file_sync_end(struct atoll_frame_file *file);
/* Writes and fdatasyncs everything appended, behind the end of a sync that is under way.  After a failure the file is cut
 * back to what was written before and the same call may be repeated. */
int atoll_frame_file_sync(struct atoll_frame_file *file, struct atoll_err *err);
/* The same of what others wrote, too: their writes may not be durable. */
int atoll_frame_file_sync_all(struct atoll_frame_file *file, struct atoll_err *err);
/* The same, then gives what is durable now to sink, as a scan would.  When sink fails the next scan begins with it. */
int atoll_frame_file_sync_into(struct atoll_frame_file *file, atoll_frame_file_sink *sink, void *context,
                               struct atoll_err *err);
void atoll_frame_file_discard(struct atoll_frame_file *file); /* what was appended and not written */

/* The record at an offset, also of one that is still pending.  buffer: holds its bytes. */
int atoll_frame_file_read(struct atoll_frame_file *file, uint64_t offset, struct atoll_buffer *buffer,
                          struct atoll_frame *ret_record, struct atoll_err *err);
/* The first bytes of its payload, at most limit, unchecked: cheap for long records whose head is all that matters. */
int atoll_frame_file_peek(struct atoll_frame_file *file, uint64_t offset, void *ret_bytes, size_t limit,
                          size_t *ret_length, struct atoll_err *err);
/* Fills err for a failed write, with a remedy. */
int atoll_frame_file_write_failed(const char *path, const char *doing, int sys_errno, struct atoll_err *err);

#endif
