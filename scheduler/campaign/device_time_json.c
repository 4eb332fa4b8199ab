#include "scheduler/campaign/device_time_json.h"

json_t *atoll_device_time_json(const struct atoll_device_time *time)
{
    json_t *parts;
    double whole_ns, of_ns;

    if (!time)
        return json_null();
    parts = json_object();
    whole_ns = atoll_device_time_whole_ns(time);
    of_ns = whole_ns > 0 ? whole_ns : 1;
    for (unsigned k = 0; k < ATOLL_TIME_PART_COUNT; k++)
        json_object_set_new(parts, atoll_time_part_name((enum atoll_time_part)k),
                            json_real(time->ns[k] / 1e9));
    return json_pack("{s:f, s:f, s:f, s:o}", "whole_s", whole_ns / 1e9, "occupied_share",
                     atoll_device_time_occupied_ns(time) / of_ns, "candidate_share",
                     time->ns[ATOLL_TIME_CANDIDATES] / of_ns, "parts_s", parts);
}
