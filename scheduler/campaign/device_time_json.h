/* device_time_json.h - where a device's time went, as JSON.  Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_CAMPAIGN_DEVICE_TIME_JSON_H
#define ATOLL_SCHEDULER_CAMPAIGN_DEVICE_TIME_JSON_H

#include <jansson.h>

#include "core/device_time.h"

/* {"whole_s", "occupied_share", "candidate_share", "parts_s": {"candidates", ...}}; null where time is NULL.  New reference. */
json_t *atoll_device_time_json(const struct atoll_device_time *time);

#endif
