/* atoll-plan {
  "version": 1,
  "launch": [{"function": "rmsnorm", "units": "B", "args": ["x", "gain", "y", "i64:N"]}]
} */
/* Two loops over each row. */
#include <math.h>

void rmsnorm(long begin, long end, const float *x, const float *gain, float *y, long n)
{
    for (long i = begin; i < end; i++) {
        float squares = 0.0f;
        for (long j = 0; j < n; j++)
            squares += x[i * n + j] * x[i * n + j];
        float root = sqrtf(squares / (float)n + 1e-5f);
        for (long j = 0; j < n; j++)
            y[i * n + j] = x[i * n + j] / root * gain[j];
    }
}
