/* report.h - sums over the records of a series, as text and as JSON.
 * Layer: bench.  Pure but for the files it writes to. */
#ifndef ATOLL_BENCH_REPORT_H
#define ATOLL_BENCH_REPORT_H

#include <stdio.h>

#include "bench/drive.h"

/* Where the wall time of a candidate goes, ns; compile runs beside the rest. */
struct atoll_split {
    double compile_ns, check_ns, sampling_ns, counters_ns, other_ns, idle_ns;
};

/* Of a median and what lies around it. */
struct atoll_spread {
    size_t count;
    double mean, median, p90, sum;
};

struct atoll_report {
    const struct atoll_mix_tasks *tasks;
    const struct atoll_drive_record *records;
    size_t count;
    double wall_ns;
    struct atoll_phases phases;                                /* of the series */
    struct atoll_device_time times;                            /* likewise: all of its wall time, by part */
    struct atoll_device_time task_times[ATOLL_MIX_TASK_LIMIT]; /* likewise, of each task */
    struct atoll_answer_counts answers[ATOLL_MIX_TASK_LIMIT];
    /* by atoll_report_make */
    double per_hour;               /* candidates per GPU-hour */
    double per_hour_without_hangs; /* the same without candidates that hung and their time */
    double occupied_share, candidate_share;
    double fed_ns, fed_share; /* until the last order went out: its time, and the occupied share of it */
    double hang_ns;           /* occupied time of those that hung */
    size_t hang_count, as_meant_count; /* as_meant: the verdict that the source was made for */
    size_t read_count, known_count;    /* candidates with counters: read now, or those of the same binary */
    struct atoll_split split;          /* mean of all candidates */
    struct atoll_spread verdicts[ATOLL_VERDICT_COUNT]; /* occupied time */
};

void atoll_report_make(struct atoll_report *report);
/* values: overwritten. */
void atoll_spread_of(double *values, size_t count, struct atoll_spread *ret_spread);
void atoll_report_print(const struct atoll_report *report);
/* The members of one JSON object, without its braces. */
void atoll_report_json(const struct atoll_report *report, FILE *out);
/* A JSON string, quotes and all. */
void atoll_report_json_text(FILE *out, const char *text);

#endif
