/* journal_reader.h - reads a journal record by record and says how it ends (docs/spec/journal.md).
 * Layer: archive-h5.  Lifetime: open/close.  Safe on a journal that is being written: it reads what is there.
 *
 * A killed or powered-off writer leaves a tail that does not decode; that is an end, not an error.  It is an
 * error (ATOLL_E_CORRUPT) when a later record proves that the damaged bytes had once been durable. */
#ifndef ATOLL_ARCHIVE_H5_JOURNAL_JOURNAL_READER_H
#define ATOLL_ARCHIVE_H5_JOURNAL_JOURNAL_READER_H

#include <sys/types.h>

#include "archive-h5/journal/record.h"

enum atoll_journal_ending {
    ATOLL_JOURNAL_CLOSED,   /* CLOSE was the last record */
    ATOLL_JOURNAL_KILLED,   /* ends between two records, without CLOSE */
    ATOLL_JOURNAL_TORN,     /* the last bytes are no record: never acknowledged, lost */
    ATOLL_JOURNAL_STILLBORN /* not even the header is there */
};

struct atoll_journal_end {
    enum atoll_journal_ending ending;
    uint64_t good_bytes; /* offset after the last good record */
    uint64_t file_bytes;
    uint64_t lost_bytes; /* file_bytes - good_bytes */
    uint64_t record_count;
};

/* What the CLOSE record says when an attempt ended because its time was over or it was asked to end: the search goes on
 * with the next attempt. */
#define ATOLL_CLOSE_DRAINED "drained"
/* Whether a journal that ends so is the campaign's last: CLOSED with a reason of the search (core/decision.h), not
 * DRAINED.  The one rule of resuming and of campaign progress. */
int atoll_journal_is_final(enum atoll_journal_ending ending, const char *reason);

struct atoll_journal_reader;

struct atoll_journal_reader *atoll_journal_reader_open(const char *path, struct atoll_err *err);
void atoll_journal_reader_close(struct atoll_journal_reader *reader); /* NULL is fine */

/* 1: ret_record, borrowed until the next call; 0: the end, see atoll_journal_reader_end; -1: ATOLL_E_CORRUPT
 * (names file and offset), ATOLL_E_SCHEMA (newer version of Atoll), IO, MEMORY.  Order is checked: one header
 * first, event numbers dense and ascending, decisions only for known events, nothing after CLOSE. */
int atoll_journal_reader_next(struct atoll_journal_reader *reader, const struct atoll_record **ret_record,
                              struct atoll_err *err);
/* How it ended; meaningful after next returned 0. */
void atoll_journal_reader_end(const struct atoll_journal_reader *reader, struct atoll_journal_end *ret_end);
/* Looks in a journal from `place` to `end` for a good frame that proves everything before `place` and more to have been
 * durable: 1 and where it is, 0 none, -1 CORRUPT (frames that would cost more than the file is worth), MEMORY.  Reads the
 * file piece by piece and skips holes, so its length costs no memory. */
int atoll_journal_witness(int fd, const char *path, uint64_t place, uint64_t end, uint64_t *ret_offset,
                          struct atoll_err *err);

#endif
