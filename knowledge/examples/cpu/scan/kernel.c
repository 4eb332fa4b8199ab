/* atoll-plan {
  "version": 1,
  "params": {"VW": [8, 4, 16], "U": [8, 1, 2, 4], "AHEAD": [1024, 0, 256, 512, 2048], "TOUCH": [0, 64, 256],
             "STREAM": [1, 0]},
  "require": ["VW * U <= 64", "STREAM == 0 || TOUCH == 0"],
  "launch": [{"function": "prefix_sum", "units": "B", "args": ["x", "y", "i64:N"]}]
} */
/* U vectors are scanned in registers by log2(VW) shifted additions, without waiting for each other; then the
 * sum so far is carried through their last elements. AHEAD, TOUCH: elements to prefetch ahead for reading and
 * for writing. STREAM: store aligned rows past the caches, where the instruction set has such stores. */
#include <stdint.h>
#if STREAM && defined(__AVX__)
#include <immintrin.h>
#endif

typedef float vec __attribute__((vector_size(4 * VW), aligned(4), may_alias));

/* Indices of v shifted up by the distance d, zeros below: element VW + i of (zero, v) is element i of v. */
#if VW == 4
#define UP1 3, 4, 5, 6
#define UP2 2, 3, 4, 5
#define ALL 3, 3, 3, 3
#elif VW == 8
#define UP1 7, 8, 9, 10, 11, 12, 13, 14
#define UP2 6, 7, 8, 9, 10, 11, 12, 13
#define UP4 4, 5, 6, 7, 8, 9, 10, 11
#define ALL 7, 7, 7, 7, 7, 7, 7, 7
#else
#define UP1 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30
#define UP2 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
#define UP4 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27
#define UP8 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23
#define ALL 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15
#endif

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

static inline vec scan(vec v)
{
    const vec zero = {0};
    v += __builtin_shufflevector(zero, v, UP1);
    v += __builtin_shufflevector(zero, v, UP2);
#if VW >= 8
    v += __builtin_shufflevector(zero, v, UP4);
#endif
#if VW >= 16
    v += __builtin_shufflevector(zero, v, UP8);
#endif
    return v;
}

static inline void row(const float *restrict x, float *restrict y, long n, int aligned)
{
    vec carry = {0};
    long j = 0;
    for (; j + VW * U <= n; j += VW * U) {
        vec parts[U];
#pragma GCC unroll 8
        for (int u = 0; u < U; u++) {
#if AHEAD > 0
            __builtin_prefetch(x + j + u * VW + AHEAD);
#endif
#if TOUCH > 0
            __builtin_prefetch(y + j + u * VW + TOUCH, 1);
#endif
            parts[u] = scan(*(const vec *)(x + j + u * VW));
        }
#pragma GCC unroll 8
        for (int u = 0; u < U; u++) {
            if (aligned)
                STORE(y + j + u * VW, parts[u] + carry);
            else
                *(vec *)(y + j + u * VW) = parts[u] + carry;
            carry += __builtin_shufflevector(parts[u], parts[u], ALL);
        }
    }
    float sum = carry[0];
    for (; j < n; j++) {
        sum += x[j];
        y[j] = sum;
    }
}

void prefix_sum(long begin, long end, const float *restrict x, float *restrict y, long n)
{
    for (long i = begin; i < end; i++)
        if (STREAMS(y + i * n))
            row(x + i * n, y + i * n, n, 1);
        else
            row(x + i * n, y + i * n, n, 0);
    FENCE();
}
