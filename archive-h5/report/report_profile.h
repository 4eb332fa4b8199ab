/* report_profile.h - why the best kernel of a task is as fast as it is.
 * Layer: archive-h5, private to report*.c. */
#ifndef ATOLL_ARCHIVE_H5_REPORT_REPORT_PROFILE_H
#define ATOLL_ARCHIVE_H5_REPORT_REPORT_PROFILE_H

#include "archive-h5/report/query.h"
#include "base/buffer.h"

/* Limiter, resources and counters of the best candidate, beside the roofline; nothing where nothing is known of it. */
void atoll_html_profile(struct atoll_buffer *out, const struct atoll_query *query, uint64_t task_row);

#endif
