/* journal.h - writes jobs/<job>.<attempt>/journal.atl, the truth of a campaign: append-only, framed,
 * checksummed (docs/spec/journal.md). Layer: archive-h5.  Lifetime: create/destroy; single owner.  No clock
 * inside: unix times are given.
 *
 * append_* only encodes into memory.  atoll_journal_sync writes everything appended and makes it durable:
 * what was appended before a sync that returned 0 is acknowledged.  When a sync fails nothing appended is
 * lost from memory and the file is cut back to what is durable, so the same call may be repeated (after space
 * was freed) and goes on at the right place. */
#ifndef ATOLL_ARCHIVE_H5_JOURNAL_JOURNAL_H
#define ATOLL_ARCHIVE_H5_JOURNAL_JOURNAL_H

#include "base/file.h"
#include "archive-h5/journal/record.h"

#define ATOLL_JOURNAL_FILE                "journal.atl"
#define ATOLL_JOURNAL_PENDING_LIMIT_BYTES ((size_t)192 << 20) /* appended and not yet synced */

struct atoll_journal;

/* Makes the file (it must not exist: ATOLL_E_EXISTS), writes the header record and syncs file and directory.
 * header is copied; its schema field is ignored.  ops: NULL = the real calls; borrowed until destroy. Errors:
 * FULL, DENIED, IO with the path and the remedy. */
struct atoll_journal *atoll_journal_create(const char *path, const struct atoll_journal_header *header,
                                           const struct atoll_file_ops *ops, struct atoll_err *err);
/* Closes without syncing what is pending: dropping it is what a crash would do.  NULL is fine. */
void atoll_journal_destroy(struct atoll_journal *journal);

/* Numbers events from header.first_event on; ret_number may be NULL.  Errors: LIMIT, MEMORY; then nothing was
 * appended. */
int atoll_journal_append_event(struct atoll_journal *journal, const struct atoll_event *event,
                               uint64_t *ret_number, struct atoll_err *err);
/* All decisions of one event, once per event, also when there are none.  event: an event already appended
 * here, or the predecessor's when it was killed between events and decisions.  In order. */
int atoll_journal_append_decisions(struct atoll_journal *journal, uint64_t event,
                                   const struct atoll_decision *decisions, size_t count,
                                   struct atoll_err *err);
int atoll_journal_append_snapshot(struct atoll_journal *journal, uint64_t event, const void *bytes,
                                  size_t length, struct atoll_err *err);
int atoll_journal_append_device(struct atoll_journal *journal, int64_t unix_ns,
                                const struct atoll_device_info *device, struct atoll_err *err);
/* The clean end: after it nothing can be appended.  reason is cut at 127 bytes. */
int atoll_journal_append_close(struct atoll_journal *journal, int64_t unix_ns, const char *reason,
                               struct atoll_err *err);

/* Group commit.  0: everything appended is durable.  -1: ATOLL_E_FULL (worth repeating), DENIED, IO. */
int atoll_journal_sync(struct atoll_journal *journal, struct atoll_err *err);

uint64_t
atoll_journal_durable_bytes(const struct atoll_journal *journal); /* file offset up to which all is synced */
size_t atoll_journal_pending_bytes(const struct atoll_journal *journal); /* appended, not yet synced */
uint64_t atoll_journal_next_event(const struct atoll_journal *journal);  /* number the next event will get */

#endif
