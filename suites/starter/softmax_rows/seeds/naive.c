/* atoll-plan {
  "version": 1,
  "launch": [{"function": "softmax", "units": "B", "args": ["x", "y", "i64:N"]}]
} */
/* Three passes over each row: maximum, powers and their sum, quotient. */
#include <math.h>

void softmax(long begin, long end, const float *x, float *y, long n)
{
    for (long i = begin; i < end; i++) {
        const float *from = x + i * n;
        float *to = y + i * n;
        float top = from[0];
        for (long j = 1; j < n; j++)
            top = fmaxf(top, from[j]);
        float sum = 0.0f;
        for (long j = 0; j < n; j++) {
            to[j] = expf(from[j] - top);
            sum += to[j];
        }
        for (long j = 0; j < n; j++)
            to[j] /= sum;
    }
}
