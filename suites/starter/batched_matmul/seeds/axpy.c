/* atoll-plan {
  "version": 1,
  "params": {"KU": [4, 1, 2, 8], "LANES": [64, 16, 32, 128], "ROWS": [2, 1, 4]},
  "require": ["ROWS * LANES <= 256"],
  "launch": [{"function": "multiply", "units": "B * cdiv(M, ROWS)",
              "args": ["a", "b", "c", "i64:M", "i64:N", "i64:K"]}]
} */
/* A unit is a few rows of one product: KU scaled rows of B at a time are added to LANES sums per row. */
#include <string.h>

/* Jammed loops over products have too many sums for the registers, and take long to compile. */
#pragma GCC optimize("no-loop-unroll-and-jam")

static inline void add_rows(float *restrict sums, const float *restrict a, const float *restrict b, long n,
                            long depth, long width)
{
#pragma omp simd
    for (long j = 0; j < width; j++) {
#pragma GCC unroll 4
        for (int r = 0; r < ROWS; r++) {
            float sum = sums[r * LANES + j];
#pragma GCC unroll 8
            for (int q = 0; q < KU; q++)
                sum += a[r * depth + q] * b[q * n + j];
            sums[r * LANES + j] = sum;
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
                sums[r * LANES + j] += a[r * depth + q] * b[q * n + j];
    }
}

static inline void strip(const float *restrict a, const float *restrict b, float *restrict c, long n,
                         long depth, long width, int rows)
{
    float sums[ROWS * LANES] = {0.0f};
    long k = 0;
    for (; rows == ROWS && k + KU <= depth; k += KU)
        add_rows(sums, a + k, b + k * n, n, depth, width);
    if (k < depth)
        add_rest(sums, a + k, b + k * n, n, depth, width, rows, depth - k);
    for (int r = 0; r < rows; r++)
        memcpy(c + r * n, sums + r * LANES, (size_t)width * sizeof *c);
}

static __attribute__((noinline, noclone)) void columns(const float *restrict a, const float *restrict b,
                                                       float *restrict c, long n, long depth)
{
    strip(a, b, c, n, depth, LANES, ROWS);
}

static __attribute__((noinline, noclone)) void last_columns(const float *restrict a, const float *restrict b,
                                                            float *restrict c, long n, long depth, long width)
{
    strip(a, b, c, n, depth, width, ROWS);
}

static __attribute__((noinline, noclone)) void one_row(const float *restrict a, const float *restrict b,
                                                       float *restrict c, long n, long depth)
{
    for (long j = 0; j < n; j += LANES)
        strip(a, b + j, c + j, n, depth, n - j < LANES ? n - j : LANES, 1);
}

static inline void rows_at(const float *restrict a, const float *restrict b, float *restrict c, long n,
                           long depth)
{
    long j = 0;
    for (; j + LANES <= n; j += LANES)
        columns(a, b + j, c + j, n, depth);
    if (j < n)
        last_columns(a, b + j, c + j, n, depth, n - j);
}

void multiply(long begin, long end, const float *restrict a, const float *restrict b, float *restrict c,
              long m, long n, long depth)
{
    const long groups = (m + ROWS - 1) / ROWS;
    for (long u = begin; u < end; u++) {
        const long q = u / groups, i = u % groups * ROWS;
        const float *left = a + (q * m + i) * depth, *right = b + q * depth * n;
        float *to = c + (q * m + i) * n;
        if (i + ROWS <= m) {
            rows_at(left, right, to, n, depth);
            continue;
        }
        for (long r = 0; i + r < m; r++)
            one_row(left + r * depth, right, to + r * n, n, depth);
    }
}
