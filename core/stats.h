/* stats.h - robust statistics for timings.  Layer: core, pure. */
#ifndef ATOLL_CORE_STATS_H
#define ATOLL_CORE_STATS_H

#include <stddef.h>

/* Of `count` values, any order, none NaN.  The interval is the distribution-free 95 % interval of the
 * median from order statistics (binomial, exact).  lo/hi are min/max when count < 6. */
struct atoll_summary {
    size_t count;
    double min, p10, median, p90, max, lo95, hi95;
    double relative_half_width; /* (hi95 - lo95) / 2 / median; HUGE_VAL when count < 6 or median <= 0 */
};

/* scratch: room for count doubles, overwritten.  count may be 0 (all zero). */
void atoll_summary_of(const double *values, size_t count, double *scratch, struct atoll_summary *ret_summary);

/* Two-sided quantile functions used by the tests below; p in (0,1). */
double atoll_normal_quantile(double p);
double atoll_student_cdf(double t, double degrees);

/* Sequential paired comparison of log time ratios (MEASUREMENT.md 5).  Feed pairs with x = ln(t_elite /
 * t_challenger), in balanced blocks; after each look the state says MORE, BETTER or NOT_BETTER.  Test:
 * one-sided Student t on 10 %-winsorised pairs (Yuen 1974) against the margin, alpha split evenly over the
 * planned looks (Bonferroni), so the error over the looks is at most alpha.  Rejects early (futility) when
 * even the upper 99.9 % bound lies below the margin, and when the pairs so far give the last look less than 5 % to say
 * BETTER; rejecting early takes nothing from the error, only from the power (docs/adr/0067). */
enum atoll_comparison { ATOLL_COMPARE_MORE, ATOLL_COMPARE_BETTER, ATOLL_COMPARE_NOT_BETTER };

struct atoll_paired_test {
    double margin;  /* ln(1 + promised improvement), e.g. ln 1.01 */
    double alpha;   /* (0, 0.5) */
    unsigned looks; /* planned looks, >= 1 */
    unsigned look;  /* looks so far */
    size_t pairs;   /* at the last look; 0: not known, and the last look's chance is not asked */
};

/* One look at all pairs so far (count >= 4).  ret_p: the one-sided p-value of this look; ret_ratio: exp of
 * the winsorised mean. */
enum atoll_comparison atoll_paired_look(struct atoll_paired_test *test, const double *log_ratios,
                                        size_t count, double *ret_p, double *ret_ratio);

/* exp of the winsorised mean, returned, with its two-sided 95 % interval by Student's t; without regard to looks, so it
 * describes what was seen and decides nothing.  1, and both ends 0, when count < 4 or a value is not finite. */
double atoll_paired_interval(const double *log_ratios, size_t count, double *ret_lo, double *ret_hi);
/* 95 % interval of a share of hits among count (Wilson 1927); 0 to 1 when count is 0.  hits <= count. */
void atoll_share_interval(size_t hits, size_t count, double *ret_lo, double *ret_hi);
/* How many times apart two intervals of a positive quantity are: 1 when they share a value, else the nearer ends' ratio, > 1. */
double atoll_interval_gap(double lo, double hi, double other_lo, double other_hi);

#endif
