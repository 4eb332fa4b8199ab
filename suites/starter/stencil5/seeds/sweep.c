/* atoll-plan {
  "version": 1,
  "params": {"BAND": [16, 1, 4, 64], "COLUMNS": [512, 128, 256, 1024, 4096], "LANES": [16, 4, 8]},
  "launch": [{"function": "stencil", "units": "cdiv(H, BAND)", "args": ["x", "y", "i64:H", "i64:W"]}]
} */
/* Bands of rows in column strips of the nearest cache's width; the edges are taken out of the loops, which
 * the compiler turns into vectors of LANES. A missing neighbour row is replaced by the row itself with weight
 * 0. */

static inline void strip(const float *restrict x, const float *restrict above, const float *restrict below,
                         float *restrict y, long begin, long end, float up, float down)
{
#pragma omp simd simdlen(LANES)
    for (long j = begin; j < end; j++)
        y[j] = 0.125f * (4.0f * x[j] + up * above[j] + down * below[j] + x[j - 1] + x[j + 1]);
}

static inline void row(const float *restrict x, float *restrict y, long i, long begin, long end, long height,
                       long width)
{
    const float *here = x + i * width;
    const float up = i > 0 ? 1.0f : 0.0f, down = i + 1 < height ? 1.0f : 0.0f;
    const float *above = i > 0 ? here - width : here, *below = i + 1 < height ? here + width : here;
    float *to = y + i * width;
    const long first = begin > 0 ? begin : 1, last = end < width ? end : width - 1;
    strip(here, above, below, to, first, last, up, down);
    if (begin == 0)
        to[0] = 0.125f * (4.0f * here[0] + up * above[0] + down * below[0] + (width > 1 ? here[1] : 0.0f));
    if (end == width && width > 1)
        to[last] = 0.125f * (4.0f * here[last] + up * above[last] + down * below[last] + here[last - 1]);
}

void stencil(long begin, long end, const float *restrict x, float *restrict y, long height, long width)
{
    for (long u = begin; u < end; u++) {
        const long stop = (u + 1) * BAND < height ? (u + 1) * BAND : height;
        for (long j = 0; j < width; j += COLUMNS) {
            const long edge = width - j < COLUMNS ? width : j + COLUMNS;
            for (long i = u * BAND; i < stop; i++)
                row(x, y, i, j, edge, height, width);
        }
    }
}
