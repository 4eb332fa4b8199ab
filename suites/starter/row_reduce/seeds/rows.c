/* atoll-plan {
  "version": 1,
  "params": {"VW": [16, 8, 4], "ROWS": [4, 2, 8, 16], "U": [1, 2, 4], "AHEAD": [0, 256, 512, 1024]},
  "require": ["ROWS * U <= 16"],
  "launch": [{"function": "row_reduce", "units": "cdiv(B, ROWS)", "args": ["x", "y", "i64:B", "i64:N"]}]
} */
/* ROWS rows side by side, U vectors of sums each: several streams from memory are in flight at once. */
typedef float vec __attribute__((vector_size(4 * VW), aligned(4), may_alias));

static __attribute__((noinline, noclone)) float row_end(const float *restrict x, long j, long n,
                                                        const float *lanes)
{
    float sum = 0.0f;
    for (; j < n; j++)
        sum += x[j];
    for (int v = 0; v < VW; v++)
        sum += lanes[v];
    return sum;
}

static inline void group(const float *restrict x, float *restrict y, long n, int rows)
{
    vec sums[ROWS][U] = {{{0}}}, ends[ROWS];
    long j = 0;
    for (; j + VW * U <= n; j += VW * U) {
#pragma GCC unroll 16
        for (int r = 0; r < rows; r++) {
#pragma GCC unroll 4
            for (int u = 0; u < U; u++) {
                const float *from = x + r * n + j + u * VW;
#if AHEAD > 0
                __builtin_prefetch(from + AHEAD);
#endif
                sums[r][u] += *(const vec *)from;
            }
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++) {
        ends[r] = sums[r][0];
#pragma GCC unroll 4
        for (int u = 1; u < U; u++)
            ends[r] += sums[r][u];
    }
#pragma GCC unroll 1
    for (int r = 0; r < rows; r++)
        y[r] = row_end(x + r * n, j, n, (const float *)&ends[r]);
}

static __attribute__((noinline, noclone)) void one_row(const float *restrict x, float *restrict y, long n)
{
    group(x, y, n, 1);
}

void row_reduce(long begin, long end, const float *restrict x, float *restrict y, long b, long n)
{
    for (long u = begin; u < end; u++) {
        const long i = u * ROWS;
        if (i + ROWS <= b) {
            group(x + i * n, y + i, n, ROWS);
            continue;
        }
        for (long r = i; r < b; r++)
            one_row(x + r * n, y + r, n);
    }
}
