/* report_svg.h - the figures of the report, as inline SVG coloured by the page's style.
 * Layer: archive-h5, private to report*.c. */
#ifndef ATOLL_ARCHIVE_H5_REPORT_REPORT_SVG_H
#define ATOLL_ARCHIVE_H5_REPORT_REPORT_SVG_H

#include "archive-h5/report/query.h"
#include "base/buffer.h"

/* Speedup over the baseline against campaign time: every correct candidate a dot, the best so far a line. */
void atoll_svg_progress(struct atoll_buffer *out, const struct atoll_query *query, uint64_t task_row);
/* The 4x4x4 behaviour cells as four grids, coloured by the fitness of the best elite over all islands. */
void atoll_svg_elites(struct atoll_buffer *out, const struct atoll_query *query, uint64_t task_row);

#endif
