/* profile_view.h - what is known of a candidate's binary and counters, as a table and as JSON.  Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_CLI_PROFILE_VIEW_H
#define ATOLL_SCHEDULER_CLI_PROFILE_VIEW_H

#include <jansson.h>
#include <stdio.h>

#include "scheduler/cli/archive_view.h"

/* Limiter, resources, counters with their units; nothing where nothing is known.  evaluation: row of the table. */
void atoll_profile_view_print(const struct atoll_archive_view *view, uint64_t evaluation, FILE *out);
/* The same as an object, or null; counters that were not measured are left out. */
json_t *atoll_profile_view_json(const struct atoll_archive_view *view, uint64_t evaluation);

#endif
