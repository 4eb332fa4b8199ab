/* atoll-plan {
  "version": 1,
  "params": {"STRIP": [64, 16, 32, 128], "LANES": [8, 4, 16]},
  "launch": [{"function": "hop", "units": "T * Z * Y", "args": ["u", "psi", "y", "i64:T", "i64:Z", "i64:Y", "i64:X"]}]
} */
/* Strips of sites along X: for each of eight neighbours nine products of vectors, the six sums stay in the nearest cache. */
struct lattice {
    const real *u, *psi;
    long sites;
};

/* sums of count sites += link (of the site itself) times vector at a distance. */
static inline void forward(const struct lattice *l, real (*restrict sums)[STRIP], long axis, long site,
                           long distance, long count)
{
    const long n = l->sites;
    for (int row = 0; row < 3; row++) {
        for (int column = 0; column < 3; column++) {
            const real *restrict link = l->u + 2 * (axis * 9 + row * 3 + column) * n + site;
            const real *restrict f = l->psi + 2 * column * n + site + distance;
            real *restrict re = sums[2 * row], *restrict im = sums[2 * row + 1];
#pragma omp simd simdlen(LANES)
            for (long s = 0; s < count; s++) {
                re[s] += link[s] * f[s] - link[n + s] * f[n + s];
                im[s] += link[s] * f[n + s] + link[n + s] * f[s];
            }
        }
    }
}

/* sums of count sites -= adjoint link times vector, both at a distance. */
static inline void backward(const struct lattice *l, real (*restrict sums)[STRIP], long axis, long site,
                            long distance, long count)
{
    const long n = l->sites;
    for (int row = 0; row < 3; row++) {
        for (int column = 0; column < 3; column++) {
            const real *restrict link = l->u + 2 * (axis * 9 + column * 3 + row) * n + site + distance;
            const real *restrict b = l->psi + 2 * column * n + site + distance;
            real *restrict re = sums[2 * row], *restrict im = sums[2 * row + 1];
#pragma omp simd simdlen(LANES)
            for (long s = 0; s < count; s++) {
                re[s] -= link[s] * b[s] + link[n + s] * b[n + s];
                im[s] -= link[s] * b[n + s] - link[n + s] * b[s];
            }
        }
    }
}

static void strip(const struct lattice *l, real *y, const long *extents, long site, long x, long count)
{
    real sums[6][STRIP] = {{0}};
    const long width = extents[3];
    long stride = l->sites;
    for (long axis = 0; axis < 3; axis++) {
        const long n = extents[axis];
        stride /= n;
        const long at = site / stride % n;
        forward(l, sums, axis, site, at + 1 < n ? stride : -at * stride, count);
        backward(l, sums, axis, site, at > 0 ? -stride : (n - 1) * stride, count);
    }
    const long at_end = x + count == width, at_begin = x == 0;
    forward(l, sums, 3, site, 1, count - at_end);
    if (at_end)
        forward(l, (real(*)[STRIP])(&sums[0][count - 1]), 3, site + count - 1, 1 - width, 1);
    if (at_begin)
        backward(l, sums, 3, site, width - 1, 1);
    backward(l, (real(*)[STRIP])(&sums[0][at_begin]), 3, site + at_begin, -1, count - at_begin);
    for (int c = 0; c < 6; c++)
        for (long s = 0; s < count; s++)
            y[c * l->sites + site + s] = sums[c][s];
}

void hop(long begin, long end, const real *u, const real *psi, real *y, long t, long z, long height,
         long width)
{
    const long extents[4] = {t, z, height, width};
    const struct lattice l = {u, psi, t * z * height * width};
    for (long row = begin; row < end; row++)
        for (long x = 0; x < width; x += STRIP)
            strip(&l, y, extents, row * width + x, x, width - x < STRIP ? width - x : STRIP);
}
