/* report_roofline.h - where the elites of a task stand under the roofline.
 * Layer: archive-h5, private to report*.c. */
#ifndef ATOLL_ARCHIVE_H5_REPORT_REPORT_ROOFLINE_H
#define ATOLL_ARCHIVE_H5_REPORT_REPORT_ROOFLINE_H

#include "archive-h5/report/query.h"
#include "base/buffer.h"

/* Useful operations per second against useful operations per byte of device memory; roof: bandwidth and peaks as measured
 * on the device of the best candidate, whose row in candidates is best_row; dots: the elites that devices of that
 * model counted.  1 when there is something to draw, else 0 and nothing is written.
 * Source: Williams, Waterman, Patterson, Roofline, CACM 52(4), 2009. */
int atoll_svg_roofline(struct atoll_buffer *out, const struct atoll_query *query, uint64_t task_row,
                       uint64_t best_row);

#endif
