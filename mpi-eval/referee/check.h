/* check.h - one output tensor against what the reference says, element by element (MEASUREMENT.md 2), and the
 * evidence when it is wrong.  Layer: mpi-eval, referee.  Pure. */
#ifndef ATOLL_MPI_EVAL_REFEREE_CHECK_H
#define ATOLL_MPI_EVAL_REFEREE_CHECK_H

#include "core/evaluation.h"
#include "core/task/task.h"
#include "mpi-eval/referee/fill.h"
#include "mpi-eval/referee/team.h"

struct atoll_check {
    const struct atoll_task *task;
    const struct atoll_variant *variant;
    size_t tensor;
    const void *data;              /* what the candidate left, in the tensor's dtype */
    const double *values, *scale;  /* expected; scale may be NULL */
    const struct atoll_fill *fill; /* what data held before; NULL for inout */
    struct atoll_team *team;       /* borrowed, may be NULL */
};

struct atoll_finding {
    int wrong;
    double worst_error; /* in units of the tolerance; at most ATOLL_WORST_ERROR_MAX */
    size_t count, wrong_count, nonfinite_count, unwritten_count, worst_index;
    char detail[ATOLL_DETAIL_BYTES]; /* "" when right */
};

#define ATOLL_WORST_ERROR_MAX 1e30

/* -1 only when the shape does not evaluate. */
int atoll_check_compare(const struct atoll_check *check, struct atoll_finding *ret_finding,
                        struct atoll_err *err);

/* Whether the tolerance has a bound for each element (else only norm or cosine decide, never a fingerprint).
 */
int atoll_check_has_element_bound(const struct atoll_tolerance *tolerance);
/* What a fingerprint, which sees elements' bounds, holds an output against where the tolerance has a norm as well
 * (docs/adr/0060).  Whatever keeps each element within bound_ratio of its bound keeps the norm: bound_ratio is 1 where the bounds
 * themselves do, or there is no norm. */
struct atoll_norm_rule {
    double bound_ratio; /* 0 to 1 */
    double
        error2_limit; /* of the squares of what blocks' sums are off, which are the error's own in expectation */
};
/* expected2, bound2: sums of the squares of the expected values and of their bounds, of one output. */
struct atoll_norm_rule atoll_norm_rule_of(const struct atoll_tolerance *tolerance, double expected2,
                                          double bound2);
/* Without such a bound: an element that holds what stood there before, and is off by more than this share of its own
 * or the output's root mean square size, was not written. */
double atoll_check_unwritten_ratio(const struct atoll_tolerance *tolerance);

#endif
