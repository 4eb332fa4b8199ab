#include "core/ratio_mean.h"

#include <math.h>

void atoll_ratio_mean_add(struct atoll_ratio_mean *mean, double ratio, double lo, double hi)
{
    mean->count++;
    mean->logs += log(ratio);
    if (!(lo > 0) || !(hi > 0)) {
        mean->lacks_interval = 1;
        return;
    }
    mean->below += pow(log(ratio / lo), 2);
    mean->above += pow(log(hi / ratio), 2);
}

double atoll_ratio_mean_value(const struct atoll_ratio_mean *mean, double *ret_lo, double *ret_hi)
{
    double count = (double)mean->count;
    double value = mean->count ? exp(mean->logs / count) : 0;
    int is_known = mean->count && !mean->lacks_interval;
    *ret_lo = is_known ? value / exp(sqrt(mean->below) / count) : 0;
    *ret_hi = is_known ? value * exp(sqrt(mean->above) / count) : 0;
    return value;
}
