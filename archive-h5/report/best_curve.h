/* best_curve.h - how the best time of a task came down: a point each time that a faster kernel became its best.
 * Layer: archive-h5, pure.  Texts are borrowed from the tables. */
#ifndef ATOLL_ARCHIVE_H5_REPORT_BEST_CURVE_H
#define ATOLL_ARCHIVE_H5_REPORT_BEST_CURVE_H

#include "archive-h5/report/maker.h"

struct atoll_curve_point {
    uint64_t
        evaluation; /* number of the kernel's last correct one until then, 0 = it is not in the archive */
    uint64_t evaluations; /* of the task until then, that one included; failures of infrastructure are none */
    int64_t campaign_ns;  /* campaign time at which it became the best, 0 = not known */
    uint64_t tokens;      /* of the answers to asks about the task until then, turns with tools included */
    uint64_t tokens_estimated; /* the same; of asks whose tokens nobody counted a token for each
                                * ATOLL_BYTES_PER_TOKEN bytes of prompt and answer, turns with tools left out */
    double best_ns;            /* the kernel's time, as it became the best */
    double floor_share;        /* floor / best_ns, 0 = unknown, or as atoll_task_summary.floors_differ */
    double seed_ratio;         /* the baseline's time over best_ns: a quotient of two medians, 0 = unknown */
    double rival_ratio;        /* the same of the fastest rival, whenever that was measured */
    enum atoll_maker maker;    /* of the kernel */
    const char *origin;        /* of its source, "" = none */
    struct atoll_id candidate;
};

/* Where it is.  All curves of an archive together take a time that grows with its rows as sorting does.  Lifetime: init/fini;
 * the query is borrowed. */
struct atoll_curve {
    const struct atoll_query *query;
    struct atoll_row_task task;
    uint64_t task_row; /* in tasks */
    int floors_differ;
    size_t next;    /* of the task's decisions */
    double best_ns; /* of the last point, 0 = none yet */
    uint64_t *
        evaluated; /* owned; events of the task's evaluations, ascending, failures of infrastructure left out */
    struct atoll_curve_answer { /* owned; ascending by time, tokens: of this and all before */
        int64_t answered_ns;
        uint64_t tokens, tokens_estimated;
    } *answers;
    struct atoll_id *wrong; /* owned; ascending; challengers that a comparison found wrong */
    size_t evaluated_count, answer_count, wrong_count;
};
int atoll_curve_init(struct atoll_curve *curve, const struct atoll_query *query, uint64_t task_row,
                     struct atoll_err *err);
void atoll_curve_fini(struct atoll_curve *curve);
/* 1 and the next point, 0 behind the last.  Each is faster than the one before.  Kernels that a judge had discarded or a comparison
 * proved wrong are left out, as is a slower best that the finals chose: the last point need not be the best of the summary. */
int atoll_curve_next(struct atoll_curve *curve, struct atoll_curve_point *ret_point);

#endif
