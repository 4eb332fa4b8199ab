/* task_summary.h - what tables, reports and JSON say of one task.
 * Layer: archive-h5, pure.  Texts are borrowed from the tables. */
#ifndef ATOLL_ARCHIVE_H5_REPORT_TASK_SUMMARY_H
#define ATOLL_ARCHIVE_H5_REPORT_TASK_SUMMARY_H

#include "archive-h5/report/maker.h"
#include "core/verdict.h"

/* What the time of a best kernel is compared with. */
enum atoll_yardstick {
    ATOLL_OVER_RIVAL, /* the fastest rival */
    ATOLL_OVER_EAGER, /* PyTorch eager, which may be that */
    ATOLL_OVER_SEED,  /* the baseline, one of the task's seeds */
    ATOLL_YARDSTICK_COUNT
};
const char *atoll_yardstick_name(enum atoll_yardstick yardstick); /* "rival", "eager", "seed" */

struct atoll_speedup {
    double yardstick_ns, yardstick_lo_ns, yardstick_hi_ns; /* its time, 0 = not measured */
    /* Its time over the best kernel's: of the final comparison of the two where there was one, else the quotient of two
     * medians; 0 = unknown. */
    double ratio, lo, hi; /* lo, hi: 95 % interval of a final's ratio; 0 = not known */
    int is_final;
    uint32_t pair_count; /* of the final comparison, 0 = none: then there is no p-value */
    double p_value;
};
/* "2.31x" of a final comparison, "~2.31x" of two medians, "-" where it is unknown. */
const char *atoll_speedup_text(const struct atoll_speedup *speedup, char *ret_text, size_t bytes);

struct atoll_task_summary {
    uint64_t row; /* in tasks */
    const char *name;
    const char
        *model; /* of the devices; "" where the archive's tasks are all of one model, or none was named */
    struct atoll_speedup over[ATOLL_YARDSTICK_COUNT];
    /* That of its speedup in tables, fast_p and headlines: the rival where one was measured, else the seed. */
    enum atoll_yardstick headline;
    const char *rival, *rival_mode, *rival_versions; /* of the fastest rival; "" where none was measured */
    double rival_host_ns;        /* one call of it that nothing queues ahead; 0 = not known */
    unsigned level;              /* of the task, 0 = none */
    const char *category, *tags; /* "" = none; tags have blanks between them */
    /* of the final comparison where there is one, as lone best times are lucky; 95 % interval, 0 = not known */
    double best_ns, best_lo_ns, best_hi_ns;
    double floor_ns;
    int is_baseline_best; /* nothing was to be compared with it */
    double floor_share;   /* floor / best, 0 = unknown, or floors_differ */
    int is_memory_floor;  /* how many operations the task needs is not known: its floor is of memory alone */
    int floors_differ;    /* from those of another archive in the table: of another model, or told by none */
    const char *floor_model;    /* of floor_ns, atoll_floor_model_name */
    unsigned beyond_precisions; /* of the best kernel: bits of enum atoll_mix, 0 none or not known */
    uint64_t evaluated, correct;
    uint64_t
        verdicts[ATOLL_VERDICT_COUNT]; /* of the evaluations; noise (unstable) says nothing of a kernel */
    uint64_t unstable_tries;           /* of its baseline, where nothing was correct; else 0 */
    double correct_share;              /* of what was judged: neither unstable nor infrastructure */
    enum atoll_maker made_by;          /* the best */
    const char *origin;                /* of its source: a seed's name, import, a model; "" */
    double seed_ns;                    /* fastest evaluation of a seed as it was, 0 = none is correct */
    double gain_over_seeds; /* that over the best's time in its own evaluation; 1 for a seed; 0 = unknown */
};
/* Of unstable_tries: "its baseline was unstable in all 25 tries (a round has several)"; "" of 0. */
const char *atoll_unstable_tries_text(uint64_t tries, char *ret_text, size_t bytes);
/* A median and its 95 % interval; lo 0: not known. */
struct atoll_interval {
    double median, lo, hi;
};
/* The 95 % interval of the quotient of two medians that were measured apart: their distances to the medians, as logarithms, add up in
 * squares.  0 and 0 where an interval is not known. */
void atoll_quotient_interval(const struct atoll_interval *over, const struct atoll_interval *of,
                             double *ret_lo, double *ret_hi);
/* One evaluation of a task over its rival or its baseline seed: a quotient of two medians, no final.  Its interval is made of those
 * of both times (atoll_quotient_interval); 0 and 0 for the baseline over itself, too.  Time 0: nothing is known. */
void atoll_query_speedup_of(const struct atoll_query *query, const struct atoll_row_task *task,
                            const struct atoll_row_evaluation *evaluation, enum atoll_yardstick over,
                            struct atoll_speedup *ret_speedup);
/* What single times of a task are compared with: the rival's, where none was measured the baseline's; 0 = neither. */
double atoll_task_yardstick_ns(const struct atoll_row_task *task);
void atoll_query_task_summary(const struct atoll_query *query, uint64_t task_row,
                              struct atoll_task_summary *ret_summary);

#endif
