/* atoll-plan {
  "version": 1,
  "params": {"VW": [16, 8, 4], "QR": [8, 4, 6, 12], "KV": [2, 1, 3, 4], "DV": [2, 1, 4], "DEGREE": [5, 6]},
  "require": ["QR * KV <= 28", "QR * DV <= 28"],
  "scratch": {"turned": "4 * H * cdiv(L, VW * KV) * VW * KV * D"},
  "launch": [
    {"function": "turn", "units": "H * cdiv(L, VW * KV)", "args": ["k", "turned", "i64:L", "i64:D"]},
    {"function": "attend", "units": "H * cdiv(L, QR)",
     "args": ["q", "turned", "v", "y", "i64:L", "i64:D"]}]
} */
/* Keys are transposed into zero-padded panels of KV vectors. A unit takes QR rows of queries through the
 * panels with a running maximum and sum: scores in QR x KV registers, powers in a small tile, and the
 * weighted values added to the result, which is rescaled where a maximum rises, in QR x DV registers. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#define KB (VW * KV)
#define DB (VW * DV)

typedef float vec __attribute__((vector_size(4 * VW), aligned(4), may_alias));
typedef uint32_t bits __attribute__((vector_size(4 * VW), aligned(4), may_alias));

/* gcc takes comparisons apart, element by element, of vectors wider than the machine's. */
#if VW == 16 && defined(__AVX512F__)
#define PW 16
#elif VW >= 8 && defined(__AVX__)
#define PW 8
#else
#define PW 4
#endif
typedef float part __attribute__((vector_size(4 * PW), aligned(4), may_alias));
typedef int32_t mask __attribute__((vector_size(4 * PW), aligned(4), may_alias));

/* Blocks that no machine's registers hold stay loops: unrolled they only take long to compile. */
enum {
    UNROLL_SCORES = QR * KV * (VW / PW) <= 28 ? 16 : 1,
    UNROLL_VALUES = QR * DV * (VW / PW) <= 28 ? 16 : 1
};

struct rows {
    const float *q;
    float *y;
    float top[QR], sum[QR], correction[QR];
    float powers[QR][KB];
};

static inline vec larger(vec a, vec b)
{
    part *to = (part *)&a;
    const part *from = (const part *)&b;
#pragma GCC unroll 4
    for (int i = 0; i < VW / PW; i++) {
        const mask m = (mask)(to[i] > from[i]);
        to[i] = (part)((m & (mask)to[i]) | (~m & (mask)from[i]));
    }
    return a;
}

static inline vec exp_down(vec x)
{
    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    const vec scaled = larger(x * 1.44269504f, (vec){0} - 126.0f);
    const vec rounded = scaled + magic;
    const vec r = scaled - (rounded - magic);
#if DEGREE == 5
    vec p = r * 1.327647217e-03f + 9.675541331e-03f;
    p = p * r + 5.550713273e-02f;
    p = p * r + 2.402211972e-01f;
    p = p * r + 6.931469671e-01f;
    p = p * r + 1.000000072f;
#else
    vec p = r * 1.534581217e-04f + 1.339993121e-03f;
    p = p * r + 9.618488956e-03f;
    p = p * r + 5.550328777e-02f;
    p = p * r + 2.402264689e-01f;
    p = p * r + 6.931472057e-01f;
    p = p * r + 1.0f;
#endif
    return (vec)((bits)p + ((bits)rounded << 23));
}

void turn(long begin, long end, const float *restrict k, float *restrict turned, long keys, long depth)
{
    const long panels = (keys + KB - 1) / KB;
    for (long u = begin; u < end; u++) {
        const long first = u % panels * KB;
        const float *from = k + (u / panels * keys + first) * depth;
        float *to = turned + u * KB * depth;
        const long count = keys - first < KB ? keys - first : KB;
        for (long d = 0; d < depth; d++)
#pragma GCC unroll 1
            for (long j = 0; j < KB; j++)
                to[d * KB + j] = j < count ? from[j * depth + d] : 0.0f;
    }
}

static inline void scores(struct rows *g, const float *restrict panel, long depth, int rows)
{
    const float factor = 1.0f / sqrtf((float)depth);
    vec sums[QR][KV] = {{{0}}};
    for (long d = 0; d < depth; d++) {
        vec right[KV];
#pragma GCC unroll 4
        for (int t = 0; t < KV; t++)
            right[t] = *(const vec *)(panel + d * KB + t * VW);
#pragma GCC unroll UNROLL_SCORES
        for (int r = 0; r < rows; r++) {
            const float left = g->q[r * depth + d];
#pragma GCC unroll 4
            for (int t = 0; t < KV; t++)
                sums[r][t] += left * right[t];
        }
    }
#pragma GCC unroll UNROLL_SCORES
    for (int r = 0; r < rows; r++) {
#pragma GCC unroll 4
        for (int t = 0; t < KV; t++)
            *(vec *)(g->powers[r] + t * VW) = sums[r][t] * factor;
    }
}

