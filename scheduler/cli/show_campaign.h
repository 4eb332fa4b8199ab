/* show_campaign.h - how the campaigns of an archive were made, and on what devices.  Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_CLI_SHOW_CAMPAIGN_H
#define ATOLL_SCHEDULER_CLI_SHOW_CAMPAIGN_H

#include <jansson.h>

#include "scheduler/cli/archive_view.h"

void atoll_show_campaign_print(const struct atoll_archive_view *view);
json_t *atoll_show_campaign_json(const struct atoll_archive_view *view); /* new reference */

#endif
