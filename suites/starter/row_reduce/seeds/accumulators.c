/* atoll-plan {
  "version": 1,
  "params": {"VW": [16, 8, 4], "U": [4, 1, 2, 8], "AHEAD": [0, 256, 512, 1024, 2048, 4096, 8192]},
  "require": ["VW * U <= 64"],
  "launch": [{"function": "row_reduce", "units": "B", "args": ["x", "y", "i64:N"]}]
} */
/* U independent vectors of VW sums per row. AHEAD: elements to prefetch ahead. */
typedef float vec __attribute__((vector_size(4 * VW), aligned(4), may_alias));

static inline float row_sum(const float *restrict x, long n)
{
    vec sums[U] = {{0}};
    float sum = 0.0f;
    long j = 0;
    for (; j + VW * U <= n; j += VW * U) {
#pragma GCC unroll 8
        for (int u = 0; u < U; u++) {
#if AHEAD > 0
            __builtin_prefetch(x + j + u * VW + AHEAD);
#endif
            sums[u] += *(const vec *)(x + j + u * VW);
        }
    }
    for (; j < n; j++)
        sum += x[j];
    for (int u = 1; u < U; u++)
        sums[0] += sums[u];
    for (int v = 0; v < VW; v++)
        sum += sums[0][v];
    return sum;
}

void row_reduce(long begin, long end, const float *restrict x, float *restrict y, long n)
{
    for (long i = begin; i < end; i++)
        y[i] = row_sum(x + i * n, n);
}
