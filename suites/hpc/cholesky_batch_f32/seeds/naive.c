/* atoll-plan {
  "version": 1,
  "launch": [{"function": "factor", "units": "B", "args": ["a", "l", "i64:N"]}]
} */
/* Matrix by matrix, row by row. */
#include <math.h>

void factor(long begin, long end, const real *a, real *l, long n)
{
    for (long u = begin; u < end; u++) {
        const real *from = a + u * n * n;
        real *to = l + u * n * n;
        for (long i = 0; i < n; i++) {
            for (long j = 0; j <= i; j++) {
                real sum = from[i * n + j] + (i == j ? (real)(n + 1) : 0);
                for (long k = 0; k < j; k++)
                    sum -= to[i * n + k] * to[j * n + k];
                to[i * n + j] = i == j ? (real)sqrt((double)sum) : sum / to[j * n + j];
            }
            for (long j = i + 1; j < n; j++)
                to[i * n + j] = 0;
        }
    }
}
