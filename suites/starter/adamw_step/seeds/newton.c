/* atoll-plan {
  "version": 1,
  "params": {"VW": [16, 8, 4], "U": [2, 1, 4], "STEPS": [3, 4], "AHEAD": [0, 64, 128, 256, 512, 1024],
             "CHUNK": [1024, 256, 4096]},
  "launch": [{"function": "adamw", "units": "cdiv(N, CHUNK)", "args": ["p", "m", "v", "g", "i64:N"]}]
} */
/* The square root by STEPS Newton iterations on 1 / sqrt, from the classic guess that halves the exponent;
 * everything in vectors, one pass. AHEAD: elements to prefetch ahead in all four arrays. */
#include <stdint.h>
#include <string.h>

typedef float vec __attribute__((vector_size(4 * VW), aligned(4), may_alias));
typedef uint32_t bits __attribute__((vector_size(4 * VW), aligned(4), may_alias));

static inline vec root(vec x)
{
    vec y = (vec)(0x5f3759dfu - ((bits)x >> 1));
#pragma GCC unroll 4
    for (int k = 0; k < STEPS; k++)
        y = y * (1.5f - (0.5f * x * y) * y);
    return x * y;
}

static inline void step(vec *restrict p, vec *restrict m, vec *restrict v, vec g)
{
    *m = *m * 0.9f + g * 0.1f;
    *v = *v * 0.999f + (g * 0.001f) * g;
    const vec divisor = root(*v * 100.4508254f) + 1e-8f;   /* 1 / (1 - 0.999^10) */
    *p = *p * 0.99999f - (*m * 1.535339187e-3f) / divisor; /* 1e-3 / (1 - 0.9^10) */
}

static void rest(float *restrict p, float *restrict m, float *restrict v, const float *restrict g, long count)
{
    const size_t bytes = (size_t)count * sizeof *p;
    vec here = {0}, mean = {0}, square = {0}, slope = {0};
    memcpy(&here, p, bytes);
    memcpy(&mean, m, bytes);
    memcpy(&square, v, bytes);
    memcpy(&slope, g, bytes);
    step(&here, &mean, &square, slope);
    memcpy(p, &here, bytes);
    memcpy(m, &mean, bytes);
    memcpy(v, &square, bytes);
}

static inline void ahead(const float *p, const float *m, const float *v, const float *g, long distance)
{
    __builtin_prefetch(p + distance, 1);
    __builtin_prefetch(m + distance, 1);
    __builtin_prefetch(v + distance, 1);
    __builtin_prefetch(g + distance);
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
            vec here = *(const vec *)(p + at), mean = *(const vec *)(m + at), square = *(const vec *)(v + at);
#if AHEAD > 0
            ahead(p + at, m + at, v + at, g + at, AHEAD);
#endif
            step(&here, &mean, &square, *(const vec *)(g + at));
            *(vec *)(p + at) = here;
            *(vec *)(m + at) = mean;
            *(vec *)(v + at) = square;
        }
    }
    for (; i < stop; i += VW)
        rest(p + i, m + i, v + i, g + i, stop - i < VW ? stop - i : VW);
}
