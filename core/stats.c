/* stats.c - summaries of timings, and the sequential paired test that decides a duel. */
#include "core/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_FOR_INTERVAL 6 /* below, even the whole range covers the median with less than 95 % */
#define TAIL               0.025
#define WINSOR_SHARE       0.1
#define FUTILITY           0.001 /* one-sided, of the upper bound */
#define LEAST_PROSPECT     0.05  /* docs/adr/0067 */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Linear interpolation between order statistics (type 7 of Hyndman and Fan 1996). */
static double quantile(const double *sorted, size_t count, double q)
{
    double place = q * (double)(count - 1);
    size_t below = (size_t)place;
    if (below + 1 >= count)
        return sorted[count - 1];
    double share = place - (double)below;
    return sorted[below] + share * (sorted[below + 1] - sorted[below]);
}

static double log_factorial(size_t n)
{
    int sign;
    return lgamma_r((double)n + 1.0, &sign);
}

/* The largest r such that [x_(r+1), x_(n-r)] covers the median with at least 95 %: P(Bin(n, 1/2) <= r) <= 2.5
 * %. Walks down from the middle, where the distribution function is known by symmetry. */
static size_t interval_rank(size_t n)
{
    size_t k = (n - 1) / 2;
    double mass =
        exp(log_factorial(n) - log_factorial(k) - log_factorial(n - k) - (double)n * M_LN2); /* of k */
    double below_or_at = 0.5; /* P(X <= k), n odd */
    if (n % 2 == 0) {
        double middle = mass * (double)(n - k) / (double)(k + 1); /* of n/2 */
        below_or_at = (1.0 - middle) / 2.0;
    }
    while (k > 0 && below_or_at > TAIL) {
        below_or_at -= mass;
        mass *= (double)k / (double)(n - k + 1);
        k--;
    }
    return k;
}

void atoll_summary_of(const double *values, size_t count, double *scratch, struct atoll_summary *ret_summary)
{
    struct atoll_summary s = {.count = count};
    if (count > 0) {
        memcpy(scratch, values, count * sizeof(*values));
        qsort(scratch, count, sizeof(*scratch), compare_doubles);
        s.min = scratch[0];
        s.max = scratch[count - 1];
        s.p10 = quantile(scratch, count, 0.1);
        s.median = quantile(scratch, count, 0.5);
        s.p90 = quantile(scratch, count, 0.9);
        size_t rank = count < COUNT_FOR_INTERVAL ? 0 : interval_rank(count);
        s.lo95 = scratch[rank];
        s.hi95 = scratch[count - 1 - rank];
        int is_known = count >= COUNT_FOR_INTERVAL && s.median > 0.0;
        s.relative_half_width = is_known ? (s.hi95 - s.lo95) / 2.0 / s.median : HUGE_VAL;
    }
    *ret_summary = s;
}

static double polynomial(const double *coefficients, size_t count, double x)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum = sum * x + coefficients[i];
    return sum;
}

/* Acklam's rational approximation (2003, relative error 1.15e-9), then one step of Halley against erfc. */
double atoll_normal_quantile(double p)
{
    static const double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                               1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
    static const double b[] = {-5.447609879822406e+01, 1.615858368580409e+02,  -1.556989798598866e+02,
                               6.680131188771972e+01,  -1.328068155288572e+01, 1.0};
    static const double c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                               -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
    static const double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                               3.754408661907416e+00, 1.0};
    if (!(p > 0.0 && p < 1.0))
        return p <= 0.0 ? -HUGE_VAL : p >= 1.0 ? HUGE_VAL : (double)NAN;
    if (p > 0.5)
        return -atoll_normal_quantile(1.0 - p);
    double x;
    if (p < 0.02425) {
        double q = sqrt(-2.0 * log(p));
        x = polynomial(c, 6, q) / polynomial(d, 5, q);
    } else {
        double q = p - 0.5, r = q * q;
        x = polynomial(a, 6, r) * q / polynomial(b, 6, r);
    }
    double error = 0.5 * erfc(-x / M_SQRT2) - p;
    double u = error * sqrt(2.0 * M_PI) * exp(x * x / 2.0);
    return x - u / (1.0 + x * u / 2.0);
}

/* The continued fraction of the incomplete beta function by Lentz's method (Press et al., Numerical
 * Recipes 6.4). */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1.0, d = 1.0 - (a + b) * x / (a + 1.0);
    d = 1.0 / (fabs(d) < tiny ? tiny : d);
    double h = d;
    for (int m = 1; m <= 10000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0));
        double factor = 1.0;
        for (int half = 0; half < 2; half++) {
            double term = half ? odd : even;
            d = 1.0 + term * d;
            c = 1.0 + term / c;
            d = 1.0 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            factor = c * d;
            h *= factor;
        }
        if (fabs(factor - 1.0) < 1e-15)
            break;
    }
    return h;
}

/* Regularised incomplete beta function I_x(a, b). */
static double incomplete_beta(double a, double b, double x)
{
    if (x <= 0.0 || x >= 1.0)
        return x <= 0.0 ? 0.0 : 1.0;
    int sign;
    double front =
        exp(lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) + a * log(x) + b * log1p(-x));
    if (x < (a + 1.0) / (a + b + 2.0))
        return front * beta_fraction(a, b, x) / a;
    return 1.0 - front * beta_fraction(b, a, 1.0 - x) / b;
}

