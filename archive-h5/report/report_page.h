/* report_html.h - the text of the report: escaping, style, tables.
 * Layer: archive-h5, private to report*.c.  The page is well-formed XML too. */
#ifndef ATOLL_ARCHIVE_H5_REPORT_REPORT_HTML_H
#define ATOLL_ARCHIVE_H5_REPORT_REPORT_HTML_H

#include "archive-h5/report/query.h"
#include "base/buffer.h"

/* Escapes text for element content and attribute values; bytes that are no UTF-8 and control characters
 * become U+FFFD. */
void atoll_html_text(struct atoll_buffer *out, const char *text);

void atoll_html_begin(struct atoll_buffer *out, const struct atoll_query *query);
void atoll_html_summary(struct atoll_buffer *out, const struct atoll_query *query);
/* Heading and figures' frame of one task are report.c's; this is the lineage of its best kernel with its
 * source. */
void atoll_html_lineage(struct atoll_buffer *out, const struct atoll_query *query, uint64_t task_row);
void atoll_html_devices(struct atoll_buffer *out, const struct atoll_query *query);
void atoll_html_end(struct atoll_buffer *out);

#endif
