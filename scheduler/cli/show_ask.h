/* show_ask.h - what was said to the language model that wrote a candidate's source, and what it answered.  Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_CLI_SHOW_ASK_H
#define ATOLL_SCHEDULER_CLI_SHOW_ASK_H

#include <jansson.h>

#include "scheduler/cli/archive_view.h"

/* Row in asks of the one whose reply has the candidate's source; -1: no model wrote it. */
int64_t atoll_show_ask_find(const struct atoll_archive_view *view, uint64_t candidate);
void atoll_show_ask_print(const struct atoll_archive_view *view, uint64_t row);
json_t *atoll_show_ask_json(const struct atoll_archive_view *view, uint64_t row); /* new reference */

#endif
