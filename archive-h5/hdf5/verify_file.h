/* verify_file.h - checks files of ours: journals, segments, archives, whole campaigns.
 * Layer: archive-h5. */
#ifndef ATOLL_ARCHIVE_H5_HDF5_VERIFY_FILE_H
#define ATOLL_ARCHIVE_H5_HDF5_VERIFY_FILE_H

#include "archive-h5/campaign/campaign.h"
#include "archive-h5/table/table.h"

struct atoll_verify_report {
    uint64_t files, journals, archives; /* checked */
    uint64_t records, events, decisions;
    uint64_t rows, texts;
    uint64_t torn_bytes, quarantined_records;
    uint64_t problems;
    char first_problem[512]; /* "" when there is none */
};

/* One line per finding and file, in order; borrowed for the call. */
typedef void atoll_verify_sink(void *context, int is_problem, const char *line);

/* path: journal.atl, a .h5 file, or a campaign folder (then everything in it).  Problems are counted and sent
 * to sink (may be NULL), not errors.  -1 only when nothing could be checked: NOTFOUND, IO, MEMORY, or a newer
 * schema. */
int atoll_verify_path(const char *path, atoll_verify_sink *sink, void *context,
                      struct atoll_verify_report *ret_report, struct atoll_err *err);

#endif
