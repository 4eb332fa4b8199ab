/* atoll-plan {
  "version": 1,
  "params": {"VW": [16, 8, 4], "U": [2, 1, 4], "DEGREE": [10, 9, 11], "AHEAD": [0, 256, 512, 1024, 2048],
             "STREAM": [0, 1]},
  "launch": [{"function": "bias_gelu", "units": "B", "args": ["x", "bias", "y", "i64:N"]}]
} */
/* erf(z) = z P(t) with t = 2 (z / LIMIT)^2 - 1: a least-squares polynomial of DEGREE over |z| <= LIMIT,
 * beyond which z is held. AHEAD: elements to prefetch ahead. STREAM: store aligned rows past the caches,
 * where such stores exist. */
#include <stdint.h>
#include <string.h>
#if STREAM && defined(__AVX__)
#include <immintrin.h>
#endif

typedef float vec __attribute__((vector_size(4 * VW), aligned(4), may_alias));

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

#if STREAM && VW == 16 && defined(__AVX512F__)
#define STORE(to, v) _mm512_stream_ps(to, (__m512)(v))
#elif STREAM && VW == 8 && defined(__AVX__)
#define STORE(to, v) _mm256_stream_ps(to, (__m256)(v))
#elif STREAM && VW == 4 && defined(__AVX__)
#define STORE(to, v) _mm_stream_ps(to, (__m128)(v))
#endif
#ifdef STORE
#define STREAMS(to) ((uintptr_t)(to) % (4 * VW) == 0)
#define FENCE()     _mm_sfence()
#else
#define STREAMS(to)  0
#define STORE(to, v) (*(vec *)(to) = (v))
#define FENCE()      ((void)0)
#endif

#if DEGREE == 9
#define LIMIT 3.4f
static const float terms[] = {4.15670686e-01f, -2.06056662e-01f, 1.49190580e-01f, -1.15328931e-01f,
                              8.96029094e-02f, -6.06030414e-02f, 3.15208737e-02f, -2.46674260e-02f,
                              2.51979100e-02f, -1.04137270e-02f};
#elif DEGREE == 10
#define LIMIT 3.4f
static const float terms[] = {4.15665693e-01f, -2.06105117e-01f, 1.49488521e-01f, -1.14556912e-01f,
                              8.68359687e-02f, -6.38325107e-02f, 4.03337667e-02f, -1.97652255e-02f,
                              1.39170418e-02f, -1.28557769e-02f, 4.99265952e-03f};
#else
#define LIMIT 3.6f
static const float terms[] = {3.92711467e-01f, -1.95495113e-01f, 1.43865918e-01f, -1.13701495e-01f,
                              8.90816765e-02f, -6.84802072e-02f, 5.17841708e-02f, -3.19895361e-02f,
                              1.37933314e-02f, -1.09317423e-02f, 1.18336775e-02f, -4.69490688e-03f};
#endif

static inline vec smaller(vec a, vec b)
{
    part *to = (part *)&a;
    const part *from = (const part *)&b;
#pragma GCC unroll 4
    for (int i = 0; i < VW / PW; i++) {
        const mask m = (mask)(to[i] < from[i]);
        to[i] = (part)((m & (mask)to[i]) | (~m & (mask)from[i]));
    }
    return a;
}

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

static inline vec gelu(vec v)
{
    const vec limit = (vec){0} + LIMIT;
    const vec z = larger(smaller(v * 0.70710678f, limit), -limit);
    const vec t = z * z * (2.0f / (LIMIT * LIMIT)) - 1.0f;
    vec p = (vec){0} + terms[DEGREE];
#pragma GCC unroll 16
    for (int d = DEGREE - 1; d >= 0; d--)
        p = p * t + terms[d];
    const vec half = v * 0.5f;
    return half + half * (z * p);
}

static inline void row(const float *restrict x, const float *restrict bias, float *restrict y, long n,
                       int aligned)
{
    long j = 0;
    for (; j + VW * U <= n; j += VW * U) {
#pragma GCC unroll 4
        for (int u = 0; u < U; u++) {
#if AHEAD > 0
            __builtin_prefetch(x + j + u * VW + AHEAD);
#endif
            const vec v = gelu(*(const vec *)(x + j + u * VW) + *(const vec *)(bias + j + u * VW));
            if (aligned)
                STORE(y + j + u * VW, v);
            else
                *(vec *)(y + j + u * VW) = v;
        }
    }
    for (; j < n; j += VW) {
        const size_t bytes = (size_t)(n - j < VW ? n - j : VW) * sizeof *x;
        vec v = {0}, offset = {0};
        memcpy(&v, x + j, bytes);
        memcpy(&offset, bias + j, bytes);
        v = gelu(v + offset);
        memcpy(y + j, &v, bytes);
    }
}

void bias_gelu(long begin, long end, const float *restrict x, const float *restrict bias, float *restrict y,
               long n)
{
    for (long i = begin; i < end; i++)
        if (STREAMS(y + i * n))
            row(x + i * n, bias, y + i * n, n, 1);
        else
            row(x + i * n, bias, y + i * n, n, 0);
    FENCE();
}
