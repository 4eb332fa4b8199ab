/* device_time.c - parts of a device's time: names, sums, words, bytes. */
#include "core/device_time.h"

#include <stdio.h>
#include <stdlib.h>

#define TIME_LIMIT_NS   1e18
#define TASK_TIME_BYTES (4 + 8 * ATOLL_TIME_PART_COUNT)
#define LEAST_SHARE     0.005 /* that is worth a word */

const char *atoll_time_part_name(enum atoll_time_part part)
{
    static const char *const names[ATOLL_TIME_PART_COUNT] = {[ATOLL_TIME_CANDIDATES] = "candidates",
                                                             [ATOLL_TIME_INPUTS] = "inputs",
                                                             [ATOLL_TIME_FLUSH] = "flush",
                                                             [ATOLL_TIME_ANSWERS] = "answers",
                                                             [ATOLL_TIME_CHECKS] = "checks",
                                                             [ATOLL_TIME_PROCESSES] = "processes",
                                                             [ATOLL_TIME_COUNTERS] = "counters",
                                                             [ATOLL_TIME_RIVALS] = "rivals",
                                                             [ATOLL_TIME_OTHER] = "other",
                                                             [ATOLL_TIME_COMPILING] = "compiling",
                                                             [ATOLL_TIME_TASKS] = "tasks",
                                                             [ATOLL_TIME_START] = "start",
                                                             [ATOLL_TIME_IDLE] = "idle"};
    return (unsigned)part < ATOLL_TIME_PART_COUNT ? names[part] : "unknown";
}

static double sum_ns(const struct atoll_device_time *t, unsigned part_count)
{
    double sum = 0;
    for (unsigned i = 0; i < part_count; i++)
        sum += t->ns[i];
    return sum;
}

double atoll_device_time_whole_ns(const struct atoll_device_time *t)
{
    return sum_ns(t, ATOLL_TIME_PART_COUNT);
}

double atoll_device_time_occupied_ns(const struct atoll_device_time *t)
{
    return sum_ns(t, ATOLL_TIME_OTHER + 1);
}

void atoll_device_time_add(struct atoll_device_time *t, const struct atoll_device_time *more)
{
    for (unsigned i = 0; i < ATOLL_TIME_PART_COUNT; i++)
        t->ns[i] += more->ns[i];
}

const char *atoll_device_time_text(const struct atoll_device_time *t, double of_ns, char *ret_text,
                                   size_t text_bytes)
{
    struct atoll_device_time left = *t;
    size_t at = 0;
    ret_text[0] = '\0';
    while (of_ns > 0 && at < text_bytes) {
        unsigned most = 0;
        for (unsigned i = 1; i < ATOLL_TIME_PART_COUNT; i++)
            if (left.ns[i] > left.ns[most])
                most = i;
        if (!(left.ns[most] >= LEAST_SHARE * of_ns))
            break;
        at += (size_t)snprintf(ret_text + at, text_bytes - at, "%s%s %.0f %%", at ? ", " : "",
                               atoll_time_part_name((enum atoll_time_part)most), 100 * left.ns[most] / of_ns);
        left.ns[most] = 0;
    }
    return ret_text;
}

void atoll_task_times_encode(const struct atoll_task_time *times, size_t count, struct atoll_buffer *out)
{
    atoll_buffer_put_u32(out, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        atoll_buffer_put_u32(out, times[i].task);
        for (unsigned k = 0; k < ATOLL_TIME_PART_COUNT; k++)
            atoll_buffer_put_f64(out,
                                 times[i].time.ns[k] > TIME_LIMIT_NS ? TIME_LIMIT_NS : times[i].time.ns[k]);
    }
}

void atoll_task_times_decode(struct atoll_reader *r, struct atoll_task_time **ret_times, size_t *ret_count)
{
    uint32_t count = atoll_reader_count(r, TASK_TIME_BYTES);
    struct atoll_task_time *times = count ? calloc(count, sizeof(*times)) : NULL;
    *ret_times = NULL;
    *ret_count = 0;
    if (count && !times)
        r->failed = ATOLL_E_MEMORY;
    for (uint32_t i = 0; i < count && !r->failed; i++) {
        times[i].task = atoll_reader_u32(r);
        for (unsigned k = 0; k < ATOLL_TIME_PART_COUNT; k++)
            times[i].time.ns[k] = atoll_reader_f64_in(r, 0, TIME_LIMIT_NS);
        if (i > 0 && times[i].task <= times[i - 1].task) /* each once */
            r->failed = ATOLL_E_PROTOCOL;
    }
    if (r->failed) {
        free(times);
        return;
    }
    *ret_times = times;
    *ret_count = count;
}

void atoll_time_report_encode(const struct atoll_time_report *report, struct atoll_buffer *out)
{
    atoll_buffer_put_i64(out, report->since_unix_ns);
    atoll_task_times_encode(report->times, report->count, out);
}

int atoll_time_report_decode(const void *bytes, size_t length, struct atoll_time_report *ret_report,
                             struct atoll_err *err)
{
    struct atoll_reader r;
    struct atoll_time_report report;
    atoll_reader_init(&r, bytes, length);
    report.since_unix_ns = atoll_reader_i64(&r);
    if (report.since_unix_ns < 0)
        r.failed = ATOLL_E_PROTOCOL;
    atoll_task_times_decode(&r, &report.times, &report.count);
    if (atoll_reader_finish(&r, "device time", err) != 0) {
        free(report.times);
        return -1;
    }
    *ret_report = report;
    return 0;
}
