/* atoll-plan {
  "version": 1,
  "launch": [{"function": "histogram", "units": "R", "args": ["x", "count", "i64:N", "i64:BINS"]}]
} */
/* One row after the other. */
#include <stdint.h>

void histogram(long begin, long end, const real *x, int32_t *count, long n, long bins)
{
    for (long row = begin; row < end; row++) {
        for (long b = 0; b < bins; b++)
            count[row * bins + b] = 0;
        for (long i = 0; i < n; i++) {
            const long b = (long)(x[row * n + i] * (real)bins);
            count[row * bins + (b < bins ? b : bins - 1)]++;
        }
    }
}
