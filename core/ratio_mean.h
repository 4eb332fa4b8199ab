/* ratio_mean.h - a geometric mean of independent ratios, with the 95 % interval that theirs give it (docs/adr/0050).
 * Layer: core, pure.  Starts as {0}. */
#ifndef ATOLL_CORE_RATIO_MEAN_H
#define ATOLL_CORE_RATIO_MEAN_H

#include <stdint.h>

struct atoll_ratio_mean {
    uint64_t count;
    double logs;         /* sum of the logarithms */
    double below, above; /* sums of the squares of what lies below and above a ratio, in logarithms */
    int lacks_interval;  /* one of them has none */
};

/* ratio: above 0.  lo, hi: the ends of its interval; 0 = not known. */
void atoll_ratio_mean_add(struct atoll_ratio_mean *mean, double ratio, double lo, double hi);
/* The mean, 0 of none.  ret_lo, ret_hi: its interval, 0 where one of the ratios has none. */
double atoll_ratio_mean_value(const struct atoll_ratio_mean *mean, double *ret_lo, double *ret_hi);

#endif
