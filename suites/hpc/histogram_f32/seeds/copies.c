/* atoll-plan {
  "version": 1,
  "params": {"CHUNK": [65536, 16384, 262144], "COPIES": [4, 1, 2, 8], "STEP": [64, 16, 256]},
  "scratch": {"part": "4 * R * cdiv(N, CHUNK) * COPIES * BINS"},
  "launch": [{"function": "parts", "units": "R * cdiv(N, CHUNK)", "args": ["x", "part", "i64:N", "i64:BINS"]},
             {"function": "total", "units": "R * cdiv(BINS, 64)", "args": ["part", "count", "i64:N", "i64:BINS"]}]
} */
/* Chunks of a row count into COPIES tables in turn, so that equal neighbours do not wait for each other; bins are computed
 * STEP at a time in vectors; a second launch adds the tables. */
#include <stdint.h>

void parts(long begin, long end, const real *restrict x, int32_t *restrict part, long n, long bins)
{
    const long chunks = (n + CHUNK - 1) / CHUNK;
    for (long u = begin; u < end; u++) {
        const long row = u / chunks, first = u % chunks * CHUNK, last = first + CHUNK < n ? first + CHUNK : n;
        int32_t *tables = part + u * COPIES * bins, where[STEP];
        for (long b = 0; b < COPIES * bins; b++)
            tables[b] = 0;
        for (long i = first; i < last; i += STEP) {
            const real *from = x + row * n + i;
            const long count = last - i < STEP ? last - i : STEP;
#pragma omp simd
            for (long s = 0; s < count; s++) {
                const int32_t b = (int32_t)(from[s] * (real)bins);
                where[s] = b < bins ? b : (int32_t)bins - 1;
            }
            for (long s = 0; s < count; s++)
                tables[s % COPIES * bins + where[s]]++;
        }
    }
}

void total(long begin, long end, const int32_t *restrict part, int32_t *restrict count, long n, long bins)
{
    const long tables = (n + CHUNK - 1) / CHUNK * COPIES, groups = (bins + 63) / 64;
    for (long u = begin; u < end; u++) {
        const long row = u / groups, first = u % groups * 64, last = first + 64 < bins ? first + 64 : bins;
        int32_t sums[64] = {0};
        for (long t = 0; t < tables; t++)
            for (long b = first; b < last; b++)
                sums[b - first] += part[(row * tables + t) * bins + b];
        for (long b = first; b < last; b++)
            count[row * bins + b] = sums[b - first];
    }
}
