/* atoll-plan {"version": 1, "launch": [{"function": "softmax", "units": "B", "args": ["x", "y", "i32:N"]}]} */
#include <math.h>

/* Once, in single precision, kept where the result will stand. */
void softmax(long begin, long end, const float *x, float *y, int n)
{
    for (long i = begin; i < end; i++) {
        const float *row = x + i * n;
        float *to = y + i * n, top = row[0], sum = 0;
        for (int j = 1; j < n; j++)
            top = row[j] > top ? row[j] : top;
        for (int j = 0; j < n; j++) {
            to[j] = expf(row[j] - top);
            sum += to[j];
        }
        for (int j = 0; j < n; j++)
            to[j] /= sum;
    }
}