static inline void powers(struct rows *g, int r, long count)
{
    float *score = g->powers[r];
    for (long j = count; j < KB; j++)
        score[j] = -INFINITY;
    vec top = (vec){0} + g->top[r], sum = {0};
#pragma GCC unroll 4
    for (int t = 0; t < KV; t++)
        top = larger(*(const vec *)(score + t * VW), top);
    float most = top[0], total = 0.0f;
    for (int t = 1; t < VW; t++)
        most = top[t] > most ? top[t] : most;
#pragma GCC unroll 4
    for (int t = 0; t < KV; t++) {
        const vec p = exp_down(*(const vec *)(score + t * VW) - most);
        *(vec *)(score + t * VW) = p;
        sum += p;
    }
    for (int t = 0; t < VW; t++)
        total += sum[t];
    g->correction[r] = exp_down((vec){0} + (g->top[r] - most))[0];
    g->sum[r] = g->sum[r] * g->correction[r] + total;
    g->top[r] = most;
}

static inline void add_values(const struct rows *g, const float *restrict v, float *restrict y, long depth,
                              long count, int rows)
{
    vec sums[QR][DV];
#pragma GCC unroll UNROLL_VALUES
    for (int r = 0; r < rows; r++) {
#pragma GCC unroll 4
        for (int t = 0; t < DV; t++)
            sums[r][t] = *(const vec *)(y + r * depth + t * VW) * g->correction[r];
    }
    for (long j = 0; j < count; j++) {
        vec right[DV];
#pragma GCC unroll 4
        for (int t = 0; t < DV; t++)
            right[t] = *(const vec *)(v + j * depth + t * VW);
#pragma GCC unroll UNROLL_VALUES
        for (int r = 0; r < rows; r++) {
            const float left = g->powers[r][j];
#pragma GCC unroll 4
            for (int t = 0; t < DV; t++)
                sums[r][t] += left * right[t];
        }
    }
#pragma GCC unroll UNROLL_VALUES
    for (int r = 0; r < rows; r++) {
#pragma GCC unroll 4
        for (int t = 0; t < DV; t++)
            *(vec *)(y + r * depth + t * VW) = sums[r][t];
    }
}

/* The columns that fill no block. */
static __attribute__((noinline, noclone)) void add_rest(const struct rows *g, const float *restrict v,
                                                        float *restrict y, long depth, long width, long count,
                                                        int rows)
{
    for (int r = 0; r < rows; r++) {
        float sums[DB] = {0.0f};
        for (long j = 0; j < count; j++)
            for (long d = 0; d < width; d++)
                sums[d] += g->powers[r][j] * v[j * depth + d];
        for (long d = 0; d < width; d++)
            y[r * depth + d] = y[r * depth + d] * g->correction[r] + sums[d];
    }
}

static inline void group(struct rows *g, const float *restrict panels, const float *restrict v, long keys,
                         long depth, int rows)
{
    for (int r = 0; r < rows; r++) {
        g->top[r] = -INFINITY;
        g->sum[r] = 0.0f;
        memset(g->y + r * depth, 0, (size_t)depth * sizeof *g->y);
    }
    for (long j = 0; j < keys; j += KB) {
        const long count = keys - j < KB ? keys - j : KB;
        long d = 0;
        scores(g, panels + j * depth, depth, rows);
#pragma GCC unroll 1
        for (int r = 0; r < rows; r++)
            powers(g, r, count);
        for (; d + DB <= depth; d += DB)
            add_values(g, v + j * depth + d, g->y + d, depth, count, rows);
        if (d < depth)
            add_rest(g, v + j * depth + d, g->y + d, depth, depth - d, count, rows);
    }
    for (int r = 0; r < rows; r++) {
        const float factor = 1.0f / g->sum[r];
        for (long d = 0; d < depth; d++)
            g->y[r * depth + d] *= factor;
    }
}

static __attribute__((noinline)) void single(struct rows *g, const float *restrict panels,
                                             const float *restrict v, long keys, long depth)
{
    group(g, panels, v, keys, depth, 1);
}

void attend(long begin, long end, const float *restrict q, const float *restrict turned,
            const float *restrict v, float *restrict y, long keys, long depth)
{
    const long groups = (keys + QR - 1) / QR, panels = (keys + KB - 1) / KB;
    for (long u = begin; u < end; u++) {
        const long head = u / groups, last = (head + 1) * keys;
        const float *keys_at = turned + head * panels * KB * depth, *values = v + head * keys * depth;
        long i = head * keys + u % groups * QR;
        struct rows g = {.q = q + i * depth, .y = y + i * depth};
        if (i + QR <= last) {
            group(&g, keys_at, values, keys, depth, QR);
            continue;
        }
        for (; i < last; i++) {
            g.q = q + i * depth;
            g.y = y + i * depth;
            single(&g, keys_at, values, keys, depth);
        }
    }
}
