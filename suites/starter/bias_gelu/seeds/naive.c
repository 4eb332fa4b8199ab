/* atoll-plan {
  "version": 1,
  "launch": [{"function": "bias_gelu", "units": "B", "args": ["x", "bias", "y", "i64:N"]}]
} */
/* The formula, element by element. */
#include <math.h>

void bias_gelu(long begin, long end, const float *x, const float *bias, float *y, long n)
{
    for (long i = begin; i < end; i++) {
        for (long j = 0; j < n; j++) {
            float v = x[i * n + j] + bias[j];
            y[i * n + j] = 0.5f * v * (1.0f + erff(v * 0.70710678f));
        }
    }
}
