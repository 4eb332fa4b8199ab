/* budget_text.h - the budgets of a campaign in words.
 * Layer: archive-h5, pure. */
#ifndef ATOLL_ARCHIVE_H5_REPORT_BUDGET_TEXT_H
#define ATOLL_ARCHIVE_H5_REPORT_BUDGET_TEXT_H

#include "archive-h5/table/table.h"

#define ATOLL_BUDGET_TEXT_BYTES 192

/* "20.0 s of clock, 300 evaluations, 5000 tokens, $2.50": what it began with; "not limited" without a budget. */
const char *atoll_budget_text(const struct atoll_row_campaign *campaign,
                              char ret_text[ATOLL_BUDGET_TEXT_BYTES]);
/* "2 times, by 20.0 s of clock, 300 evaluations": what extensions added; "" where it was not extended. */
const char *atoll_budget_extended_text(const struct atoll_row_campaign *campaign,
                                       char ret_text[ATOLL_BUDGET_TEXT_BYTES]);

#endif
