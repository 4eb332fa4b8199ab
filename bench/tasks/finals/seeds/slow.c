/* atoll-plan {"version": 1, "launch": [{"function": "softmax", "units": "B", "args": ["x", "y", "i32:N"]}]} */
#include <math.h>

/* Twice the exponential of each element, in double precision. */
void softmax(long begin, long end, const float *x, float *y, int n)
{
    for (long i = begin; i < end; i++) {
        const float *row = x + i * n;
        double top = row[0], sum = 0;
        for (int j = 1; j < n; j++)
            top = row[j] > top ? row[j] : top;
        for (int j = 0; j < n; j++)
            sum += exp(row[j] - top);
        for (int j = 0; j < n; j++)
            y[i * n + j] = (float)(exp(row[j] - top) / sum);
    }
}
