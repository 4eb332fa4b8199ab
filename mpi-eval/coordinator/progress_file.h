/* progress_file.h - keeps progress.json of a campaign up to date while rank 0 works on it (archive-h5/campaign/progress_json.h).
 * Layer: mpi-eval, part of the coordinator.  Plain; no allocation outlives a call.  What fails is logged once and ignored:
 * the file is a hint, and whoever reads it counts the journal behind it. */
#ifndef ATOLL_MPI_EVAL_COORDINATOR_PROGRESS_FILE_H
#define ATOLL_MPI_EVAL_COORDINATOR_PROGRESS_FILE_H

#include "archive-h5/campaign/campaign.h"
#include "mpi-eval/coordinator/progress.h"

#define ATOLL_PROGRESS_FILE_NS 10e9 /* between two writes */

/* All zero: begin was not called, and nothing is counted or written. */
struct atoll_progress_file {
    const struct atoll_campaign *campaign; /* borrowed */
    const char *attempt_dir;               /* borrowed */
    uint64_t evaluated, duelled;           /* in the journals, up to journal_bytes of this attempt's */
    uint64_t journal_bytes;
    double written_ns; /* when it was written last */
    int has_complained;
};

/* Counts what the campaign's journals hold; the attempt has begun and its journal holds journal_bytes durable bytes. */
void atoll_progress_file_begin(struct atoll_progress_file *file, const struct atoll_campaign *campaign,
                               const char *attempt_dir, uint64_t journal_bytes);
/* A round became durable: the journal holds journal_bytes now. */
void atoll_progress_file_count(struct atoll_progress_file *file, const struct atoll_event *events,
                               size_t count, uint64_t journal_bytes);
/* Whether ATOLL_PROGRESS_FILE_NS have passed, or the first write is still to come. */
int atoll_progress_file_is_due(const struct atoll_progress_file *file, double now_ns);
/* Writes it; now_ns: as is_due will be asked. */
void atoll_progress_file_write(struct atoll_progress_file *file, const struct atoll_progress_facts *facts,
                               double now_ns, int64_t now_unix_ns);

#endif
