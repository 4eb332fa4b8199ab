/* atoll-plan {
  "version": 1,
  "params": {"ROWS": [2, 1, 4], "LANES": [32, 8, 16, 64], "SAMPLE": [16, 64, 256], "AHEAD": [1, 0]},
  "launch": [{"function": "layernorm", "units": "cdiv(B, ROWS)",
              "args": ["x", "gain", "bias", "y", "i64:B", "i64:N"]}]
} */
/* Both moments in one pass over ROWS rows at a time, about a shift that is the mean of a row's first SAMPLE
 * elements, so that nothing large cancels. AHEAD: prefetch the next group of rows meanwhile. */
#include <math.h>

static inline float row_shift(const float *x, long n)
{
    const long count = n < SAMPLE ? n : SAMPLE;
    float sum = 0.0f;
    for (long j = 0; j < count; j++)
        sum += x[j];
    return sum / (float)count;
}

static inline void moments(const float *restrict x, long n, int rows, float *restrict ret_mean,
                           float *restrict ret_factor)
{
    float sums[ROWS][LANES] = {{0.0f}}, squares[ROWS][LANES] = {{0.0f}}, shift[ROWS];
    const long whole = n - n % LANES;
    for (int r = 0; r < rows; r++)
        shift[r] = row_shift(x + r * n, n);
    for (long j = 0; j < whole; j += LANES) {
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
#if AHEAD
            for (int v = 0; v < LANES; v += 16)
                __builtin_prefetch(x + (rows + r) * n + j + v);
#endif
#pragma omp simd
            for (int v = 0; v < LANES; v++) {
                const float d = x[r * n + j + v] - shift[r];
                sums[r][v] += d;
                squares[r][v] += d * d;
            }
        }
    }
    for (int r = 0; r < rows; r++) {
        float sum = 0.0f, square = 0.0f;
        for (int v = 0; v < LANES; v++) {
            sum += sums[r][v];
            square += squares[r][v];
        }
        for (long j = whole; j < n; j++) {
            const float d = x[r * n + j] - shift[r];
            sum += d;
            square += d * d;
        }
        sum /= (float)n;
        square = square / (float)n - sum * sum;
        ret_mean[r] = shift[r] + sum;
        ret_factor[r] = 1.0f / sqrtf((square > 0.0f ? square : 0.0f) + 1e-5f);
    }
}

static inline void group(const float *restrict x, const float *restrict gain, const float *restrict bias,
                         float *restrict y, long n, int rows)
{
    float mean[ROWS], factor[ROWS];
    moments(x, n, rows, mean, factor);
#pragma omp simd
    for (long j = 0; j < n; j++) {
        const float slope = gain[j], offset = bias[j];
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++)
            y[r * n + j] = (x[r * n + j] - mean[r]) * factor[r] * slope + offset;
    }
}

void layernorm(long begin, long end, const float *restrict x, const float *restrict gain,
               const float *restrict bias, float *restrict y, long b, long n)
{
    for (long u = begin; u < end; u++) {
        const long i = u * ROWS;
        if (i + ROWS <= b) {
            group(x + i * n, gain, bias, y + i * n, n, ROWS);
            continue;
        }
        for (long r = i; r < b; r++)
            group(x + r * n, gain, bias, y + r * n, n, 1);
    }
}
