/* segment.h - tables to an HDF5 file and back (docs/spec/archive.md).
 * Layer: archive-h5; h5.h and segment_*.c alone know HDF5. */
#ifndef ATOLL_ARCHIVE_H5_HDF5_SEGMENT_H
#define ATOLL_ARCHIVE_H5_HDF5_SEGMENT_H

#include "base/file.h"
#include "archive-h5/table/table.h"

#define ATOLL_MADE_OF_BYTES 160

/* Writes path in one step: the file is built in memory, written to "<path>.tmp", synced, read back and
 * compared, renamed into place, and the folder is synced.  After a failure path is what it was.  Errors:
 * FULL, DENIED, IO, MEMORY, and CORRUPT when what was read back differs.  made_of: kept in the attribute of
 * that name, up to ATOLL_MADE_OF_BYTES - 1 bytes; NULL = no attribute. */
int atoll_segment_write(const char *path, const struct atoll_tables *tables, const char *made_of,
                        const struct atoll_file_ops *ops, struct atoll_err *err);
/* The same, then copy from the same bytes, which are compared with those that are read back.  After a failure path may be there
 * without copy. */
int atoll_segment_write_twice(const char *path, const char *copy, const struct atoll_tables *tables,
                              const char *made_of, const struct atoll_file_ops *ops, struct atoll_err *err);
/* The attribute made_of of a file of this campaign and schema (ret_text: ATOLL_MADE_OF_BYTES); -1 when there
 * is no such file or attribute. */
int atoll_segment_made_of(const char *path, const struct atoll_id *campaign, char *ret_text);

/* Reads a segment or archive that this user's Atoll wrote: libhdf5 has it in this process.  Every type, length and text is
 * checked all the same.  Errors:
 * NOTFOUND, CORRUPT (names the dataset), SCHEMA (newer), LIMIT, MEMORY. */
struct atoll_tables *atoll_segment_read(const char *path, struct atoll_err *err);

/* The same for a file that somebody else may have made: libhdf5 reads it in a child that can read files and answer, no more
 * (base/confine.h), and what the child answers is checked again; so a file that takes the library over gains the
 * table's contents and nothing else.  The caller must be single-threaded.  Errors: those of atoll_segment_read; CORRUPT,
 * too, when the child crashed; INPUT when path is no regular file, TIMEOUT. */
struct atoll_tables *atoll_segment_read_foreign(const char *path, struct atoll_err *err);

/* The first unused name DIR/segment-NNNN.h5. */
int atoll_segment_name(const char *dir, char *ret_path, size_t bytes, struct atoll_err *err);

#endif
