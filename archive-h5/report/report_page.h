/* report_page.h - the parts of the report: its text (escaping, style, tables) and its figures.
 * Layer: archive-h5, private to report*.c.  The page is well-formed XML too. */
#ifndef ATOLL_ARCHIVE_H5_REPORT_REPORT_PAGE_H
#define ATOLL_ARCHIVE_H5_REPORT_REPORT_PAGE_H

#include "archive-h5/report/query.h"
#include "base/buffer.h"

/* Escapes text for element content and attribute values; bytes that are no UTF-8 and control characters
 * become U+FFFD. */
void atoll_html_text(struct atoll_buffer *out, const char *text);
/* A dash where there is none.  With its 95 % interval beneath, where it is known. */
void atoll_html_duration(struct atoll_buffer *out, double ns);
void atoll_html_time(struct atoll_buffer *out, double ns, double lo, double hi);

void atoll_html_begin(struct atoll_buffer *out, const struct atoll_query *query);
void atoll_html_summary(struct atoll_buffer *out, const struct atoll_query *query);
/* Heading and figures' frame of one task are report.c's; this is the lineage of its best kernel with its
 * source. */
void atoll_html_lineage(struct atoll_buffer *out, const struct atoll_query *query, uint64_t task_row);
/* What PyTorch makes of the task: its rivals, their times, or why they are none. */
void atoll_html_rivals(struct atoll_buffer *out, const struct atoll_query *query, uint64_t task_row);
/* What failed last, and templates none of whose combinations compiles; nothing where nothing failed. */
void atoll_html_failures(struct atoll_buffer *out, const struct atoll_query *query, uint64_t task_row);
/* What a judge called a cheat. */
void atoll_html_discarded(struct atoll_buffer *out, const struct atoll_query *query, uint64_t task_row);
/* Where the devices' time went, by device and by task; nothing where the archive does not say. */
void atoll_html_times(struct atoll_buffer *out, const struct atoll_query *query);
/* What asks of models cost and brought, and what their prompts were made of; nothing where none was asked. */
void atoll_html_asks(struct atoll_buffer *out, const struct atoll_query *query);
/* The legend explains what the page shows. */
void atoll_html_end(struct atoll_buffer *out);

/* Speedup over the rival, or over the baseline where none was measured, against campaign time: every correct candidate a dot, the best so far a line. */
void atoll_svg_progress(struct atoll_buffer *out, const struct atoll_query *query, uint64_t task_row);
/* The 4x4x4 behaviour cells as up to four grids, coloured by the fitness of the best elite over all islands; those without an
 * elite are left out. */
void atoll_svg_elites(struct atoll_buffer *out, const struct atoll_query *query, uint64_t task_row);

/* Useful operations per second against useful operations per byte of device memory; roof: bandwidth and peaks as measured
 * on the device of the best candidate, whose row in candidates is best_row; dots: the elites that devices of that
 * model counted.  1 when there is something to draw, else 0 and nothing is written.
 * Source: Williams, Waterman, Patterson, Roofline, CACM 52(4), 2009. */
int atoll_svg_roofline(struct atoll_buffer *out, const struct atoll_query *query, uint64_t task_row,
                       uint64_t best_row);

#endif
