/* journal_tally.h - counts what a journal holds by the heads of its frames: a pass that decodes no event, so a journal of
 * any length is counted about as fast as the disk gives it, and its end alone in no time.
 * Layer: archive-h5.  Safe on a journal that is being written: what is there when it is opened is counted.
 *
 * Payloads are checked (CRC-32C) only where no later record proves that they are durable: in the last group of records.
 * So an end torn by a kill or a power loss is reported as the reader reports it, but damage inside an old payload is not seen:
 * atoll_campaign_replay sees it. */
#ifndef ATOLL_ARCHIVE_H5_JOURNAL_JOURNAL_TALLY_H
#define ATOLL_ARCHIVE_H5_JOURNAL_JOURNAL_TALLY_H

#include <stdint.h>

#include "base/err.h"

struct atoll_journal_tally {
    uint64_t events, evaluated, duelled;
    int64_t campaign_ns, unix_ns; /* of the last event; untouched without one */
    int is_closed;                /* CLOSE is the last record of the journal counted last */
    char reason[128];             /* of that record */
    uint64_t lost_bytes;          /* behind the last good record of that journal: never acknowledged */
    uint64_t walked_bytes;        /* of all journals counted */
};

/* Adds the records of path between `from` and `until` to tally.  from: 0 or an offset that was durable once; until: where
 * a successor sealed the journal, UINT64_MAX = its end.
 * 1: counted.  0: `from` lies beyond the file or is not where a record starts (or where a torn one does): nothing is known,
 * count from 0.  -1: CORRUPT (damaged, sealed inside a record; names file and offset), SCHEMA, IO,
 * NOTFOUND, MEMORY.
 * tally changes with 1 only. */
int atoll_journal_tally(const char *path, uint64_t from, uint64_t until, struct atoll_journal_tally *tally,
                        struct atoll_err *err);

#endif
