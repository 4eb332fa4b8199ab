/* archive_summary.h - sums over the tasks of an archive: all of them, or those of a level or category.
 * Layer: archive-h5, pure. */
#ifndef ATOLL_ARCHIVE_H5_REPORT_ARCHIVE_SUMMARY_H
#define ATOLL_ARCHIVE_H5_REPORT_ARCHIVE_SUMMARY_H

#include "archive-h5/report/task_summary.h"
#include "core/ratio_mean.h"

#define ATOLL_FAST_COUNT 5
extern const double atoll_fast_thresholds[ATOLL_FAST_COUNT]; /* 1, 1.5, 2, 3, 5 */

/* Of several tasks over one yardstick. */
struct atoll_speedup_sums {
    uint64_t task_count;  /* tasks that fast_share is of: with a rival measured; over the seed, all */
    uint64_t timed_count; /* tasks with a speedup */
    double geometric_mean, arithmetic_mean; /* of those, 0 = none */
    /* 95 % interval of the geometric mean, propagated from those of the tasks' ratios (docs/adr/0050); 0 = one has none */
    double geometric_lo, geometric_hi;
    struct atoll_ratio_mean geometric; /* what these three come from */
    /* fast_p: share of task_count with a correct kernel more than 1, 1.5, 2, 3, 5 times as fast */
    double fast_share[ATOLL_FAST_COUNT];
    int are_final; /* each of those speedups is of a final comparison */
};

struct atoll_task_sums {
    uint64_t task_count, solved_count;   /* solved: with a correct kernel */
    uint64_t evaluated, correct, judged; /* judged: neither unstable nor infrastructure */
    struct atoll_speedup_sums over[ATOLL_YARDSTICK_COUNT];
    uint64_t floor_count;        /* tasks whose share of the floor is known */
    uint64_t memory_floor_count; /* of these, whose floor is of memory alone */
    double floor_mean;           /* geometric mean of those shares, 0 = none */
    /* That of headlines: the rival where one of the tasks has one. */
    enum atoll_yardstick headline;
};

struct atoll_archive_summary {
    struct atoll_task_sums tasks;
    uint64_t noop_challenges, noop_promotions;
    uint64_t asks, tokens;
    double cost_usd;
    /* MEASUREMENT.md 9, by the accounts of the devices; in archives without them, of all evaluations and duels */
    double occupied_ns, candidate_ns;
    double wall_ns; /* campaign time, all campaigns */
    double
        device_wall_ns; /* of those accounts, with what lies between parts of a job; without them, campaign time times devices */
};
enum atoll_grouping { ATOLL_BY_LEVEL, ATOLL_BY_CATEGORY };

/* Tasks of one level, or of one category. */
struct atoll_task_group {
    unsigned level;       /* 0 = those that have none; by level */
    const char *category; /* "" = those that have none; by category */
    struct atoll_task_sums sums;
};
/* In order, those without one last; none at all where no task has one.  How many, at most limit: what is beyond it is left
 * out. */
size_t atoll_query_groups(const struct atoll_query *query, enum atoll_grouping by,
                          struct atoll_task_group *ret_groups, size_t limit);

void atoll_query_summary(const struct atoll_query *query, struct atoll_archive_summary *ret_summary);

#endif
