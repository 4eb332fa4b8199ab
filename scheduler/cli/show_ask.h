/* show_ask.h - what was said to a language model, what it called and what it answered: of the ask that a candidate answers, or of one
 * by its number.  Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_CLI_SHOW_ASK_H
#define ATOLL_SCHEDULER_CLI_SHOW_ASK_H

#include <jansson.h>

#include "scheduler/cli/archive_view.h"

/* Row in asks of the one whose reply has the candidate's source; -1: no model wrote it. */
int64_t atoll_show_ask_find(const struct atoll_archive_view *view, uint64_t candidate);
/* "ask:N": its row; -1: it is none of this form (err untouched), or there is none of that number (err says so). */
int64_t atoll_show_ask_named(const struct atoll_archive_view *view, const char *name, struct atoll_err *err);
void atoll_show_ask_print(const struct atoll_archive_view *view, uint64_t row);
json_t *atoll_show_ask_json(const struct atoll_archive_view *view, uint64_t row); /* new reference */

/* What an analyser found in a candidate, the last one who said something: lines of `show`; nothing where nobody did. */
void atoll_show_analysis_print(const struct atoll_archive_view *view,
                               const struct atoll_row_candidate *candidate);
/* The same, with its ask, as a new reference; null. */
json_t *atoll_show_analysis_json(const struct atoll_archive_view *view,
                                 const struct atoll_row_candidate *candidate);

#endif
