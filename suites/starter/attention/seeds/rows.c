/* atoll-plan {
  "version": 1,
  "params": {"KB": [4, 1, 2, 8], "KU": [4, 1, 2, 8], "LANES": [16, 4, 8], "DB": [64, 16, 32, 128]},
  "require": ["DB >= LANES"],
  "scratch": {"scores": "4 * H * L * L"},
  "launch": [{"function": "attention", "units": "H * L",
              "args": ["q", "k", "v", "y", "scores", "i64:L", "i64:D"]}]
} */
/* Row by row like the definition, in loops that the compiler turns into vectors of LANES: scores of KB keys
 * together, KU values at a time onto DB sums, and a polynomial for the exponential. */
#include <math.h>
#include <stdint.h>
#include <string.h>

/* KB and KU say how many loops go together. */
#pragma GCC optimize("no-loop-unroll-and-jam")

static inline float exp_down(float x)
{
    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    float scaled = x * 1.44269504f;
    scaled = scaled > -126.0f ? scaled : -126.0f;
    const float rounded = scaled + magic;
    const float r = scaled - (rounded - magic);
    float p = r * 1.327647217e-03f + 9.675541331e-03f;
    p = p * r + 5.550713273e-02f;
    p = p * r + 2.402211972e-01f;
    p = p * r + 6.931469671e-01f;
    p = p * r + 1.000000072f;
    uint32_t power, exponent;
    memcpy(&power, &p, sizeof power);
    memcpy(&exponent, &rounded, sizeof exponent);
    power += exponent << 23;
    memcpy(&p, &power, sizeof p);
    return p;
}

/* The columns that fill no LANES. */
static __attribute__((noinline, noclone)) void add_columns(const float *restrict q, const float *restrict k,
                                                           float *restrict score, long depth, long width,
                                                           int count)
{
    for (int j = 0; j < count; j++)
        for (long d = 0; d < width; d++)
            score[j] += q[d] * k[j * depth + d];
}

static inline void dots(const float *restrict q, const float *restrict k, float *restrict score, long depth,
                        int count, float factor)
{
    float lanes[KB][LANES] = {{0.0f}};
    long d = 0;
    for (; d + LANES <= depth; d += LANES) {
#pragma GCC unroll 8
        for (int j = 0; j < count; j++) {
#pragma omp simd
            for (int t = 0; t < LANES; t++)
                lanes[j][t] += q[d + t] * k[j * depth + d + t];
        }
    }
#pragma GCC unroll 8
    for (int j = 0; j < count; j++) {
        float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
        for (int t = 0; t < LANES; t++)
            sum += lanes[j][t];
        score[j] = sum;
    }
    if (d < depth)
        add_columns(q + d, k + d, score, depth, depth - d, count);
    for (int j = 0; j < count; j++)
        score[j] *= factor;
}

static __attribute__((noinline, noclone)) void dot(const float *restrict q, const float *restrict k,
                                                   float *restrict score, long depth, float factor)
{
    dots(q, k, score, depth, 1, factor);
}

static inline float softmax(float *restrict score, long keys)
{
    float top = score[0], sum = 0.0f;
#pragma omp simd reduction(max : top)
    for (long j = 0; j < keys; j++)
        top = score[j] > top ? score[j] : top;
#pragma omp simd reduction(+ : sum) simdlen(LANES)
    for (long j = 0; j < keys; j++) {
        score[j] = exp_down(score[j] - top);
        sum += score[j];
    }
    return sum;
}

static inline void add_values(float *restrict sums, const float *restrict score, const float *restrict v,
                              long depth, long width)
{
#pragma omp simd simdlen(LANES)
    for (long d = 0; d < width; d++) {
        float sum = sums[d];
#pragma GCC unroll 8
        for (int j = 0; j < KU; j++)
            sum += score[j] * v[j * depth + d];
        sums[d] = sum;
    }
}

static __attribute__((noinline, noclone)) void add_value(float *restrict sums, const float *restrict score,
                                                         const float *restrict v, long width)
{
    for (long d = 0; d < width; d++)
        sums[d] += *score * v[d];
}

static inline void values(const float *restrict score, const float *restrict v, float *restrict y, long keys,
                          long depth, long width, float factor)
{
    float sums[DB] = {0.0f};
    long j = 0;
    for (; j + KU <= keys; j += KU)
        add_values(sums, score + j, v + j * depth, depth, width);
    for (; j < keys; j++)
        add_value(sums, score + j, v + j * depth, width);
    for (long d = 0; d < width; d++)
        y[d] = sums[d] * factor;
}

static __attribute__((noinline, noclone)) void last_values(const float *restrict score,
                                                           const float *restrict v, float *restrict y,
                                                           long keys, long depth, long width, float factor)
{
    values(score, v, y, keys, depth, width, factor);
}

void attention(long begin, long end, const float *restrict q, const float *restrict k,
               const float *restrict v, float *restrict y, float *restrict scores, long keys, long depth)
{
    const float root = 1.0f / sqrtf((float)depth);
    for (long i = begin; i < end; i++) {
        const float *row = q + i * depth, *head = k + i / keys * keys * depth,
                    *value = v + i / keys * keys * depth;
        float *score = scores + i * keys;
        long j = 0, d = 0;
        for (; j + KB <= keys; j += KB)
            dots(row, head + j * depth, score + j, depth, KB, root);
        for (; j < keys; j++)
            dot(row, head + j * depth, score + j, depth, root);
        const float factor = 1.0f / softmax(score, keys);
        for (; d + DB <= depth; d += DB)
            values(score, value + d, y + i * depth + d, keys, depth, DB, factor);
        if (d < depth)
            last_values(score, value + d, y + i * depth + d, keys, depth, depth - d, factor);
    }
}
