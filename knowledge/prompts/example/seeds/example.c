/* atoll-plan {
  "version": 1,
  "params": {"VW": [16, 8, 4], "U": [4, 2, 8], "CHUNK": [4096, 2048, 8192, 16384]},
  "require": ["CHUNK % (VW * U) == 0"],
  "scratch": {"partial": "4 * B * cdiv(N, CHUNK)"},
  "launch": [{"function": "partial_sums", "units": "B * cdiv(N, CHUNK)", "args": ["x", "w", "partial", "i64:N"]},
             {"function": "combine", "units": "B", "args": ["partial", "y", "i64:cdiv(N, CHUNK)"]}]
} */
/* A unit of the first launch sums CHUNK columns of one row in U vectors of VW floats; the second adds the sums of a row.
 * So there is work for every thread even where rows are few. */
#include <math.h>
#include <stdint.h>

/* aligned(4): loads need no more alignment than a float has; the compiler splits what the processor lacks. */
typedef float vec __attribute__((vector_size(4 * VW), aligned(4), may_alias));

static inline float chunk_sum(const float *restrict x, const float *restrict w, long count)
{
    vec sums[U] = {{0}};
    float sum = 0.0f;
    long j = 0;
    for (; j + VW * U <= count; j += VW * U) {
#pragma GCC unroll 8
        for (int u = 0; u < U; u++) {
            const vec v = *(const vec *)(x + j + u * VW);
            sums[u] += *(const vec *)(w + j + u * VW) * v * v;
        }
    }
    for (; j < count; j++) /* the tail of the last chunk */
        sum += w[j] * x[j] * x[j];
    for (int u = 1; u < U; u++)
        sums[0] += sums[u];
    for (int i = 0; i < VW; i++)
        sum += sums[0][i];
    return sum;
}

void partial_sums(long unit_begin, long unit_end, const float *restrict x, const float *restrict w,
                  float *restrict partial, int64_t n)
{
    const long chunks = (n + CHUNK - 1) / CHUNK;
    for (long unit = unit_begin; unit < unit_end; unit++) {
        const long row = unit / chunks, first = unit % chunks * CHUNK;
        const long count = n - first < CHUNK ? n - first : CHUNK;
        partial[unit] = chunk_sum(x + row * n + first, w + first, count);
    }
}

void combine(long unit_begin, long unit_end, const float *restrict partial, float *restrict y, int64_t chunks)
{
    for (long row = unit_begin; row < unit_end; row++) {
        float sum = 0.0f;
        for (long i = 0; i < chunks; i++)
            sum += partial[row * chunks + i];
        y[row] = sqrtf(sum);
    }
}
