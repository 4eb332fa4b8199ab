/* atoll-plan {
  "version": 1,
  "params": {"W": [8, 4, 16], "BI": [2, 1, 4, 8], "BJ": [2, 1, 4, 8], "AHEAD": [4, 0, 1, 2], "ORDER": [0, 1],
             "STREAM": [1, 0]},
  "require": ["BI * BJ <= 32"],
  "launch": [{"function": "transpose", "units": "cdiv(N, W * BJ)", "args": ["x", "y", "i64:M", "i64:N"]}]
} */
/* W x W blocks are transposed in registers: interleaving row i with row i + W/2, log2(W) times, is a
 * transposition. Blocks are walked in groups of BI x BJ; AHEAD: groups to prefetch ahead; ORDER: down or
 * across first. STREAM: store aligned rows past the caches, where such stores exist. */

#include <stdint.h>
#if STREAM && defined(__AVX__)
#include <immintrin.h>
#endif

/* Elements of a vector: no more than the machine's have, or gcc shuffles element by element. */
#if W == 16 && defined(__AVX512F__)
#define VW 16
#elif W >= 8 && defined(__AVX__)
#define VW 8
#else
#define VW 4
#endif
#define PARTS (W / VW)

typedef float vec __attribute__((vector_size(4 * VW), aligned(4), may_alias));

#if STREAM && VW == 16 && defined(__AVX512F__)
#define STORE(to, v) _mm512_stream_ps(to, (__m512)(v))
#elif STREAM && VW == 8 && defined(__AVX__)
#define STORE(to, v) _mm256_stream_ps(to, (__m256)(v))
#elif STREAM && VW == 4 && defined(__AVX__)
#define STORE(to, v) _mm_stream_ps(to, (__m128)(v))
#endif
#ifdef STORE
#define STREAMS(to) ((uintptr_t)(to) % (4 * W) == 0)
#define FENCE()     _mm_sfence()
#else
#define STREAMS(to)  0
#define STORE(to, v) (*(vec *)(to) = (v))
#define FENCE()      ((void)0)
#endif

#if VW == 4
#define LOW  0, 4, 1, 5
#define HIGH 2, 6, 3, 7
#elif VW == 8
#define LOW  0, 8, 1, 9, 2, 10, 3, 11
#define HIGH 4, 12, 5, 13, 6, 14, 7, 15
#else
#define LOW  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#endif

/* Rows i and i + W/2, interleaved, are rows 2 i and 2 i + 1, which lie one behind the other. */
static inline void interleave(const vec *restrict from, vec *restrict to)
{
#pragma GCC unroll 32
    for (int i = 0; i < W / 2 * PARTS; i++) {
        to[2 * i] = __builtin_shufflevector(from[i], from[i + W / 2 * PARTS], LOW);
        to[2 * i + 1] = __builtin_shufflevector(from[i], from[i + W / 2 * PARTS], HIGH);
    }
}

static inline void block(const float *restrict x, float *restrict y, long m, long n, int aligned)
{
    vec a[W * PARTS], b[W * PARTS];
#pragma GCC unroll 64
    for (int i = 0; i < W * PARTS; i++)
        a[i] = *(const vec *)(x + i / PARTS * n + i % PARTS * VW);
    interleave(a, b);
    interleave(b, a);
#if W >= 8
    interleave(a, b);
#if W >= 16
    interleave(b, a);
#else
#pragma GCC unroll 16
    for (int i = 0; i < W * PARTS; i++)
        a[i] = b[i];
#endif
#endif
#pragma GCC unroll 64
    for (int i = 0; i < W * PARTS; i++) {
        float *to = y + i / PARTS * m + i % PARTS * VW;
        if (aligned)
            STORE(to, a[i]);
        else
            *(vec *)to = a[i];
    }
}

static inline void edge(const float *restrict x, float *restrict y, long m, long n, long height, long width)
{
    for (long j = 0; j < width; j++)
        for (long i = 0; i < height; i++)
            y[j * m + i] = x[i * n + j];
}

static inline void group(const float *restrict x, float *restrict y, long m, long n, int aligned)
{
#if AHEAD > 0
    for (long i = 0; i < W * BI; i++)
        for (long j = 0; j < W * BJ; j += 16)
            __builtin_prefetch(x + (i + AHEAD * W * BI) * n + j);
#endif
#if ORDER
    for (long i = 0; i < W * BI; i += W)
        for (long j = 0; j < W * BJ; j += W)
            block(x + i * n + j, y + j * m + i, m, n, aligned);
#else
    for (long j = 0; j < W * BJ; j += W)
        for (long i = 0; i < W * BI; i += W)
            block(x + i * n + j, y + j * m + i, m, n, aligned);
#endif
}

void transpose(long begin, long end, const float *restrict x, float *restrict y, long m, long n)
{
    const int whole = STREAMS(y) && m % W == 0;
    for (long u = begin; u < end; u++) {
        const long j = u * W * BJ;
        long i = 0;
        if (j + W * BJ <= n) {
            if (whole)
                for (; i + W * BI <= m; i += W * BI)
                    group(x + i * n + j, y + j * m + i, m, n, 1);
            for (; i + W * BI <= m; i += W * BI)
                group(x + i * n + j, y + j * m + i, m, n, 0);
        }
        edge(x + i * n + j, y + j * m + i, m, n, m - i, n - j < W * BJ ? n - j : W * BJ);
    }
    FENCE();
}
