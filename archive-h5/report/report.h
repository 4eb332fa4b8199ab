/* report.h - report.html from an archive: one file, no scripts, nothing loaded from anywhere.
 * Layer: archive-h5.  Sources, names and details are hostile text: everything is escaped. */
#ifndef ATOLL_ARCHIVE_H5_REPORT_REPORT_H
#define ATOLL_ARCHIVE_H5_REPORT_REPORT_H

#include "base/file.h"
#include "archive-h5/table/table.h"
#include "base/buffer.h"

/* Appends the page to out. */
int atoll_report_render(const struct atoll_tables *tables, struct atoll_buffer *out, struct atoll_err *err);
/* Renders and replaces path in one step. */
int atoll_report_write(const struct atoll_tables *tables, const char *path, const struct atoll_file_ops *ops,
                       struct atoll_err *err);

#endif
