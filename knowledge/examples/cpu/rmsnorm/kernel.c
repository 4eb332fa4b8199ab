/* atoll-plan {
  "version": 1,
  "params": {"VW": [8, 16, 4], "U": [1, 2, 4, 8], "AHEAD": [0, 512, 1024, 2048, 4096], "TOUCH": [0, 1],
             "STREAM": [1, 0]},
  "require": ["VW * U <= 64", "TOUCH == 0 || STREAM == 0"],
  "launch": [{"function": "rmsnorm", "units": "B", "args": ["x", "gain", "y", "i64:N"]}]
} */
/* The squares are summed in U independent vectors, so that no addition waits for the one before; the second
 * pass finds the row in the nearest cache. AHEAD: elements to prefetch ahead of the first pass. TOUCH: also
 * prefetch the row of y for writing. STREAM: store aligned rows past the caches, where such stores exist. */
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

static inline float row_squares(const float *restrict x, const float *restrict y, long n)
{
    vec sums[U] = {{0}};
    float sum = 0.0f;
    long j = 0;
    for (; j + VW * U <= n; j += VW * U) {
#pragma GCC unroll 8
        for (int u = 0; u < U; u++) {
            const vec v = *(const vec *)(x + j + u * VW);
#if AHEAD > 0
            __builtin_prefetch(x + j + u * VW + AHEAD);
#endif
#if TOUCH
            __builtin_prefetch(y + j + u * VW, 1);
#endif
            sums[u] += v * v;
        }
    }
    for (; j < n; j++)
        sum += x[j] * x[j];
    for (int u = 1; u < U; u++)
        sums[0] += sums[u];
    for (int v = 0; v < VW; v++)
        sum += sums[0][v];
    (void)y;
    return sum;
}

static inline void row_result(const float *restrict x, const float *restrict gain, float *restrict y, long n,
                              float factor, int aligned)
{
    long j = 0;
    for (; j + VW <= n; j += VW) {
        const vec v = *(const vec *)(x + j) * factor * *(const vec *)(gain + j);
        if (aligned)
            STORE(y + j, v);
        else
            *(vec *)(y + j) = v;
    }
    for (; j < n; j++)
        y[j] = x[j] * factor * gain[j];
}

void rmsnorm(long begin, long end, const float *restrict x, const float *restrict gain, float *restrict y,
             long n)
{
    for (long i = begin; i < end; i++) {
        const float *restrict from = x + i * n;
        float *restrict to = y + i * n;
        const float factor = 1.0f / sqrtf(row_squares(from, to, n) / (float)n + 1e-5f);
        if ((uintptr_t)to % (4 * VW) == 0)
            row_result(from, gain, to, n, factor, 1);
        else
            row_result(from, gain, to, n, factor, 0);
    }
    FENCE();
}
