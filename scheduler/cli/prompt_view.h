/* prompt_view.h - what was said to a language model and what it answered, where a candidate came from it.
 * Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_CLI_PROMPT_VIEW_H
#define ATOLL_SCHEDULER_CLI_PROMPT_VIEW_H

#include <jansson.h>
#include <stdio.h>

#include "scheduler/cli/archive_view.h"

/* Row in asks of the ask that brought a candidate's source: the candidate's own, or, where the tuner made it from a
 * template, that of the template.  -1: no model wrote it. */
int64_t atoll_prompt_view_find(const struct atoll_archive_view *view, uint64_t candidate);
/* The texts exactly as they were sent and came, each below a line of its own. */
void atoll_prompt_view_print(const struct atoll_archive_view *view, uint64_t ask, FILE *out);
/* The same as an object, with tokens and costs. */
json_t *atoll_prompt_view_json(const struct atoll_archive_view *view, uint64_t ask);

#endif
