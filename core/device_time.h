/* device_time.h - where the wall time of a device goes: parts that do not overlap and together are all of it; and how much of it
 * each task took (docs/spec/wire.md, docs/spec/events.md).
 * Layer: core.  Plain values; a list of task times is owned by who decoded it. */
#ifndef ATOLL_CORE_DEVICE_TIME_H
#define ATOLL_CORE_DEVICE_TIME_H

#include "base/buffer.h"

enum atoll_time_part {
    /* occupied (MEASUREMENT.md 9): the device is at an order */
    ATOLL_TIME_CANDIDATES, /* a candidate runs; one that hangs, up to its deadline */
    ATOLL_TIME_INPUTS,     /* buffers, guards, inputs, fills */
    ATOLL_TIME_FLUSH,      /* caches are emptied */
    ATOLL_TIME_ANSWERS,    /* the reference, or looking up what it said */
    ATOLL_TIME_CHECKS,     /* guards, inputs and outputs looked at; a tool that watches accesses */
    ATOLL_TIME_PROCESSES,  /* a sample's process is begun and ended; a device's: the way there and back */
    ATOLL_TIME_COUNTERS,   /* hardware counters */
    ATOLL_TIME_RIVALS,     /* PyTorch's own times */
    ATOLL_TIME_OTHER,      /* of an order, and none of these */
    /* not occupied */
    ATOLL_TIME_COMPILING, /* orders are in hand, and what they need is being compiled or loaded */
    ATOLL_TIME_TASKS,     /* a task is made known */
    ATOLL_TIME_START, /* the device is opened, calibrated, shows that it computes; or its evaluator is made anew */
    ATOLL_TIME_IDLE, /* no order is in hand */
    ATOLL_TIME_PART_COUNT
};

/* "candidates" ...; "unknown" beyond the table. */
const char *atoll_time_part_name(enum atoll_time_part part);

struct atoll_device_time {
    double ns[ATOLL_TIME_PART_COUNT];
};

double atoll_device_time_whole_ns(const struct atoll_device_time *t);
double atoll_device_time_occupied_ns(const struct atoll_device_time *t);
void atoll_device_time_add(struct atoll_device_time *t, const struct atoll_device_time *more);

#define ATOLL_DEVICE_TIME_TEXT 320 /* bytes that any text of it finds room in */

/* "candidates 41 %, checks 20 %, ...": shares of of_ns (its own whole, or that of all devices), the largest first, those below
 * half a percent left out; "" where none is left.  Returned for use in printf. */
const char *atoll_device_time_text(const struct atoll_device_time *t, double of_ns, char *ret_text,
                                   size_t text_bytes);

#define ATOLL_TIME_OF_NO_TASK UINT32_MAX

/* What a task took. */
struct atoll_task_time {
    uint32_t task; /* its number, or ATOLL_TIME_OF_NO_TASK */
    struct atoll_device_time time;
};

void atoll_task_times_encode(const struct atoll_task_time *times, size_t count, struct atoll_buffer *out);
/* In ascending order of tasks, each once.  ret_times: owned by the caller, free() it; NULL where there are none or r has failed. */
void atoll_task_times_decode(struct atoll_reader *r, struct atoll_task_time **ret_times, size_t *ret_count);

/* What an evaluator says of its device: cumulative, since the account was opened.  A task that is not named took what was last said. */
struct atoll_time_report {
    int64_t since_unix_ns; /* when; tells one process from the next */
    struct atoll_task_time *times;
    size_t count;
};
void atoll_time_report_encode(const struct atoll_time_report *report, struct atoll_buffer *out);
/* ret_report->times is owned by the caller, free() it. */
int atoll_time_report_decode(const void *bytes, size_t length, struct atoll_time_report *ret_report,
                             struct atoll_err *err);

#endif
