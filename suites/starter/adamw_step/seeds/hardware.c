/* atoll-plan {
  "version": 1,
  "params": {"VW": [16, 8], "U": [1, 2, 4], "AHEAD": [0, 64, 128, 256, 512, 1024], "CHUNK": [4096, 256,
1024]}, "launch": [{"function": "adamw", "units": "cdiv(N, CHUNK)", "args": ["p", "m", "v", "g", "i64:N"]}]
} */
/* One pass in vectors with the processor's own square root, element by element where it has none that wide.
 * AHEAD: elements to prefetch ahead in all four arrays. */
#include <math.h>
#ifdef __AVX__
#include <immintrin.h>
#endif

typedef float vec __attribute__((vector_size(4 * VW), aligned(4), may_alias));

static inline vec root(vec x)
{
#if VW == 16 && defined(__AVX512F__)
    return (vec)_mm512_sqrt_ps((__m512)x);
#elif VW == 8 && defined(__AVX__)
    return (vec)_mm256_sqrt_ps((__m256)x);
#else
    for (int k = 0; k < VW; k++)
        x[k] = sqrtf(x[k]);
    return x;
#endif
}

static inline void ahead(const float *p, const float *m, const float *v, const float *g, long distance)
{
    __builtin_prefetch(p + distance, 1);
    __builtin_prefetch(m + distance, 1);
    __builtin_prefetch(v + distance, 1);
    __builtin_prefetch(g + distance);
}

static inline void step(float *restrict p, float *restrict m, float *restrict v, const float *restrict g)
{
    const vec slope = *(const vec *)g;
    const vec mean = *(const vec *)m * 0.9f + slope * 0.1f;
    const vec square = *(const vec *)v * 0.999f + (slope * 0.001f) * slope;
    const vec divisor = root(square * 100.4508254f) + 1e-8f;                     /* 1 / (1 - 0.999^10) */
    *(vec *)p = *(const vec *)p * 0.99999f - (mean * 1.535339187e-3f) / divisor; /* 1e-3 / (1 - 0.9^10) */
    *(vec *)m = mean;
    *(vec *)v = square;
}

static void single(float *restrict p, float *restrict m, float *restrict v, const float *restrict g)
{
    *m = *m * 0.9f + *g * 0.1f;
    *v = *v * 0.999f + (*g * 0.001f) * *g;
    *p = *p * 0.99999f - (*m * 1.535339187e-3f) / (sqrtf(*v * 100.4508254f) + 1e-8f);
}

void adamw(long begin, long end, float *restrict p, float *restrict m, float *restrict v,
           const float *restrict g, long n)
{
    const long stop = end * CHUNK < n ? end * CHUNK : n;
    long i = begin * CHUNK;
    for (; i + VW * U <= stop; i += VW * U) {
#pragma GCC unroll 4
        for (int u = 0; u < U; u++) {
            const long at = i + u * VW;
#if AHEAD > 0
            ahead(p + at, m + at, v + at, g + at, AHEAD);
#endif
            step(p + at, m + at, v + at, g + at);
        }
    }
    for (; i < stop; i++)
        single(p + i, m + i, v + i, g + i);
}
