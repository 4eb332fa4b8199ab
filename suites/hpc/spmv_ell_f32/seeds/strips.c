/* atoll-plan {
  "version": 1,
  "params": {"ROWS": [256, 64, 128, 512, 1024], "LANES": [8, 4, 16], "AHEAD": [0, 64, 256]},
  "launch": [{"function": "multiply", "units": "cdiv(M, ROWS)", "args": ["col", "val", "x", "y", "i64:M", "i64:K"]}]
} */
/* A strip of rows keeps its sums in the nearest cache, entry by entry, so that everything but x is read in order.
 * AHEAD: rows ahead whose part of x is fetched. */
#include <stdint.h>

static inline void entry(real *restrict sums, const int32_t *restrict col, const real *restrict val,
                         const real *restrict x, long count)
{
#if AHEAD > 0
    for (long i = 0; i < count; i++) {
        __builtin_prefetch(x + col[i + AHEAD < count ? i + AHEAD : i]);
        sums[i] += val[i] * x[col[i]];
    }
#else
#pragma omp simd simdlen(LANES)
    for (long i = 0; i < count; i++)
        sums[i] += val[i] * x[col[i]];
#endif
}

void multiply(long begin, long end, const int32_t *col, const real *val, const real *x, real *y, long rows,
              long width)
{
    for (long u = begin; u < end; u++) {
        const long first = u * ROWS, count = rows - first < ROWS ? rows - first : ROWS;
        real sums[ROWS] = {0};
        for (long k = 0; k < width; k++)
            entry(sums, col + k * rows + first, val + k * rows + first, x, count);
        for (long i = 0; i < count; i++)
            y[first + i] = sums[i];
    }
}