double atoll_student_cdf(double t, double degrees)
{
    double tail;
    if (t != t || !(degrees > 0.0))
        return (double)NAN;
    if (isinf(t))
        return t > 0.0 ? 1.0 : 0.0;
    double square = t * t;
    /* The smaller of x and 1 - x is computed directly, so that no digits are lost near t = 0. */
    if (square < degrees)
        tail = 0.5 - 0.5 * incomplete_beta(0.5, degrees / 2.0, square / (degrees + square));
    else
        tail = 0.5 * incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + square));
    return t > 0.0 ? 1.0 - tail : tail;
}

/* The value with exactly `rank` others before it in ascending order; no scratch, since pairs are few. */
static double order_statistic(const double *values, size_t count, size_t rank)
{
    for (size_t i = 0; i < count; i++) {
        size_t less = 0, equal = 0;
        for (size_t j = 0; j < count; j++) {
            less += values[j] < values[i];
            equal += values[j] <= values[i] && values[j] >= values[i];
        }
        if (less <= rank && rank < less + equal)
            return values[i];
    }
    return (double)NAN;
}

struct winsorised {
    double mean, standard_error, degrees;
};

/* Winsorised mean and its standard error: Dixon and Tukey 1968, degrees of freedom h - 1 as in Yuen 1974. */
static struct winsorised winsorise(const double *values, size_t count)
{
    size_t cut = (size_t)(WINSOR_SHARE * (double)count);
    double low = order_statistic(values, count, cut), high = order_statistic(values, count, count - 1 - cut);
    double n = (double)count, h = (double)(count - 2 * cut), sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += fmin(fmax(values[i], low), high);
    double mean = sum / n;
    for (size_t i = 0; i < count; i++) {
        double x = fmin(fmax(values[i], low), high) - mean;
        squares += x * x;
    }
    double standard_error = sqrt(squares / (n * (n - 1.0))) * (n - 1.0) / (h - 1.0);
    return (struct winsorised){mean, standard_error, h - 1.0};
}

/* The t that is exceeded with this probability, below 0.5. */
static double student_bound(double tail, double degrees)
{
    double low = 0.0, high = 1.0;
    while (atoll_student_cdf(-high, degrees) > tail)
        high *= 2.0;
    while (high - low > 1e-10 * high) {
        double t = (low + high) / 2.0;
        if (atoll_student_cdf(-t, degrees) > tail)
            low = t;
        else
            high = t;
    }
    return high;
}

/* The chance that the last planned look says better, predicted from t at count pairs with nothing known beforehand of mean and
 * deviation: the mean of all pairs lies around that of the pairs so far with the variance of a mean of count pairs less that
 * of a mean of all (predictive power: Spiegelhalter, Freedman, Blackburn 1986). */
static double prospect(const struct atoll_paired_test *test, double t, size_t count, double degrees)
{
    if (test->pairs <= count)
        return 1.0;
    if (!isfinite(t))
        return t > 0.0;
    double times = (double)test->pairs / (double)count;
    double bound = student_bound(test->alpha / test->looks, degrees + (double)(test->pairs - count));
    return atoll_student_cdf((t * sqrt(times) - bound) / sqrt(times - 1.0), degrees);
}

enum atoll_comparison atoll_paired_look(struct atoll_paired_test *test, const double *log_ratios,
                                        size_t count, double *ret_p, double *ret_ratio)
{
    *ret_p = 1.0;
    *ret_ratio = 1.0;
    if (count < 4)
        return ATOLL_COMPARE_MORE;
    for (size_t i = 0; i < count; i++)
        if (!isfinite(log_ratios[i]))
            return ATOLL_COMPARE_NOT_BETTER;
    test->look++;
    struct winsorised w = winsorise(log_ratios, count);
    double distance = w.mean - test->margin, t = distance > 0.0 ? HUGE_VAL : -HUGE_VAL;
    if (w.standard_error > 0.0) /* Student's t; without any spread only the sign is left */
        t = distance / w.standard_error;
    *ret_p = atoll_student_cdf(-t, w.degrees);
    *ret_ratio = exp(w.mean);
    unsigned looks = test->looks ? test->looks : 1;
    if (test->look <= looks && *ret_p <= test->alpha / looks)
        return ATOLL_COMPARE_BETTER;
    if (test->look >= looks || atoll_student_cdf(t, w.degrees) < FUTILITY ||
        prospect(test, t, count, w.degrees) < LEAST_PROSPECT)
        return ATOLL_COMPARE_NOT_BETTER;
    return ATOLL_COMPARE_MORE;
}

double atoll_paired_interval(const double *log_ratios, size_t count, double *ret_lo, double *ret_hi)
{
    *ret_lo = *ret_hi = 0.0;
    for (size_t i = 0; i < count; i++)
        if (!isfinite(log_ratios[i]))
            return 1.0;
    if (count < 4)
        return 1.0;
    struct winsorised w = winsorise(log_ratios, count);
    double half = student_bound(TAIL, w.degrees) * w.standard_error;
    *ret_lo = exp(w.mean - half);
    *ret_hi = exp(w.mean + half);
    return exp(w.mean);
}

double atoll_interval_gap(double lo, double hi, double other_lo, double other_hi)
{
    if (lo > other_hi)
        return lo / other_hi;
    return other_lo > hi ? other_lo / hi : 1.0;
}

void atoll_share_interval(size_t hits, size_t count, double *ret_lo, double *ret_hi)
{
    const double z = 1.959963985;
    double n = count ? (double)count : 1, p = (double)hits / n, share = z * z / n;
    double middle = (p + share / 2) / (1 + share);
    double half = z / (1 + share) * sqrt(p * (1 - p) / n + share / (4 * n));
    *ret_lo =
        hits ? fmax(0, middle - half) : 0; /* of none and of all the ends are exact, whatever sums round to */
    *ret_hi = hits < count ? fmin(1, middle + half) : 1;
}
