/* atoll-plan {
  "version": 1,
  "params": {"TI": [16, 8, 32, 64, 128], "TJ": [16, 8, 32, 64, 128], "UNROLL": [4, 1, 8, 16], "READ": [0, 1]},
  "require": ["TI * TJ <= 8192", "UNROLL <= TI"],
  "launch": [{"function": "transpose", "units": "cdiv(N, TJ)", "args": ["x", "y", "i64:M", "i64:N"]}]
} */
/* Tiles of TI x TJ, small enough that both sides stay in the nearest cache. READ: walk along rows of x
 * instead of y. UNROLL: rows of the tile moved together. */

static inline void strip(const float *restrict x, float *restrict y, long m, long n, long width, int rows)
{
    for (long j = 0; j < width; j++) {
#pragma GCC unroll 16
        for (int r = 0; r < rows; r++)
            y[j * m + r] = x[r * n + j];
    }
}

static inline void tile(const float *restrict x, float *restrict y, long m, long n, long height, long width)
{
#if READ
    for (long i = 0; i < height; i++) {
#pragma GCC ivdep
        for (long j = 0; j < width; j++)
            y[j * m + i] = x[i * n + j];
    }
#else
    long i = 0;
    for (; i + UNROLL <= height; i += UNROLL)
        strip(x + i * n, y + i, m, n, width, UNROLL);
    for (; i < height; i++)
        strip(x + i * n, y + i, m, n, width, 1);
#endif
}

void transpose(long begin, long end, const float *restrict x, float *restrict y, long m, long n)
{
    for (long u = begin; u < end; u++) {
        const long j = u * TJ;
        const long width = n - j < TJ ? n - j : TJ;
        for (long i = 0; i < m; i += TI) {
            const long height = m - i < TI ? m - i : TI;
            if (height == TI && width == TJ)
                tile(x + i * n + j, y + j * m + i, m, n, TI, TJ);
            else
                tile(x + i * n + j, y + j * m + i, m, n, height, width);
        }
    }
}
