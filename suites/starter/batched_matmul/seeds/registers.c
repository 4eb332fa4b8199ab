/* atoll-plan {
  "version": 1,
  "params": {"VW": [16, 8, 4], "NV": [2, 1, 3, 4], "MR": [4, 2, 6, 8, 12], "AHEAD": [0, 1], "COLUMNS": [0,
1]}, "require": ["MR * NV <= 28", "MR * NV >= 2"], "launch": [{"function": "multiply", "units": "B", "args":
["a", "b", "c", "i64:B", "i64:M", "i64:N", "i64:K"]}]
} */
/* Blocks of MR x NV vectors are accumulated in registers, straight from the matrices. The last columns are
 * done by a block that overlaps the one before, or element by element where a matrix is narrower than a
 * block. COLUMNS: keep the columns and walk down the rows. AHEAD: prefetch the next product's matrices. */
#include <string.h>

#define NR (VW * NV)

/* Blocks that no machine's registers hold stay loops: unrolled they only take long to compile. */
#if defined(__AVX512F__)
#define WIDEST 16
#elif defined(__AVX__)
#define WIDEST 8
#else
#define WIDEST 4
#endif
enum { UNROLL = MR * NV * (VW > WIDEST ? VW / WIDEST : 1) <= 28 ? 16 : 1 };

typedef float vec __attribute__((vector_size(4 * VW), aligned(4), may_alias));

static inline void block(const float *restrict a, const float *restrict b, float *restrict c, long n,
                         long depth, int rows)
{
    vec sums[MR][NV] = {{{0}}};
    for (long k = 0; k < depth; k++) {
        vec right[NV];
#pragma GCC unroll 8
        for (int v = 0; v < NV; v++)
            right[v] = *(const vec *)(b + k * n + v * VW);
#pragma GCC unroll UNROLL
        for (int r = 0; r < rows; r++) {
            const float left = a[r * depth + k];
#pragma GCC unroll 8
            for (int v = 0; v < NV; v++)
                sums[r][v] += left * right[v];
        }
    }
#pragma GCC unroll UNROLL
    for (int r = 0; r < rows; r++) {
#pragma GCC unroll 8
        for (int v = 0; v < NV; v++)
            *(vec *)(c + r * n + v * VW) = sums[r][v];
    }
}

static inline void rows_at(const float *restrict a, const float *restrict b, float *restrict c, long m,
                           long n, long depth)
{
    if (m >= MR) {
        block(a, b, c, n, depth, MR);
        return;
    }
    for (long r = 0; r < m; r++)
        block(a + r * depth, b, c + r * n, n, depth, 1);
}

static __attribute__((noinline, cold)) void narrow(const float *restrict a, const float *restrict b,
                                                   float *restrict c, long m, long n, long depth)
{
    for (long i = 0; i < m; i++) {
        float sums[NR] = {0.0f};
        for (long k = 0; k < depth; k++)
            for (long j = 0; j < n; j++)
                sums[j] += a[i * depth + k] * b[k * n + j];
        memcpy(c + i * n, sums, (size_t)n * sizeof *c);
    }
}

static inline void product(const float *restrict a, const float *restrict b, float *restrict c, long m,
                           long n, long depth)
{
#if COLUMNS
    for (long j = 0; j < n; j += NR) {
        const long at = j + NR <= n ? j : n - NR;
        for (long i = 0; i < m; i += MR)
            rows_at(a + i * depth, b + at, c + i * n + at, m - i, n, depth);
    }
#else
    for (long i = 0; i < m; i += MR) {
        for (long j = 0; j < n; j += NR) {
            const long at = j + NR <= n ? j : n - NR;
            rows_at(a + i * depth, b + at, c + i * n + at, m - i, n, depth);
        }
    }
#endif
}

void multiply(long begin, long end, const float *restrict a, const float *restrict b, float *restrict c,
              long batch, long m, long n, long depth)
{
    for (long q = begin; q < end; q++) {
        const float *left = a + q * m * depth, *right = b + q * depth * n;
#if AHEAD
        if (q + 1 < batch) {
            for (long p = 0; p < m * depth; p += 16)
                __builtin_prefetch(left + m * depth + p, 0, 2);
            for (long p = 0; p < depth * n; p += 16)
                __builtin_prefetch(right + depth * n + p, 0, 2);
        }
#endif
        if (n < NR)
            narrow(left, right, c + q * m * n, m, n, depth);
        else
            product(left, right, c + q * m * n, m, n, depth);
    }
    (void)batch;
}
