/* atoll-plan {
  "version": 1,
  "params": {"BAND": [8, 1, 2, 4, 16], "COLUMNS": [512, 128, 256, 1024], "LANES": [8, 4, 16]},
  "launch": [{"function": "stencil", "units": "Z * cdiv(Y, BAND)", "args": ["x", "y", "i64:Z", "i64:Y", "i64:X"]}]
} */
/* The weights are products, so a strip of columns first gets the sum of its nine rows (1/2 for each row that is off in
 * one direction), then the three columns of that sum: 12 sums a point instead of 27. */

static inline void add(real *restrict sums, const real *restrict x, real weight, long count)
{
#pragma omp simd simdlen(LANES)
    for (long k = 0; k < count; k++)
        sums[k] += weight * x[k];
}

static void strip(const real *x, real *restrict y, long i, long j, long begin, long end, long depth,
                  long height, long width)
{
    real sums[COLUMNS + 2] = {0};
    const long first = begin > 0 ? begin - 1 : 0, last = end < width ? end + 1 : width;
    for (long p = i > 0 ? i - 1 : i; p <= i + 1 && p < depth; p++) {
        for (long q = j > 0 ? j - 1 : j; q <= j + 1 && q < height; q++) {
            const real weight = (real)0.125 * (p == i ? (real)1 : (real)0.5) * (q == j ? (real)1 : (real)0.5);
            add(sums + (first - begin + 1), x + (p * height + q) * width + first, weight, last - first);
        }
    }
    y += (i * height + j) * width + begin;
#pragma omp simd simdlen(LANES)
    for (long k = 0; k < end - begin; k++)
        y[k] = sums[k + 1] + (real)0.5 * (sums[k] + sums[k + 2]);
}

void stencil(long begin, long end, const real *x, real *y, long depth, long height, long width)
{
    const long bands = (height + BAND - 1) / BAND;
    for (long u = begin; u < end; u++) {
        const long i = u / bands, first = u % bands * BAND,
                   last = first + BAND < height ? first + BAND : height;
        for (long k = 0; k < width; k += COLUMNS)
            for (long j = first; j < last; j++)
                strip(x, y, i, j, k, width - k < COLUMNS ? width : k + COLUMNS, depth, height, width);
    }
}
