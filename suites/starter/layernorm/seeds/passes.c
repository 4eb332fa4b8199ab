/* atoll-plan {
  "version": 1,
  "params": {"VW": [16, 8, 4], "U": [4, 1, 2, 8], "AHEAD": [0, 512, 1024, 2048, 4096], "TOUCH": [0, 1],
             "STREAM": [0, 1]},
  "require": ["VW * U <= 64", "TOUCH == 0 || STREAM == 0"],
  "launch": [{"function": "layernorm", "units": "B", "args": ["x", "gain", "bias", "y", "i64:N"]}]
} */
/* Mean, then variance, each in U independent vectors of VW; the row stays in the nearest cache. AHEAD:
 * elements to prefetch ahead of the first pass. TOUCH: prefetch the row of y for writing during the second.
 * STREAM: store aligned rows past the caches, where such stores exist. */
#include <math.h>
#include <stdint.h>
#if STREAM && defined(__AVX__)
#include <immintrin.h>
#endif

typedef float vec __attribute__((vector_size(4 * VW), aligned(4), may_alias));

#if STREAM && VW == 16 && defined(__AVX512F__)
#define STORE(to, v) _mm512_stream_ps(to, (__m512)(v))
#elif STREAM && VW == 8 && defined(__AVX__)
#define STORE(to, v) _mm256_stream_ps(to, (__m256)(v))
#elif STREAM && VW == 4 && defined(__AVX__)
#define STORE(to, v) _mm_stream_ps(to, (__m128)(v))
#else
#define STORE(to, v) (*(vec *)(to) = (v))
#endif
#if STREAM && defined(__AVX__)
#define FENCE() _mm_sfence()
#else
#define FENCE() ((void)0)
#endif

static inline float fold(vec *sums)
{
    float sum = 0.0f;
    for (int u = 1; u < U; u++)
        sums[0] += sums[u];
    for (int v = 0; v < VW; v++)
        sum += sums[0][v];
    return sum;
}

static inline float row_sum(const float *restrict x, long n)
{
    vec sums[U] = {{0}};
    float rest = 0.0f;
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
        rest += x[j];
    return rest + fold(sums);
}

static inline float row_squares(const float *restrict x, const float *restrict y, long n, float mean)
{
    vec sums[U] = {{0}};
    float rest = 0.0f;
    long j = 0;
    for (; j + VW * U <= n; j += VW * U) {
#pragma GCC unroll 8
        for (int u = 0; u < U; u++) {
            const vec difference = *(const vec *)(x + j + u * VW) - mean;
#if TOUCH
            __builtin_prefetch(y + j + u * VW, 1);
#endif
            sums[u] += difference * difference;
        }
    }
    for (; j < n; j++)
        rest += (x[j] - mean) * (x[j] - mean);
    (void)y;
    return rest + fold(sums);
}

static inline void row_result(const float *restrict x, const float *restrict gain, const float *restrict bias,
                              float *restrict y, long n, float mean, float factor, int aligned)
{
    long j = 0;
    for (; j + VW <= n; j += VW) {
        const vec v =
            (*(const vec *)(x + j) - mean) * factor * *(const vec *)(gain + j) + *(const vec *)(bias + j);
        if (aligned)
            STORE(y + j, v);
        else
            *(vec *)(y + j) = v;
    }
    for (; j < n; j++)
        y[j] = (x[j] - mean) * factor * gain[j] + bias[j];
}

void layernorm(long begin, long end, const float *restrict x, const float *restrict gain,
               const float *restrict bias, float *restrict y, long n)
{
    for (long i = begin; i < end; i++) {
        const float *restrict from = x + i * n;
        float *restrict to = y + i * n;
        const float mean = row_sum(from, n) / (float)n;
        const float factor = 1.0f / sqrtf(row_squares(from, to, n, mean) / (float)n + 1e-5f);
        if ((uintptr_t)to % (4 * VW) == 0)
            row_result(from, gain, bias, to, n, mean, factor, 1);
        else
            row_result(from, gain, bias, to, n, mean, factor, 0);
    }
    FENCE();
}
