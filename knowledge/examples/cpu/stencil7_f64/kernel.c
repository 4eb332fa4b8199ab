/* atoll-plan {
  "version": 1,
  "params": {"BAND": [16, 1, 2, 4, 8, 32], "COLUMNS": [512, 128, 256, 1024, 4096], "LANES": [8, 4, 16]},
  "launch": [{"function": "stencil", "units": "Z * cdiv(Y, BAND)", "args": ["x", "y", "i64:Z", "i64:Y", "i64:X"]}]
} */
typedef double real;
/* Bands of rows in strips of columns; a missing neighbour row is the row itself with weight 0, the two columns at the
 * edges stand outside of the vector loop. */
struct rows {
    const real *here, *up, *down, *north, *south;
    real has_up, has_down, has_north, has_south;
};

static inline real across(const struct rows *r, long k)
{
    return (r->has_up * r->up[k] + r->has_down * r->down[k]) +
           (r->has_north * r->north[k] + r->has_south * r->south[k]);
}

static inline void strip(const struct rows *r, real *restrict y, long begin, long end)
{
    const struct rows own = *r;
#pragma omp simd simdlen(LANES)
    for (long k = begin; k < end; k++)
        y[k] =
            (real)0.25 * own.here[k] + (real)0.125 * (across(&own, k) + (own.here[k - 1] + own.here[k + 1]));
}

static inline void row(const struct rows *r, real *y, long begin, long end, long width)
{
    strip(r, y, begin > 0 ? begin : 1, end < width ? end : width - 1);
    if (begin == 0)
        y[0] = (real)0.25 * r->here[0] + (real)0.125 * (across(r, 0) + (width > 1 ? r->here[1] : 0));
    if (end == width && width > 1)
        y[width - 1] =
            (real)0.25 * r->here[width - 1] + (real)0.125 * (across(r, width - 1) + r->here[width - 2]);
}

void stencil(long begin, long end, const real *x, real *y, long depth, long height, long width)
{
    const long plane = height * width, bands = (height + BAND - 1) / BAND;
    for (long u = begin; u < end; u++) {
        const long i = u / bands, first = u % bands * BAND,
                   last = first + BAND < height ? first + BAND : height;
        for (long k = 0; k < width; k += COLUMNS) {
            for (long j = first; j < last; j++) {
                const real *here = x + i * plane + j * width;
                const struct rows r = {here,
                                       i > 0 ? here - plane : here,
                                       i + 1 < depth ? here + plane : here,
                                       j > 0 ? here - width : here,
                                       j + 1 < height ? here + width : here,
                                       i > 0,
                                       i + 1 < depth,
                                       j > 0,
                                       j + 1 < height};
                row(&r, y + i * plane + j * width, k, width - k < COLUMNS ? width : k + COLUMNS, width);
            }
        }
    }
}
