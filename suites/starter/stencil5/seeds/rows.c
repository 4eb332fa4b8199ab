/* atoll-plan {
  "version": 1,
  "params": {"VW": [16, 8, 4], "ROWS": [1, 2, 4, 8], "AHEAD": [0, 1, 2, 4], "STREAM": [0, 1]},
  "launch": [{"function": "stencil", "units": "cdiv(H, ROWS)", "args": ["x", "y", "i64:H", "i64:W"]}]
} */
/* ROWS rows of the result go together, so that a row of x between them is loaded once; points at the left and
 * right edge apart. AHEAD: rows to prefetch ahead. STREAM: store aligned rows past the caches, where such
 * stores exist. */
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

static inline float point(const float *x, long at, long i, long j, long height, long width)
{
    float sum = 4.0f * x[at];
    sum += i > 0 ? x[at - width] : 0.0f;
    sum += i + 1 < height ? x[at + width] : 0.0f;
    sum += j > 0 ? x[at - 1] : 0.0f;
    sum += j + 1 < width ? x[at + 1] : 0.0f;
    return sum * 0.125f;
}

static void points(const float *x, float *y, long i, long begin, long end, long height, long width)
{
    for (long j = begin; j < end; j++)
        y[i * width + j] = point(x, i * width + j, i, j, height, width);
}

/* Columns [begin, end) of ROWS inner rows from row i on; end - begin is a multiple of VW. */
static inline void inner(const float *restrict x, float *restrict y, long i, long begin, long end, long width,
                         int aligned)
{
    for (long j = begin; j < end; j += VW) {
        const float *from = x + i * width + j;
        vec above = *(const vec *)(from - width), here = *(const vec *)from;
#pragma GCC unroll 8
        for (int r = 0; r < ROWS; r++, from += width) {
#if AHEAD > 0
            __builtin_prefetch(from + (AHEAD + 1) * width);
#endif
            const vec below = *(const vec *)(from + width);
            const vec sides = *(const vec *)(from - 1) + *(const vec *)(from + 1);
            const vec result = (4.0f * here + (above + below) + sides) * 0.125f;
            if (aligned)
                STORE(y + (i + r) * width + j, result);
            else
                *(vec *)(y + (i + r) * width + j) = result;
            above = here;
            here = below;
        }
    }
}

void stencil(long begin, long end, const float *restrict x, float *restrict y, long height, long width)
{
    for (long u = begin; u < end; u++) {
        const long i = u * ROWS;
        if (i == 0 || i + ROWS >= height || width < 2 * VW + 1) {
            for (long r = i; r < i + ROWS && r < height; r++)
                points(x, y, r, 0, width, height, width);
            continue;
        }
        long first = 1;
        while (first < VW && (uintptr_t)(y + i * width + first) % (4 * VW) != 0)
            first++;
        const long last = first + (width - 1 - first) / VW * VW;
        if ((uintptr_t)(y + i * width + first) % (4 * VW) == 0 && width % VW == 0)
            inner(x, y, i, first, last, width, 1);
        else
            inner(x, y, i, first, last, width, 0);
        for (long r = i; r < i + ROWS; r++) {
            points(x, y, r, 0, first, height, width);
            points(x, y, r, last, width, height, width);
        }
    }
    FENCE();
}
