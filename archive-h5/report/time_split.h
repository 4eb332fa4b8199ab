/* time_split.h - where the time of an archive's devices went, and which tasks took it.
 * Layer: archive-h5, pure. */
#ifndef ATOLL_ARCHIVE_H5_REPORT_TIME_SPLIT_H
#define ATOLL_ARCHIVE_H5_REPORT_TIME_SPLIT_H

#include "archive-h5/report/query.h"

/* Of a device (row of devices), all attempts and tasks together; 0, and zeros, where the archive does not say. */
int atoll_query_device_time(const struct atoll_query *query, uint64_t device_row,
                            struct atoll_device_time *ret_time);
/* Of a task (row of tasks) on the devices of its model; likewise. */
int atoll_query_task_time(const struct atoll_query *query, uint64_t task_row,
                          struct atoll_device_time *ret_time);
/* A task that took time of the devices. */
struct atoll_timed_task {
    uint64_t row;             /* of tasks */
    const char *name, *model; /* the archive's */
    struct atoll_device_time time;
};
/* The first of them from row *at on: 1, and *at is the row behind it; 0: there is none. */
int atoll_query_next_timed_task(const struct atoll_query *query, uint64_t *at,
                                struct atoll_timed_task *ret_task);
/* Of all devices of a campaign (row of campaign); likewise. */
int atoll_query_campaign_time(const struct atoll_query *query, uint32_t campaign,
                              struct atoll_device_time *ret_time);

/* The time between attempts of one job on the device (row of devices) in which none of them ran, over all campaigns of the archive
 * that know it: parts of a submitted campaign follow each other.  0 where there is none, or no memory to find it. */
double atoll_query_device_gaps_ns(const struct atoll_query *query, uint64_t device_row);
/* The first row of devices that is of this one; a row of another campaign may be the same device. */
uint64_t atoll_query_device_first(const struct atoll_query *query, uint64_t device_row);

#endif
