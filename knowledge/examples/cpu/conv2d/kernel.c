/* atoll-plan {
  "version": 1,
  "params": {"VW": [16, 8, 4], "NV": [4, 1, 2, 3], "FB": [6, 1, 2, 4, 8, 12], "ROWS": [1, 0]},
  "require": ["FB * NV <= 28", "FB * NV >= 2"],
  "launch": [{"function": "conv2d", "units": "cdiv(F, FB) * P",
              "args": ["x", "w", "y", "i64:C", "i64:F", "i64:P", "i64:Q", "i64:R", "i64:S"]}]
} */
/* A unit is one row of the result for FB filters: FB x NV vectors are accumulated in registers over all
 * channels and taps. The last columns overlap the block before; rows narrower than a block go element by
 * element. ROWS: neighbouring units are rows of the same filters, otherwise the same row of other filters. */
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
enum { UNROLL = FB * NV * (VW > WIDEST ? VW / WIDEST : 1) <= 28 ? 16 : 1 };

typedef float vec __attribute__((vector_size(4 * VW), aligned(4), may_alias));

struct shape {
    long channels, p, q, r, s;
};

static inline void block(const float *restrict x, const float *restrict w, float *restrict y,
                         const struct shape *g, int filters)
{
    const long width = g->q + g->s - 1, plane = (g->p + g->r - 1) * width;
    const long taps = g->r * g->s, weights = g->channels * taps;
    vec sums[FB][NV] = {{{0}}};
    for (long c = 0; c < g->channels; c++) {
        for (long i = 0; i < g->r; i++) {
            const float *from = x + c * plane + i * width;
            const float *tap = w + c * taps + i * g->s;
            for (long j = 0; j < g->s; j++) {
                vec right[NV];
#pragma GCC unroll 8
                for (int v = 0; v < NV; v++)
                    right[v] = *(const vec *)(from + j + v * VW);
#pragma GCC unroll UNROLL
                for (int f = 0; f < filters; f++) {
                    const float left = tap[f * weights + j];
#pragma GCC unroll 8
                    for (int v = 0; v < NV; v++)
                        sums[f][v] += left * right[v];
                }
            }
        }
    }
#pragma GCC unroll UNROLL
    for (int f = 0; f < filters; f++) {
#pragma GCC unroll 8
        for (int v = 0; v < NV; v++)
            *(vec *)(y + f * g->p * g->q + v * VW) = sums[f][v];
    }
}

static __attribute__((noinline, cold)) void narrow(const float *restrict x, const float *restrict w,
                                                   float *restrict y, const struct shape *g)
{
    const long width = g->q + g->s - 1, plane = (g->p + g->r - 1) * width;
    float sums[NR] = {0.0f};
    for (long c = 0; c < g->channels; c++) {
        for (long i = 0; i < g->r; i++) {
            for (long j = 0; j < g->s; j++) {
                const float left = w[(c * g->r + i) * g->s + j];
                for (long column = 0; column < g->q; column++)
                    sums[column] += left * x[c * plane + i * width + column + j];
            }
        }
    }
    memcpy(y, sums, (size_t)g->q * sizeof *y);
}

static inline void columns(const float *restrict x, const float *restrict w, float *restrict y,
                           const struct shape *g, int filters)
{
    if (g->q < NR) {
        for (int f = 0; f < filters; f++)
            narrow(x, w + f * g->channels * g->r * g->s, y + f * g->p * g->q, g);
        return;
    }
    for (long column = 0; column < g->q; column += NR) {
        const long at = column + NR <= g->q ? column : g->q - NR;
        block(x + at, w, y + at, g, filters);
    }
}

void conv2d(long begin, long end, const float *restrict x, const float *restrict w, float *restrict y,
            long channels, long filters, long p, long q, long r, long s)
{
    const struct shape g = {channels, p, q, r, s};
    const long groups = (filters + FB - 1) / FB;
    for (long u = begin; u < end; u++) {
        const long row = ROWS ? u % p : u / groups;
        const long f = (ROWS ? u / p : u % groups) * FB;
        const float *from = x + row * (q + s - 1);
        if (f + FB <= filters) {
            columns(from, w + f * channels * r * s, y + (f * p + row) * q, &g, FB);
            continue;
        }
        for (long k = f; k < filters; k++)
            columns(from, w + k * channels * r * s, y + (k * p + row) * q, &g, 1);
    }
}
