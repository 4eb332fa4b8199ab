/* atoll-plan {
  "version": 1,
  "params": {"BLOCK": [1024, 64, 128, 256, 512], "LANES": [16, 8, 32, 64], "DEGREE": [4, 5, 6]},
  "require": ["BLOCK >= 2 * LANES"],
  "launch": [{"function": "softmax", "units": "B", "args": ["x", "y", "i64:N"]}]
} */
/* Maximum and sum are found together, block by block: each block has its own maximum, and the running sum is
 * rescaled when the maximum rises. A second pass corrects each block by the maximum it was made with: no
 * power is taken twice. */
#include <stdint.h>
#include <string.h>

#define BLOCKS 512 /* blocks whose maxima are remembered at a time */

static inline float exp_down(float x)
{
    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    float scaled = x * 1.44269504f;
    scaled = scaled > -126.0f ? scaled : -126.0f;
    const float rounded = scaled + magic;
    const float r = scaled - (rounded - magic);
#if DEGREE == 4
    float p = r * 9.570102015e-03f + 5.591786031e-02f;
    p = p * r + 2.402474482e-01f;
    p = p * r + 6.931218147e-01f;
    p = p * r + 9.999992614e-01f;
#elif DEGREE == 5
    float p = r * 1.327647217e-03f + 9.675541331e-03f;
    p = p * r + 5.550713273e-02f;
    p = p * r + 2.402211972e-01f;
    p = p * r + 6.931469671e-01f;
    p = p * r + 1.000000072f;
#else
    float p = r * 1.534581217e-04f + 1.339993121e-03f;
    p = p * r + 9.618488956e-03f;
    p = p * r + 5.550328777e-02f;
    p = p * r + 2.402264689e-01f;
    p = p * r + 6.931472057e-01f;
    p = p * r + 1.0f;
#endif
    uint32_t power, exponent;
    memcpy(&power, &p, sizeof power);
    memcpy(&exponent, &rounded, sizeof exponent);
    power += exponent << 23;
    memcpy(&p, &power, sizeof p);
    return p;
}

static inline float block_maximum(const float *x, long count)
{
    float tops[LANES];
    long j = 0;
    for (long v = 0; v < LANES; v++)
        tops[v] = x[v < count ? v : 0];
    for (; j + LANES <= count; j += LANES) {
#pragma omp simd
        for (long v = 0; v < LANES; v++)
            tops[v] = x[j + v] > tops[v] ? x[j + v] : tops[v];
    }
    float top = tops[0];
    for (long v = 1; v < LANES; v++)
        top = tops[v] > top ? tops[v] : top;
    for (; j < count; j++)
        top = x[j] > top ? x[j] : top;
    return top;
}

static inline float block_powers(const float *restrict x, float *restrict y, long count, float top)
{
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum) simdlen(LANES > 16 ? 16 : LANES)
    for (long j = 0; j < count; j++) {
        const float p = exp_down(x[j] - top);
        y[j] = p;
        sum += p;
    }
    return sum;
}

static inline void row_long(const float *restrict x, float *restrict y, long n)
{
    const float top = block_maximum(x, n);
    const float factor = 1.0f / block_powers(x, y, n, top);
    for (long j = 0; j < n; j++)
        y[j] *= factor;
}

static inline void row(const float *restrict x, float *restrict y, long n)
{
    float tops[BLOCKS];
    float top = x[0], sum = 0.0f;
    long index = 0;
    for (long j = 0; j < n; j += BLOCK, index++) {
        const long count = n - j < BLOCK ? n - j : BLOCK;
        const float here = block_maximum(x + j, count);
        const float next = here > top ? here : top;
        sum = sum * exp_down(top - next) + block_powers(x + j, y + j, count, next);
        tops[index] = top = next;
    }
    const float factor = 1.0f / sum;
    index = 0;
    for (long j = 0; j < n; j += BLOCK, index++) {
        const long count = n - j < BLOCK ? n - j : BLOCK;
        const float correction = factor * exp_down(tops[index] - top);
#pragma omp simd
        for (long q = 0; q < count; q++)
            y[j + q] *= correction;
    }
}

void softmax(long begin, long end, const float *restrict x, float *restrict y, long n)
{
    for (long i = begin; i < end; i++)
        if (n <= BLOCK * BLOCKS)
            row(x + i * n, y + i * n, n);
        else
            row_long(x + i * n, y + i * n, n);
}
