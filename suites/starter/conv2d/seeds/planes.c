/* atoll-plan {
  "version": 1,
  "params": {"FB": [4, 1, 2, 8], "PB": [1, 2, 4, 8], "LANES": [16, 32, 64, 128]},
  "require": ["FB * PB * LANES <= 2048"],
  "launch": [{"function": "conv2d", "units": "cdiv(F, FB) * cdiv(P, PB)",
              "args": ["x", "w", "y", "i64:C", "i64:F", "i64:P", "i64:Q", "i64:R", "i64:S"]}]
} */
/* Shifted rows of x, scaled by one tap, are added to tiles of PB x LANES sums for FB filters in the nearest
 * cache. Three taps are taken together, so that each sum is loaded and stored once for them. */
#include <string.h>

struct shape {
    long channels, p, q, r, s;
};

static inline void add_three(float *restrict sums, const float *restrict x, const float *restrict w,
                             long weights, long width)
{
#pragma omp simd
    for (long j = 0; j < width; j++) {
#pragma GCC unroll 8
        for (int f = 0; f < FB; f++) {
            float sum = sums[f * PB * LANES + j];
#pragma GCC unroll 4
            for (int t = 0; t < 3; t++)
                sum += w[f * weights + t] * x[j + t];
            sums[f * PB * LANES + j] = sum;
        }
    }
}

/* Any number of filters and taps, one by one. */
static __attribute__((noinline, noclone)) void add_rest(float *restrict sums, const float *restrict x,
                                                        const float *restrict w, long weights, long taps,
                                                        long width, int filters)
{
    for (int f = 0; f < filters; f++) {
        for (long t = 0; t < taps; t++)
            for (long j = 0; j < width; j++)
                sums[f * PB * LANES + j] += w[f * weights + t] * x[j + t];
    }
}

static inline void add_row(float *restrict sums, const float *restrict x, const float *restrict w,
                           long weights, long taps, long width, int filters)
{
    long t = 0;
    for (; filters == FB && t + 3 <= taps; t += 3)
        add_three(sums, x + t, w + t, weights, width);
    if (t < taps)
        add_rest(sums, x + t, w + t, weights, taps - t, width, filters);
}

static inline void tile(const float *restrict x, const float *restrict w, float *restrict y,
                        const struct shape *g, long rows, long width, int filters)
{
    const long stride = g->q + g->s - 1, plane = (g->p + g->r - 1) * stride;
    const long taps = g->r * g->s, weights = g->channels * taps;
    float sums[FB * PB * LANES] = {0.0f};
    for (long c = 0; c < g->channels; c++) {
        for (long row = 0; row < rows; row++)
            for (long i = 0; i < g->r; i++)
                add_row(sums + row * LANES, x + c * plane + (row + i) * stride, w + c * taps + i * g->s,
                        weights, g->s, width, filters);
    }
    for (int f = 0; f < filters; f++)
        for (long row = 0; row < rows; row++)
            memcpy(y + (f * g->p + row) * g->q, sums + (f * PB + row) * LANES, (size_t)width * sizeof *y);
}

static __attribute__((noinline, noclone)) void last_columns(const float *restrict x, const float *restrict w,
                                                            float *restrict y, const struct shape *g,
                                                            long rows, long width)
{
    tile(x, w, y, g, rows, width, FB);
}

static inline void columns(const float *restrict x, const float *restrict w, float *restrict y,
                           const struct shape *g, long rows)
{
    long j = 0;
    for (; j + LANES <= g->q; j += LANES)
        tile(x + j, w, y + j, g, rows, LANES, FB);
    if (j < g->q)
        last_columns(x + j, w, y + j, g, rows, g->q - j);
}

static __attribute__((noinline, noclone)) void one_filter(const float *restrict x, const float *restrict w,
                                                          float *restrict y, const struct shape *g, long rows)
{
    for (long j = 0; j < g->q; j += LANES)
        tile(x + j, w, y + j, g, rows, g->q - j < LANES ? g->q - j : LANES, 1);
}

void conv2d(long begin, long end, const float *restrict x, const float *restrict w, float *restrict y,
            long channels, long filters, long p, long q, long r, long s)
{
    const struct shape g = {channels, p, q, r, s};
    const long groups = (p + PB - 1) / PB;
    for (long u = begin; u < end; u++) {
        const long f = u / groups * FB, row = u % groups * PB;
        const long rows = p - row < PB ? p - row : PB;
        const float *from = x + row * (q + s - 1);
        if (f + FB <= filters) {
            columns(from, w + f * channels * r * s, y + (f * p + row) * q, &g, rows);
            continue;
        }
        for (long k = f; k < filters; k++)
            one_filter(from, w + k * channels * r * s, y + (k * p + row) * q, &g, rows);
    }
}
