/* atoll-plan {
  "version": 1,
  "params": {"ROWS": [4, 1, 2, 8], "KU": [4, 1, 2, 8], "NB": [128, 64, 256]},
  "require": ["ROWS * KU <= 32"],
  "launch": [{"function": "matmul", "units": "cdiv(M, ROWS)",
              "args": ["a", "b", "c", "i64:M", "i64:N", "i64:K"]}]
} */
/* Rows of B, scaled, are added to a tile of ROWS x NB sums that lives in the nearest cache; KU rows at a
 * time, so that each sum is loaded and stored once for KU products. */
#include <string.h>

static inline void add_rows(float *restrict sums, const float *restrict a, const float *restrict b, long n,
                            long depth, long width, int rows)
{
#pragma omp simd
    for (long j = 0; j < width; j++) {
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            float sum = sums[r * NB + j];
#pragma GCC unroll 8
            for (int q = 0; q < KU; q++)
                sum += a[r * depth + q] * b[q * n + j];
            sums[r * NB + j] = sum;
        }
    }
}

/* Any number of rows and products, one by one. */
static __attribute__((noinline, noclone)) void add_rest(float *restrict sums, const float *restrict a,
                                                        const float *restrict b, long n, long depth,
                                                        long width, int rows, long count)
{
    for (int r = 0; r < rows; r++) {
        for (long q = 0; q < count; q++)
            for (long j = 0; j < width; j++)
                sums[r * NB + j] += a[r * depth + q] * b[q * n + j];
    }
}

static inline void tile(const float *a, const float *b, float *c, long n, long depth, long width, int rows)
{
    float sums[ROWS * NB] = {0.0f};
    long k = 0;
    for (; rows == ROWS && k + KU <= depth; k += KU)
        add_rows(sums, a + k, b + k * n, n, depth, width, rows);
    if (k < depth)
        add_rest(sums, a + k, b + k * n, n, depth, width, rows, depth - k);
    for (int r = 0; r < rows; r++)
        memcpy(c + r * n, sums + r * NB, (size_t)width * sizeof *c);
}

void matmul(long begin, long end, const float *restrict a, const float *restrict b, float *restrict c, long m,
            long n, long depth)
{
    for (long j = 0; j < n; j += NB) {
        const long width = n - j < NB ? n - j : NB;
        for (long u = begin; u < end; u++) {
            const long i = u * ROWS;
            const float *left = a + i * depth;
            if (i + ROWS <= m) {
                tile(left, b + j, c + i * n + j, n, depth, width, ROWS);
                continue;
            }
            for (long r = 0; i + r < m; r++)
                tile(left + r * depth, b + j, c + (i + r) * n + j, n, depth, width, 1);
        }
    }
}
