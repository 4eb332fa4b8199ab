/* atoll-plan {
  "version": 1,
  "launch": [{"function": "layernorm", "units": "B", "args": ["x", "gain", "bias", "y", "i64:N"]}]
} */
/* Three loops over each row: mean, variance, result. */
#include <math.h>

void layernorm(long begin, long end, const float *x, const float *gain, const float *bias, float *y, long n)
{
    for (long i = begin; i < end; i++) {
        float sum = 0.0f;
        for (long j = 0; j < n; j++)
            sum += x[i * n + j];
        float mean = sum / (float)n;
        float squares = 0.0f;
        for (long j = 0; j < n; j++) {
            float difference = x[i * n + j] - mean;
            squares += difference * difference;
        }
        float root = sqrtf(squares / (float)n + 1e-5f);
        for (long j = 0; j < n; j++)
            y[i * n + j] = (x[i * n + j] - mean) / root * gain[j] + bias[j];
    }
}
