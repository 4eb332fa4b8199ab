/* atoll-plan {
  "version": 1,
  "params": {"ROWS": [4, 1, 2, 8], "LANES": [32, 8, 16, 64], "AHEAD": [1, 0]},
  "launch": [{"function": "rmsnorm", "units": "cdiv(B, ROWS)",
              "args": ["x", "gain", "y", "i64:B", "i64:N"]}]
} */
/* ROWS rows at a time: several streams from memory in flight, and each gain is loaded once for all of them.
 * AHEAD: prefetch the next group of rows while this one is summed. */
#include <math.h>

static inline void squares(const float *restrict x, long n, int rows, float *restrict ret_sums)
{
    float lanes[ROWS][LANES] = {{0.0f}};
    long j = 0;
    for (; j + LANES <= n; j += LANES) {
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
#if AHEAD
            for (int v = 0; v < LANES; v += 16)
                __builtin_prefetch(x + (rows + r) * n + j + v);
#endif
#pragma omp simd
            for (int v = 0; v < LANES; v++)
                lanes[r][v] += x[r * n + j + v] * x[r * n + j + v];
        }
    }
    for (int r = 0; r < rows; r++) {
        float sum = 0.0f;
        for (int v = 0; v < LANES; v++)
            sum += lanes[r][v];
        for (long q = j; q < n; q++)
            sum += x[r * n + q] * x[r * n + q];
        ret_sums[r] = sum;
    }
}

static inline void group(const float *restrict x, const float *restrict gain, float *restrict y, long n,
                         int rows)
{
    float factor[ROWS];
    squares(x, n, rows, factor);
    for (int r = 0; r < rows; r++)
        factor[r] = 1.0f / sqrtf(factor[r] / (float)n + 1e-5f);
#pragma omp simd
    for (long j = 0; j < n; j++) {
        const float w = gain[j];
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++)
            y[r * n + j] = x[r * n + j] * factor[r] * w;
    }
}

void rmsnorm(long begin, long end, const float *restrict x, const float *restrict gain, float *restrict y,
             long b, long n)
{
    for (long u = begin; u < end; u++) {
        const long i = u * ROWS;
        if (i + ROWS <= b) {
            group(x + i * n, gain, y + i * n, n, ROWS);
            continue;
        }
        for (long r = i; r < b; r++)
            group(x + r * n, gain, y + r * n, n, 1);
    }
}
