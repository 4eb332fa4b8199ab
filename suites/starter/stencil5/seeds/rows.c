/* atoll-plan {
  "version": 1,
  "params": {"VW": [16, 8, 4], "ROWS": [1, 2, 4, 8], "AHEAD": [0, 1, 2, 4], "STREAM": [0, 1]},
  "launch": [{"function": "stencil", "units": "cdiv(H, ROWS)", "args": ["x", "y", "i64:H", "i64:W"]}]
} */
/* ROWS rows of the result go together, so that a row of x between them is loaded once; points at the edges
 * apart. AHEAD: rows to prefetch ahead. STREAM: store aligned rows past the caches, where such
 * stores exist. */
#include <stdint.h>
#include <string.h>
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
#endif
#ifdef STORE
#define STREAMS(to) ((uintptr_t)(to) % (4 * VW) == 0)
#define FENCE()     _mm_sfence()
#else
#define STREAMS(to)  0
#define STORE(to, v) (*(vec *)(to) = (v))
#define FENCE()      ((void)0)
#endif

/* v, or 0 where the mask is 0: no loop of its own for each kind of edge. */
static inline float masked(float v, uint32_t mask)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    bits &= mask;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static __attribute__((noinline, noclone)) void points(const float *restrict x, float *restrict y, long i,
                                                      long height, long width)
{
    const float *here = x + i * width;
    const float *above = i > 0 ? here - width : here, *below = i + 1 < height ? here + width : here;
    const uint32_t up = i > 0 ? UINT32_MAX : 0, down = i + 1 < height ? UINT32_MAX : 0;
    float *to = y + i * width;
    for (long j = 1; j + 1 < width; j++)
        to[j] = (4.0f * here[j] + masked(above[j], up) + masked(below[j], down) + here[j - 1] + here[j + 1]) *
                0.125f;
    for (int last = 0; last <= 1; last++) {
        const long j = last ? width - 1 : 0;
        const float sides = (j > 0 ? here[j - 1] : 0.0f) + (j + 1 < width ? here[j + 1] : 0.0f);
        to[j] = (4.0f * here[j] + masked(above[j], up) + masked(below[j], down) + sides) * 0.125f;
    }
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

static __attribute__((noinline, noclone)) void inner_plain(const float *restrict x, float *restrict y, long i,
                                                           long begin, long end, long width)
{
    inner(x, y, i, begin, end, width, 0);
}

/* The ends of ROWS inner rows in vectors, which take the neighbouring rows' ends for what is beyond; so the
 * first and the last column again. */
static inline void ends(const float *restrict x, float *restrict y, long i, long width)
{
    inner_plain(x, y, i, 0, VW, width);
    inner_plain(x, y, i, width - VW, width, width);
    for (long r = i; r < i + ROWS; r++) {
        const float *from = x + r * width, *to = from + width - 1;
        y[r * width] = (4.0f * from[0] + from[-width] + from[width] + from[1]) * 0.125f;
        y[r * width + width - 1] = (4.0f * to[0] + to[-width] + to[width] + to[-1]) * 0.125f;
    }
}

void stencil(long begin, long end, const float *restrict x, float *restrict y, long height, long width)
{
    for (long u = begin; u < end; u++) {
        const long i = u * ROWS;
        if (i == 0 || i + ROWS >= height || width < 2 * VW + 1) {
            for (long r = i; r < i + ROWS && r < height; r++)
                points(x, y, r, height, width);
            continue;
        }
        long first = 1;
        while (first < VW && (uintptr_t)(y + i * width + first) % (4 * VW) != 0)
            first++;
        const long last = first + (width - 1 - first) / VW * VW;
        if (STREAMS(y + i * width + first) && width % VW == 0)
            inner(x, y, i, first, last, width, 1);
        else
            inner_plain(x, y, i, first, last, width);
        ends(x, y, i, width);
    }
    FENCE();
}
