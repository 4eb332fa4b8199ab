/* atoll-plan {
  "version": 1,
  "launch": [{"function": "norms", "units": "B", "args": ["x", "w", "y", "i64:N"]}]
} */
#include <math.h>

void norms(long begin, long end, const float *x, const float *w, float *y, long n)
{
    for (long b = begin; b < end; b++) {
        double sum = 0.0;
        for (long j = 0; j < n; j++)
            sum += (double)w[j] * x[b * n + j] * x[b * n + j];
        y[b] = (float)sqrt(sum);
    }
}
