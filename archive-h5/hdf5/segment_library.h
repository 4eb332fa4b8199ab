/* segment_library.h - what reading and writing of segments both need of HDF5.
 * Layer: archive-h5; for archive-h5/hdf5/segment*.c alone. */
#ifndef ATOLL_ARCHIVE_H5_HDF5_SEGMENT_LIBRARY_H
#define ATOLL_ARCHIVE_H5_HDF5_SEGMENT_LIBRARY_H

#include <hdf5.h>

#include "archive-h5/table/table.h"
#include "base/err.h"

void atoll_segment_silence(void); /* nothing is printed, and what failed before is forgotten */
/* -1; err: "PATH: WHAT: " and the library's innermost reason, which is forgotten then. */
int atoll_segment_library_failed(enum atoll_code code, const char *path, const char *what,
                                 struct atoll_err *err);
hid_t atoll_segment_file_type(enum atoll_column_type type); /* as it lies in a file */

#endif
