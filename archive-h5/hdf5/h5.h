/* h5.h - the HDF5 library's manners: silence, handles, errors as atoll_err.
 * Layer: archive-h5, private to segment_*.c. */
#ifndef ATOLL_ARCHIVE_H5_HDF5_H5_H
#define ATOLL_ARCHIVE_H5_HDF5_H5_H

#include <hdf5.h>

#include "archive-h5/table/table.h"

/* Turns the printing of errors off for the calling thread. */
void atoll_h5_silence(void);
/* Fills err with what, the path and the library's innermost message; returns -1. */
int atoll_h5_failed(enum atoll_code code, const char *path, const char *what, struct atoll_err *err);
/* The little-endian file type of a column's cells; U8 for ids, which have a second dimension. */
hid_t atoll_h5_type(enum atoll_column_type type);

#endif
