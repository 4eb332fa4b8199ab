/* atoll-plan {
  "version": 1,
  "params": {"ROWS": [4, 2, 8, 12, 16], "CHUNK": [16, 8, 32, 64], "AHEAD": [0, 64, 256, 512]},
  "launch": [{"function": "prefix_sum", "units": "cdiv(B, ROWS)", "args": ["x", "y", "i64:B", "i64:N"]}]
} */
/* ROWS rows side by side: their running sums do not wait for each other. CHUNK: columns taken from a row
 * before the next group of columns. AHEAD: elements to prefetch ahead in every row. */

static inline void group(const float *restrict x, float *restrict y, long n, int rows)
{
    float sums[ROWS] = {0.0f};
    long j = 0;
    for (; j + CHUNK <= n; j += CHUNK) {
#if AHEAD > 0
        for (int r = 0; r < rows; r++) {
            for (int v = 0; v < CHUNK; v += 16)
                __builtin_prefetch(x + r * n + j + v + AHEAD);
        }
#endif
        for (int v = 0; v < CHUNK; v++) {
#pragma GCC unroll 16
            for (int r = 0; r < rows; r++) {
                sums[r] += x[r * n + j + v];
                y[r * n + j + v] = sums[r];
            }
        }
    }
    for (; j < n; j++) {
        for (int r = 0; r < rows; r++) {
            sums[r] += x[r * n + j];
            y[r * n + j] = sums[r];
        }
    }
}

void prefix_sum(long begin, long end, const float *restrict x, float *restrict y, long b, long n)
{
    for (long u = begin; u < end; u++) {
        const long i = u * ROWS;
        if (i + ROWS <= b) {
            group(x + i * n, y + i * n, n, ROWS);
            continue;
        }
        for (long r = i; r < b; r++)
            group(x + r * n, y + r * n, n, 1);
    }
}
