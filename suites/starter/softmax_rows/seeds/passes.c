/* atoll-plan {
  "version": 1,
  "params": {"VW": [16, 8, 4], "U": [4, 1, 2, 8], "DEGREE": [4, 5, 6], "AHEAD": [0, 512, 1024, 2048],
             "STREAM": [0, 1]},
  "require": ["VW * U <= 64"],
  "launch": [{"function": "softmax", "units": "B", "args": ["x", "y", "i64:N"]}]
} */
/* Three passes over a row that stays in the nearest cache, on vectors of VW with U accumulators each; the
 * exponential is a polynomial of DEGREE. AHEAD: elements to prefetch ahead in the first pass. STREAM: for
 * aligned rows the third pass takes the powers again and stores them past the caches. */
#include <stdint.h>
#include <string.h>
#if STREAM && defined(__AVX__)
#include <immintrin.h>
#endif

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

/* exp of a non-positive argument; what would be subnormal becomes about 1e-38. */
static inline vec exp_down(vec x)
{
    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    const vec scaled = larger(x * 1.44269504f, (vec){0} - 126.0f);
    const vec rounded = scaled + magic;
    const vec r = scaled - (rounded - magic);
#if DEGREE == 4
    vec p = r * 9.570102015e-03f + 5.591786031e-02f;
    p = p * r + 2.402474482e-01f;
    p = p * r + 6.931218147e-01f;
    p = p * r + 9.999992614e-01f;
#elif DEGREE == 5
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

static inline float row_maximum(const float *x, long n)
{
    float top = x[0];
    long j = 0;
    if (n >= VW * U) {
        vec tops[U];
        for (int u = 0; u < U; u++)
            tops[u] = *(const vec *)(x + u * VW);
        for (; j + VW * U <= n; j += VW * U) {
#pragma GCC unroll 8
            for (int u = 0; u < U; u++) {
#if AHEAD > 0
                __builtin_prefetch(x + j + u * VW + AHEAD);
#endif
                tops[u] = larger(tops[u], *(const vec *)(x + j + u * VW));
            }
        }
        for (int u = 1; u < U; u++)
            tops[0] = larger(tops[0], tops[u]);
        for (int v = 0; v < VW; v++)
            top = tops[0][v] > top ? tops[0][v] : top;
    }
    for (; j < n; j++)
        top = x[j] > top ? x[j] : top;
    return top;
}

static inline vec part_powers(const float *x, size_t bytes, float top)
{
    vec part = (vec){0} + top;
    memcpy(&part, x, bytes);
    return exp_down(part - top);
}

/* The sum of the powers of a row; they are kept in y when `keep` says so. */
static inline float row_powers(const float *restrict x, float *restrict y, long n, float top, int keep)
{
    vec sums[U] = {{0}};
    float sum = 0.0f;
    long j = 0;
    for (; j + VW * U <= n; j += VW * U) {
#pragma GCC unroll 8
        for (int u = 0; u < U; u++) {
            const vec p = exp_down(*(const vec *)(x + j + u * VW) - top);
            if (keep)
                *(vec *)(y + j + u * VW) = p;
            sums[u] += p;
        }
    }
    for (; j < n; j += VW) {
        const long count = n - j < VW ? n - j : VW;
        const vec p = part_powers(x + j, (size_t)count * sizeof *x, top);
        if (keep)
            memcpy(y + j, &p, (size_t)count * sizeof *y);
        for (long v = 0; v < count; v++)
            sum += p[v];
    }
    for (int u = 1; u < U; u++)
        sums[0] += sums[u];
    for (int v = 0; v < VW; v++)
        sum += sums[0][v];
    return sum;
}

static inline void row_again(const float *restrict x, float *restrict y, long n, float top, float factor)
{
    long j = 0;
    for (; j + VW <= n; j += VW)
        STORE(y + j, exp_down(*(const vec *)(x + j) - top) * factor);
    if (j < n) {
        const vec p = part_powers(x + j, (size_t)(n - j) * sizeof *x, top) * factor;
        memcpy(y + j, &p, (size_t)(n - j) * sizeof *y);
    }
}

void softmax(long begin, long end, const float *restrict x, float *restrict y, long n)
{
    for (long i = begin; i < end; i++) {
        const float *restrict from = x + i * n;
        float *restrict to = y + i * n;
        const float top = row_maximum(from, n);
        if (STREAMS(to)) {
            row_again(from, to, n, top, 1.0f / row_powers(from, to, n, top, 0));
            continue;
        }
        const float factor = 1.0f / row_powers(from, to, n, top, 1);
#pragma omp simd
        for (long j = 0; j < n; j++)
            to[j] *= factor;
    }
    FENCE();
}
