/* atoll-plan {
  "version": 1,
  "params": {"ROWS": [256, 64, 1024], "SUMS": [2, 1, 4, 8], "AHEAD": [0, 16, 32, 64, 128]},
  "launch": [{"function": "multiply", "units": "cdiv(M, ROWS)", "args": ["ptr", "col", "val", "x", "y", "i64:M", "i64:NNZ"]}]
} */
typedef double real;
/* SUMS independent sums a row, which are gathers for the compiler; AHEAD: entries ahead whose part of x is fetched. */
#include <stdint.h>

void multiply(long begin, long end, const int32_t *restrict ptr, const int32_t *restrict col,
              const real *restrict val, const real *restrict x, real *restrict y, long rows, long entries)
{
    for (long i = begin * ROWS; i < end * ROWS && i < rows; i++) {
        real sums[SUMS] = {0}, sum = 0;
        long k = ptr[i];
        const long last = ptr[i + 1];
#if AHEAD > 0
        for (long f = k + AHEAD; f < last + AHEAD && f < entries; f++)
            __builtin_prefetch(x + col[f]);
#endif
        for (; k + SUMS <= last; k += SUMS) {
#pragma GCC unroll 8
            for (int s = 0; s < SUMS; s++)
                sums[s] += val[k + s] * x[col[k + s]];
        }
        for (; k < last; k++)
            sum += val[k] * x[col[k]];
        for (int s = 0; s < SUMS; s++)
            sum += sums[s];
        y[i] = sum;
    }
}
